from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import types
from mcp.client import Client
from pydantic import BaseModel, ValidationError
from pydantic_ai import Agent, CombinedToolset, ExternalToolset, FunctionToolset, ModelRetry, RunContext, Tool
from pydantic_ai.agent import WrapperAgent
from pydantic_ai.tools import ToolDefinition as Definition
from pydantic_ai.toolsets import DynamicToolset, WrapperToolset

from hikidashi import ToolNotFoundError, ToolValidationError, Unsupported, create_mcp_server_from_tools
from hikidashi.claude.mcp_integration import (
    ToolDefinition,
    _get_parameters_json_schema,
    extract_tools_from_toolset,
    registered_tools,
    tool_definitions,
)
from hikidashi.errors import ClaudeCodeError, UnsupportedDepsTypeError

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@dataclass
class OwnTool:
    """A tool that pydantic-ai never saw."""

    name: str
    function: Callable[..., Any]
    description: str | None = None
    parameters_json_schema: Any = field(default_factory=lambda: dict(SCHEMA))


@dataclass
class OwnToolset:
    tools: dict[str, OwnTool]


@dataclass
class Config:
    region: str


class Upstream(BaseModel):
    region: str


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def sub(a: int, b: int) -> int:
    """Subtract two numbers."""
    return a - b


def region(ctx: RunContext[Config]) -> str:
    return ctx.deps.region


async def called(tools: Any, name: str, arguments: dict[str, Any], **options: Any) -> types.CallToolResult:
    async with Client(create_mcp_server_from_tools(tools, **options)["instance"]) as client:
        return await client.call_tool(name, arguments)


async def listed(tools: Any, **options: Any) -> list[str]:
    async with Client(create_mcp_server_from_tools(tools, **options)["instance"]) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def test_a_server_lists_each_tool_as_pydantic_ai_describes_it() -> None:
    agent = Agent(tools=[add, sub])

    async with Client(create_mcp_server_from_tools(agent._function_toolset)["instance"]) as client:
        offered = (await client.list_tools()).tools

    assert [(tool.name, tool.description, tool.input_schema) for tool in offered] == [
        (tool.name, tool.description, tool.function_schema.json_schema) for tool in (Tool(add), Tool(sub))
    ]


async def test_several_toolsets_and_single_tools_go_together() -> None:
    own = OwnToolset({"own": OwnTool("own", add)})

    assert await listed([FunctionToolset([add]), own, Tool(sub)]) == ["add", "own", "sub"]


async def test_one_tool_or_tools_by_name_will_do() -> None:
    assert await listed(Tool(add)) == ["add"]
    assert await listed(FunctionToolset([add, sub]).tools) == ["add", "sub"]


@pytest.mark.parametrize("other", [3, [3], "add", ["add"], b"add", None, object(), dict])
def test_what_is_no_tool_and_has_none_is_refused(other: Any) -> None:
    with pytest.raises(Unsupported, match="has no `tools` by name"):
        create_mcp_server_from_tools(other)


class LoggingToolset(WrapperToolset[Any]):
    """Calls tools in a way of its own."""


def prepared(_: RunContext[Any], definitions: list[Definition]) -> list[Definition]:
    return definitions


AGENT = Agent(tools=[add], toolsets=[FunctionToolset([sub]).prefixed("math")])


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (AGENT, ["add", "math_sub"]),
        ([AGENT], ["add", "math_sub"]),
        (WrapperAgent(AGENT), ["add", "math_sub"]),
        (AGENT.toolsets, ["add", "math_sub"]),
        ([AGENT.toolsets, region], ["add", "math_sub", "region"]),
        (add, ["add"]),
        ([add, sub], ["add", "sub"]),
        ({"one": add, "two": FunctionToolset([sub])}, ["add", "sub"]),
        (CombinedToolset([FunctionToolset([add]), FunctionToolset([sub])]), ["add", "sub"]),
        (FunctionToolset([add]).prefixed("a").prefixed("b"), ["b_a_add"]),
        (FunctionToolset([add, sub]).renamed({"plus": "add"}), ["plus", "sub"]),
        (FunctionToolset([add]).renamed({"plus": "add"}).prefixed("p"), ["p_plus"]),
        (FunctionToolset([add, sub]).filtered(lambda _, tool: tool.name == "add"), ["add", "sub"]),
        (FunctionToolset([add]).prepared(prepared), ["add"]),
        (FunctionToolset([add]).with_metadata(kind="sum").defer_loading().include_return_schemas(), ["add"]),
    ],
    ids=lambda given: type(given).__name__,
)
async def test_whatever_holds_tools_that_can_be_read_off_is_taken(given: Any, names: list[str]) -> None:
    assert await listed(given) == names
    assert list(registered_tools(given)) == names


