"""FR-001 to FR-013."""

from __future__ import annotations

import asyncio
import inspect
import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from claude_agent_sdk import ClaudeAgentOptions, SdkMcpTool
from mcp.client import Client
from pydantic import BaseModel
from pydantic_ai import Agent, FunctionToolset, RunContext, Tool

import hikidashi
from hikidashi import (
    ClaudeCodeModel,
    DepsContext,
    ToolNotFoundError,
    ToolValidationError,
    UnsupportedDepsTypeError,
    convert_tool,
    convert_tool_with_deps,
    create_mcp_server_from_tools,
    deserialize_deps,
    serialize_deps,
)
from hikidashi.claude import deps_support, tool_converter
from hikidashi.claude.mcp_integration import _get_parameters_json_schema, extract_tools_from_toolset
from hikidashi.claude.tool_converter import _create_async_handler


class City(BaseModel):
    name: str


@dataclass
class Region:
    name: str


def sync_double(n: int) -> int:
    return 2 * n


async def async_double(n: int) -> int:
    return 2 * n


def name_of_deps(ctx: RunContext[Any]) -> str:
    return str(getattr(ctx.deps, "name", ctx.deps))


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def test_fr_001_an_agents_toolset_gives_sdk_tools() -> None:
    agent = Agent(tools=[sync_double, async_double])

    tools = extract_tools_from_toolset(agent._function_toolset)

    assert [(type(tool), tool.name) for tool in tools] == [(SdkMcpTool, "sync_double"), (SdkMcpTool, "async_double")]


async def test_fr_002_the_tools_are_packed_for_mcp_servers() -> None:
    config = create_mcp_server_from_tools(FunctionToolset([sync_double]))

    options = ClaudeAgentOptions(mcp_servers={"pydantic_tools": config})

    assert options.mcp_servers == {
        "pydantic_tools": {"type": "sdk", "name": "pydantic_tools", "instance": config["instance"]}
    }
    async with Client(config["instance"]) as client:
        assert (await client.call_tool("sync_double", {"n": 2})).content[0].model_dump()["text"] == "4"


async def test_fr_003_one_tool_is_converted_alone() -> None:
    converted = convert_tool(Tool(sync_double, name="twice", description="Double it."))

    assert (converted.name, converted.description) == ("twice", "Double it.")
    assert await converted.handler({"n": 2}) == text("4")


def test_fr_004_the_schema_comes_from_three_places() -> None:
    schema = {"type": "object"}

    for tool in (
        SimpleNamespace(name="t", parameters_json_schema=schema),
        SimpleNamespace(name="t", function_schema=SimpleNamespace(json_schema=schema)),
        SimpleNamespace(name="t", tool_def=SimpleNamespace(parameters_json_schema=schema)),
    ):
        assert _get_parameters_json_schema(tool) is schema
    assert _get_parameters_json_schema(Tool(sync_double)) == Tool(sync_double).tool_def.parameters_json_schema


@pytest.mark.parametrize("function", [sync_double, async_double])
async def test_fr_005_sync_and_async_functions_become_async_handlers(function: Any) -> None:
    [high] = extract_tools_from_toolset(FunctionToolset([function]))
    handlers = [_create_async_handler(function, takes_ctx=False), convert_tool(Tool(function)).handler, high.handler]

    for handler in handlers:
        assert inspect.iscoroutinefunction(handler)
        assert await handler({"n": 21}) == text("42")


async def test_fr_005_a_sync_function_does_not_hold_up_the_loop() -> None:
    met = threading.Barrier(2, timeout=10)

    def meet() -> str:
        met.wait()
        return "met"

    handler = convert_tool(Tool(meet)).handler

    assert await asyncio.gather(handler({}), handler({})) == [text("met"), text("met")]


@pytest.mark.parametrize(
    ("value", "written"),
    [("引き出し", "引き出し"), (City(name="堺"), '{"name": "堺"}'), ([1, 2], "[1, 2]"), (None, ""), (1.5, "1.5")],
)
async def test_fr_006_results_become_mcp_answers(value: Any, written: str) -> None:
    def answer() -> Any:
        return value

    assert await convert_tool(Tool(answer)).handler({}) == text(written)


@pytest.mark.parametrize(
    ("deps", "seen"),
    [({"k": 1}, "{'k': 1}"), ([1, "a"], "[1, 'a']"), (5, "5"), ("x", "x"), (Region("r"), "r"), (City(name="c"), "c")],
)
async def test_fr_007_tools_with_serialisable_deps_are_converted(deps: Any, seen: str) -> None:
    assert await convert_tool_with_deps(Tool(name_of_deps), deps).handler({}) == text(seen)


@pytest.mark.parametrize("deps", [{"k": [1]}, [1, "a"], 5, "x", True, None, Region("r"), City(name="c")])
def test_fr_008_deps_are_serialised_and_rebuilt(deps: Any) -> None:
    assert deserialize_deps(serialize_deps(deps), deps.__class__) == deps


@pytest.mark.parametrize("deps", [httpx.AsyncClient(), [httpx.Client()], {"lock": threading.Lock()}, print])
def test_fr_009_other_deps_are_refused(deps: Any) -> None:
    with pytest.raises(UnsupportedDepsTypeError):
        serialize_deps(deps)
    with pytest.raises(UnsupportedDepsTypeError):
        DepsContext(deps)
    with pytest.raises(UnsupportedDepsTypeError):
        convert_tool_with_deps(Tool(name_of_deps), deps)


async def test_fr_010_a_deps_context_stands_in_for_the_run_context() -> None:
    seen: list[Any] = []

    def look(ctx: RunContext[Region]) -> None:
        seen.append(ctx)

    region = Region("kansai")
    await convert_tool_with_deps(Tool(look), region).handler({})

    assert [type(ctx) for ctx in seen] == [DepsContext]
    assert seen[0].deps is region


async def test_fr_011_a_server_is_built_of_the_tools_a_request_names() -> None:
    model = ClaudeCodeModel(model_name="sonnet")
    model.set_agent_toolsets(FunctionToolset([sync_double, async_double]))

    for wanted in (["async_double"], ["sync_double"], ["sync_double", "async_double"]):
        config = model._process_function_tools(wanted)
        assert config is not None
        async with Client(config["instance"]) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == wanted
    with pytest.raises(ToolNotFoundError):
        model._process_function_tools(["double"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": None},
        {"function": None},
        {"function": "print"},
        {"parameters_json_schema": "object"},
        {"parameters_json_schema": None},
    ],
)
def test_fr_012_a_broken_tool_is_refused(wrong: dict[str, Any]) -> None:
    sound = {"name": "t", "description": None, "function": sync_double, "parameters_json_schema": {"type": "object"}}
    create_mcp_server_from_tools([SimpleNamespace(**sound)])  # pyright: ignore[reportArgumentType]

    with pytest.raises(ToolValidationError):
        create_mcp_server_from_tools([SimpleNamespace(**sound | wrong)])  # pyright: ignore[reportArgumentType]


def test_fr_013_the_public_names_are_exported() -> None:
    public = {"convert_tool", "convert_tool_with_deps", "convert_tools_to_mcp_server", "DepsContext"}

    assert public <= set(dir(hikidashi))
    assert hikidashi.convert_tool is tool_converter.convert_tool
    assert hikidashi.convert_tool_with_deps is tool_converter.convert_tool_with_deps
    assert hikidashi.convert_tools_to_mcp_server is tool_converter.convert_tools_to_mcp_server
    assert hikidashi.DepsContext is deps_support.DepsContext
