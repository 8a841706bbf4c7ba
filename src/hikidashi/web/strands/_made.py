"""Variants of the strands tools: in English, or with the filters that a provider supports."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, cast

from ...errors import MissingExtra
from ...texts import Language
from ..call_provider import supported_filters
from ..provider import SearchProvider
from ..tools import full_definition
from ._failed import reporting_failures

try:
    from strands import tool  # pyright: ignore[reportUnknownVariableType] - its schema is a bare `dict`
    from strands.types.tools import AgentTool, ToolContext
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

__all__ = ["in_english", "with_filters"]


def in_english(japanese: AgentTool, description: str, **properties: dict[str, Any]) -> AgentTool:
    """The same tool with its description in English."""
    required = [name for name, described in properties.items() if "default" not in described]
    accepts = {"json": {"type": "object", "properties": properties, "required": required}}
    function = inspect.unwrap(cast("Callable[..., Any]", japanese))
    made = tool(name=japanese.tool_name, description=description, inputSchema=accepts, context=True)(function)
    return reporting_failures(made)


def with_filters(
    made: AgentTool, ask: Callable[..., Awaitable[str]], provider: SearchProvider, language: Language
) -> AgentTool:
    """The tool `made` of one query, with the filters that `provider` supports."""

    async def filtered(
        query: str,
        tool_context: ToolContext,
        *,
        topic: str | None = None,
        time_range: str | None = None,
        start_date: str | None = None,
        end_date: str | None = None,
        include_domains: list[str] | None = None,
        exclude_domains: list[str] | None = None,
        country: str | None = None,
    ) -> str:
        return await ask(
            query,
            tool_context,
            topic=topic,
            time_range=time_range,
            start_date=start_date,
            end_date=end_date,
            include_domains=include_domains,
            exclude_domains=exclude_domains,
            country=country,
        )

    described = full_definition("tavily_search", provider, language).input_schema["properties"]
    filters = {name: described[name] for name in supported_filters(provider)}
    query: Any = cast("Any", made.tool_spec["inputSchema"])["json"]["properties"]["query"]
    schema = {"type": "object", "properties": {"query": query, **filters}, "required": ["query"]}
    description = made.tool_spec["description"]
    build = tool(name=made.tool_name, description=description, inputSchema={"json": schema}, context=True)
    return reporting_failures(build(filtered))