async def test_a_tool_under_another_name_runs_and_the_original_keeps_its_own() -> None:
    toolset = FunctionToolset([add])
    result = await called(toolset.prefixed("math"), "math_add", {"a": 1, "b": 2})
    assert result.content == [types.TextContent(type="text", text="3")]
    assert list(toolset.tools) == [toolset.tools["add"].name] == ["add"]


@pytest.mark.parametrize(
    ("toolset", "named"),
    [
        (FunctionToolset([add]).approval_required(), "ApprovalRequiredToolset"),
        (CombinedToolset([FunctionToolset([add]).approval_required().prefixed("x")]), "ApprovalRequiredToolset"),
        (LoggingToolset(FunctionToolset([add])), "LoggingToolset"),
        (ExternalToolset([Definition(name="far")]), "ExternalToolset"),
        (DynamicToolset(lambda _: FunctionToolset([add])), "DynamicToolset"),
        (Agent(toolsets=[LoggingToolset(FunctionToolset([add]))]), "LoggingToolset"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_toolset_that_calls_its_tools_in_its_own_way_is_refused_by_name(toolset: Any, named: str) -> None:
    with pytest.raises(Unsupported, match=f'{named}.*tool_execution="agent"'):
        create_mcp_server_from_tools(toolset)


def test_a_function_that_cannot_be_a_tool_is_named() -> None:
    def odd(what: complex) -> None:
        """Take what JSON cannot say."""

    odd.__annotations__["what"] = "Nothing"
    with pytest.raises(ToolValidationError, match="'odd' cannot become a tool"):
        create_mcp_server_from_tools(odd)
    with pytest.raises(ToolValidationError, match="'partial' cannot become a tool"):
        create_mcp_server_from_tools([functools.partial(add, b=2)])


@pytest.mark.parametrize("function", [create_mcp_server_from_tools, extract_tools_from_toolset, tool_definitions])
@pytest.mark.parametrize(("names", "got"), [("add", "str"), (3, "int"), ([3], "3")])
def test_names_of_another_type_are_refused(function: Any, names: Any, got: str) -> None:
    with pytest.raises(ToolValidationError, match=f"`names` .* got .*{got}"):
        function(FunctionToolset([add]), names=names)


@pytest.mark.parametrize("name", [3, None, "", b"x"])
def test_a_server_needs_a_name(name: Any) -> None:
    with pytest.raises(ToolValidationError, match=r"text, got|no tools of a server called ''"):
        create_mcp_server_from_tools(FunctionToolset([add]), server_name=name)


async def test_a_subset_comes_in_the_order_it_was_asked_for() -> None:
    assert await listed(FunctionToolset([add, sub, region]), names=["sub", "add", "sub"]) == ["sub", "add"]
    assert await listed(FunctionToolset([add]), names=[]) == []


def test_a_name_that_nobody_has_is_told_with_those_that_exist() -> None:
    with pytest.raises(ToolNotFoundError) as missing:
        create_mcp_server_from_tools(FunctionToolset([add, sub]), names=["add", "ad", "mul"])

    assert (missing.value.missing, missing.value.available) == (("ad", "mul"), ("add", "sub"))


def test_two_tools_of_one_name_are_refused_by_both_owners() -> None:
    with pytest.raises(ToolValidationError, match="'add'") as refused:
        registered_tools([FunctionToolset([add], id="math"), FunctionToolset([add], id="more")])

    assert refused.value.tool_name == "add"
    assert "toolset 1 (FunctionToolset 'math')" in str(refused.value)
    assert "toolset 2 (FunctionToolset 'more')" in str(refused.value)


def test_a_definition_says_all_four_things() -> None:
    assert tool_definitions([Tool(add), OwnTool("own", sub)], names=["own"]) == [
        ToolDefinition(name="own", description="", input_schema=SCHEMA, function=sub)
    ]


async def test_a_server_of_another_name_leaves_nothing_of_the_first() -> None:
    toolset = FunctionToolset([add, sub])

    first = create_mcp_server_from_tools(toolset, server_name="one", names=["add"])
    second = create_mcp_server_from_tools(toolset, server_name="two", names=["sub"])

    assert (first["name"], second["name"]) == ("one", "two")
    async with Client(first["instance"]) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
    async with Client(second["instance"]) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["sub"]
        assert (await client.call_tool("add", {"a": 1, "b": 2})).is_error


# Schemas


def test_a_place_that_has_none_for_a_schema_is_passed_over() -> None:
    tool = SimpleNamespace(name="t", parameters_json_schema=None, function_schema=SimpleNamespace(json_schema=SCHEMA))
    assert _get_parameters_json_schema(tool) is SCHEMA


def test_a_tool_without_a_schema_is_refused_with_the_places_looked_at() -> None:
    with pytest.raises(ToolValidationError) as refused:
        _get_parameters_json_schema(SimpleNamespace(name="t", function_schema=SimpleNamespace()))

    for place in ("parameters_json_schema", "function_schema.json_schema", "tool_def.parameters_json_schema"):
        assert f"`{place}`" in str(refused.value)


async def test_a_schema_without_a_type_describes_an_object() -> None:
    config = create_mcp_server_from_tools([OwnTool("t", add, parameters_json_schema={})])

    async with Client(config["instance"]) as client:
        [tool] = (await client.list_tools()).tools
    assert tool.input_schema == {"type": "object"}


@pytest.mark.parametrize("name", ["", "  ", None])
def test_a_tool_without_a_name_is_refused(name: Any) -> None:
    with pytest.raises(ToolValidationError, match="needs a name"):
        create_mcp_server_from_tools(OwnToolset({"x": OwnTool(name, add)}))


def test_a_tool_that_requires_approval_is_refused() -> None:
    with pytest.raises(Unsupported, match="requires approval"):
        create_mcp_server_from_tools([Tool(add, requires_approval=True)])


LEAVES: list[dict[str, Any]] = [
    {"type": "string", "description": "題"},
    {"type": "integer", "minimum": 0},
    {"enum": ["a", None]},
]


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(st.text(), inner, max_size=3)}),
    )


