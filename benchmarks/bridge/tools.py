"""Tools to measure with, and what one writes by hand when there is no bridge."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from copy import copy
from typing import Any, cast

from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server
from pydantic import BaseModel
from pydantic_ai import RunContext, Tool

CONTEXT = cast("RunContext[None]", None)
"""Tools that take no context never look at it."""


class Order(BaseModel):
    """An order."""

    item: str
    count: int
    tags: list[str] = []


async def async_text(city: str, days: int = 1) -> str:
    """The weather in a city."""
    return f"{city}: sunny for {days} days"


async def async_dict(city: str, days: int = 1) -> dict[str, Any]:
    """The weather in a city, as data."""
    return {"city": city, "days": days, "sky": "sunny", "temperatures": [21.5, 23.0]}


def sync_text(city: str, days: int = 1) -> str:
    """The weather in a city, from code that blocks."""
    return f"{city}: sunny for {days} days"


async def model_argument(order: Order) -> str:
    """Place an order."""
    return f"{order.count} × {order.item}"


_VARIED: tuple[Callable[..., Any], ...] = (async_text, async_dict, sync_text, model_argument)

_WEATHER = {"city": "Kyoto", "days": 3}

CALLS: dict[str, tuple[Tool[Any], dict[str, Any]]] = {
    "async tool → str": (Tool(async_text), _WEATHER),
    "async tool → dict": (Tool(async_dict), _WEATHER),
    "sync tool (thread) → str": (Tool(sync_text), _WEATHER),
    "BaseModel argument → str": (Tool(model_argument), {"item": "tea", "count": 2, "tags": ["green"]}),
}
"""Tools to call, each with arguments."""


def many(count: int) -> list[Tool[Any]]:
    """`count` tools with names of their own; they share four schemas, since building 10,000 takes over 10 s."""
    originals = [Tool(function) for function in _VARIED]
    tools = [copy(originals[index % len(originals)]) for index in range(count)]
    for index, tool in enumerate(tools):
        tool.name = f"tool_{index}"
    return tools


async def called_directly(tool: Tool[Any], arguments: dict[str, Any]) -> Any:
    """What the tool returns: its own validation, then its function, and nothing else."""
    valid = tool.function_schema.validator.validate_python(arguments)
    return await tool.function_schema.call(valid, CONTEXT)


def by_hand(tool: Tool[Any]) -> SdkMcpTool[Any]:
    """The shortest honest bridge: validate, call, write the result as text."""
    return SdkMcpTool(
        name=tool.name,
        description=tool.description or "",
        input_schema=tool.function_schema.json_schema,
        handler=_handler_by_hand(tool),
    )


def server_by_hand(tools: Iterable[Tool[Any]]) -> McpSdkServerConfig:
    """A server of `tools`, each converted by hand."""
    return create_sdk_mcp_server("pydantic_tools", tools=[by_hand(tool) for tool in tools])


def _handler_by_hand(tool: Tool[Any]) -> Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]:
    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        value = await called_directly(tool, arguments)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return {"content": [{"type": "text", "text": text}]}

    return handler