property_schemas: st.SearchStrategy[Any] = st.recursive(st.sampled_from(LEAVES), containers, max_leaves=6)


@settings(max_examples=50)
@given(st.dictionaries(st.from_regex(r"[a-zA-Z0-9_.-]{1,64}", fullmatch=True), property_schemas, max_size=4))
def test_any_schema_reaches_claude_untouched(properties: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": properties, "required": list(properties), "x-own": {"题": 1}}

    def take(**arguments: Any) -> Any:
        return arguments

    tool = Tool[object].from_schema(take, "take", None, schema)

    async def offered() -> list[types.Tool]:
        async with Client(create_mcp_server_from_tools([tool])["instance"]) as client:
            return (await client.list_tools()).tools

    assert [tool.input_schema for tool in asyncio.run(offered())] == [schema]
    assert [tool.input_schema for tool in extract_tools_from_toolset([tool])] == [schema]


# Calls


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_tool_of_ones_own_is_called_with_checked_arguments(kind: str) -> None:
    async def async_add(a: int, b: int) -> int:
        return a + b

    tool = OwnTool("plus", add if kind == "sync" else async_add)
    [converted] = extract_tools_from_toolset([tool])

    assert await converted.handler({"a": "1", "b": 2}) == text("3")
    refused = await converted.handler({"a": "one", "b": 2})
    assert refused["isError"] is True
    assert refused["content"][0]["text"].startswith("Invalid arguments for `plus`")


async def test_a_tool_of_ones_own_may_take_nothing() -> None:
    def ping() -> str:
        return "pong"

    [converted] = extract_tools_from_toolset([OwnTool("ping", ping, parameters_json_schema={"type": "object"})])

    assert await converted.handler({}) == text("pong")


async def test_an_exception_is_logged_and_raised(caplog: pytest.LogCaptureFixture) -> None:
    def explode() -> str:
        raise LookupError("no such row")

    [converted] = extract_tools_from_toolset(FunctionToolset([explode]))
    with pytest.raises(LookupError, match="no such row"):
        await converted.handler({})

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", "tool 'explode' failed")
    ]
    assert caplog.records[0].exc_info is not None


async def test_the_server_tells_claude_what_a_tool_raised_and_logs_it_once(caplog: pytest.LogCaptureFixture) -> None:
    def explode() -> str:
        raise LookupError("no such row")

    with caplog.at_level(logging.ERROR, "hikidashi"):
        answer = await called(FunctionToolset([explode]), "explode", {})

    assert answer.is_error
    assert answer.content == [types.TextContent(text="Tool 'explode' failed. LookupError: no such row")]
    assert len(caplog.records) == 1


async def test_what_the_model_can_repair_is_no_exception(caplog: pytest.LogCaptureFixture) -> None:
    def guess(n: int) -> str:
        raise ModelRetry("Higher.")

    [converted] = extract_tools_from_toolset(FunctionToolset([guess]))

    assert await converted.handler({"n": 1}) == {**text("Higher."), "isError": True, "is_error": True}
    assert (await converted.handler({"n": "x"}))["isError"] is True
    assert not caplog.records


async def test_a_validation_error_of_the_tools_own_work_is_not_about_its_arguments() -> None:
    def parse(text: str) -> str:
        return Upstream.model_validate_json(text).region

    [converted] = extract_tools_from_toolset(FunctionToolset([parse]))

    with pytest.raises(ValidationError):
        await converted.handler({"text": "{}"})


async def test_cancellation_goes_through_without_a_log(caplog: pytest.LogCaptureFixture) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    [converted] = extract_tools_from_toolset(FunctionToolset([wait]))
    call = asyncio.ensure_future(converted.handler({}))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert cancelled.is_set()
    assert not caplog.records


async def test_the_timeout_of_a_toolset_is_for_tools_without_their_own() -> None:
    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    toolset = FunctionToolset([Tool(wait, name="own", timeout=0.02), Tool(wait, name="shared")], timeout=0.01)
    own, shared = extract_tools_from_toolset(toolset)

    assert (await own.handler({}))["content"] == text("Timed out after 0.02 seconds.")["content"]
    assert (await shared.handler({}))["content"] == text("Timed out after 0.01 seconds.")["content"]


async def test_a_thousand_calls_at_once_through_the_server_are_independent() -> None:
    async def echo(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async with Client(create_mcp_server_from_tools(FunctionToolset([echo, add]))["instance"]) as client:
        answers = await asyncio.gather(
            *(
                client.call_tool("echo", {"n": n}) if n % 2 else client.call_tool("add", {"a": n, "b": 0})
                for n in range(1000)
            )
        )

    assert [answer.content for answer in answers] == [[types.TextContent(text=str(n))] for n in range(1000)]


# Contexts


async def test_a_tool_with_a_context_of_nothing_registers_and_works() -> None:
    agent = Agent(deps_type=type(None))

    @agent.tool
    def nobody(ctx: RunContext[None], greeting: str) -> str:
        return f"{greeting} {ctx.deps}"

    @agent.tool
    async def anybody(ctx: RunContext) -> str:
        return f"{ctx.deps}"

    assert (await called(agent._function_toolset, "nobody", {"greeting": "hi"})).content == [
        types.TextContent(text="hi None")
    ]
    assert (await called(agent._function_toolset, "anybody", {})).content == [types.TextContent(text="None")]


async def test_a_tool_that_may_do_without_deps_finds_none() -> None:
    def maybe(ctx: RunContext[Config | None]) -> str:
        return repr(ctx.deps)

    assert (await called([Tool(maybe)], "maybe", {})).content == [types.TextContent(text="None")]


async def test_a_tool_that_wants_deps_registers_and_says_that_it_has_none() -> None:
    [converted] = extract_tools_from_toolset(FunctionToolset([region]))

    with pytest.raises(ClaudeCodeError, match=r"'region' reads `ctx.deps` \(Config\), but no deps were given"):
        await converted.handler({})


async def test_deps_are_given_to_all_tools_that_take_a_context() -> None:
    answer = await called(FunctionToolset([region, add]), "region", {}, deps=Config("kansai"))

    assert answer.content == [types.TextContent(text="kansai")]


def test_deps_that_json_cannot_carry_are_refused() -> None:
    with pytest.raises(UnsupportedDepsTypeError):
        create_mcp_server_from_tools(FunctionToolset([region]), deps=object())


async def test_a_tool_of_ones_own_may_take_a_context_too() -> None:
    def unannotated(ctx: Any) -> str:
        return ctx.deps.region

    said = SimpleNamespace(
        name="said", description="", function=unannotated, takes_ctx=True, parameters_json_schema={"type": "object"}
    )

    for tool in (OwnTool("annotated", region), said):
        answer = await called([tool], tool.name, {}, deps=Config("kansai"))
        assert answer.content == [types.TextContent(text="kansai")]
