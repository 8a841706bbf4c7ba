"""MCP sessions as tools, and tools as an MCP server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import ClientSession, MCPError, types
from mcp.client import Client
from mcp.server import Server, ServerRequestContext
from pydantic import BaseModel

from hikidashi import (
    Tool,
    ToolAnnotations,
    ToolResult,
    ToolValidationError,
    Unsupported,
    from_function,
    from_mcp,
    to_mcp,
)
from hikidashi.errors import ToolConnectionError
from hikidashi.tool import audio, image, resource, text

Context = ServerRequestContext[Any]
OPEN: dict[str, Any] = {"type": "object", "properties": {}}


NOTHING = ToolResult()


def tool(result: ToolResult | Exception = NOTHING, **fields: Any) -> Tool:
    async def call(_: dict[str, Any]) -> ToolResult:
        if isinstance(result, Exception):
            raise result
        return result

    plain: dict[str, Any] = {"name": "t", "description": "", "input_schema": OPEN, "call": call}
    return Tool(**{**plain, **fields})


class Point(BaseModel):
    x: int


def locate() -> Point:
    """Where."""
    return Point(x=1)


FULL = replace(
    from_function(locate),
    annotations=ToolAnnotations(title="Find", read_only=True, destructive=False, idempotent=True, open_world=False),
    aliases=("where",),
    defer_loading=True,
    metadata={"a/b": {"c": [1, None]}, "hikidashi/icons": [{"src": "https://example.com/i.png"}]},
)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_everything_about_a_tool_survives_the_round_trip(mode: str) -> None:
    async with Client(to_mcp([FULL]), mode=mode) as client:
        (listed,) = (await client.list_tools()).tools
        (back,) = await from_mcp(client)
    assert replace(back, call=FULL.call) == FULL
    assert (listed.title, listed.icons) == ("Find", [types.Icon(src="https://example.com/i.png")])


EVERYTHING = ToolResult(
    content=(
        text("words"),
        image(b"1", "image/png"),
        audio(b"2", "audio/wav"),
        resource("a:b", "text", "text/plain"),
        resource("a:c", b"3", "application/pdf"),
        {"type": "resource_link", "uri": "a:d", "name": "n", "mimeType": "text/html"},
        {"type": "text", "text": "marked", "annotations": {"audience": ["user"]}, "_meta": {"k": 1}},
    ),
    structured_content={"a": None, "b": [None, {"c": None}]},
    is_error=True,
    meta={"m": {"n": None}},
)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("result", [EVERYTHING, ToolResult(), ToolResult(content=(text("x" * 1_000_000),))])
async def test_a_result_survives_the_round_trip(mode: str, result: ToolResult) -> None:
    async with Client(to_mcp([tool(result)]), mode=mode) as client:
        (back,) = await from_mcp(client)
        assert await back.call({}) == result


async def test_structured_content_that_is_no_object_is_text() -> None:
    async with Client(to_mcp([tool(ToolResult(structured_content=[1]))])) as client:
        (back,) = await from_mcp(client)
        assert await back.call({}) == ToolResult(content=(text("[1]"),))


async def test_a_result_with_python_objects_in_its_meta_is_written_as_json() -> None:
    async with Client(to_mcp([tool(ToolResult(meta={"at": Point(x=1)}))])) as client:
        (back,) = await from_mcp(client)
        assert (await back.call({})).meta == {"at": {"x": 1}}


async def test_what_a_tool_raises_is_an_error_answer_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with Client(to_mcp([tool(KeyError("mine"))])) as client:
        (back,) = await from_mcp(client)
        assert await back.call({}) == ToolResult.error("Tool 't' failed. KeyError: 'mine'")
    assert [record.message for record in caplog.records if record.name == "hikidashi"] == ["tool 't' failed"]


async def test_an_output_schema_that_the_answer_breaks_is_told() -> None:
    async with Client(to_mcp([tool(output_schema=OPEN)])) as client:
        (back,) = await from_mcp(client)
        assert "promises" in (await back.call({})).text


async def test_an_error_owes_nothing_to_the_output_schema() -> None:
    async with Client(to_mcp([tool(ToolResult.error("Not there."), output_schema=OPEN)])) as client:
        (back,) = await from_mcp(client)
        assert await back.call({}) == ToolResult.error("Not there.")


async def test_a_tool_that_waited_for_a_cancelled_task_has_failed_and_the_server_lives_on() -> None:
    async def call(_: dict[str, Any]) -> ToolResult:
        waiting = asyncio.create_task(asyncio.sleep(60))
        waiting.cancel()
        await waiting
        raise AssertionError

    async with Client(to_mcp([tool(call=call)])) as client:
        (back,) = await from_mcp(client)
        for _ in range(2):
            assert await back.call({}) == ToolResult.error("Tool 't' failed. CancelledError: ")


async def test_a_server_takes_tools_of_its_own_beside_ours() -> None:
    server = to_mcp([tool(ToolResult.of("ours"))], name="both", version="7", instructions="Use it.")

    @server.tool()
    def theirs() -> str:  # pyright: ignore[reportUnusedFunction]
        return "theirs"

    async with Client(server) as client:
        tools = {tool.name: tool for tool in await from_mcp(client)}
        assert [(await tools[name].call({})).text for name in ("t", "theirs")] == ["ours", "theirs"]
        assert (await client.call_tool("nowhere", {})).is_error
    assert (server.name, server.version, server.instructions) == ("both", "7", "Use it.")


def test_two_tools_with_one_name_are_refused() -> None:
    with pytest.raises(ToolValidationError, match=r"'t' and 't'.*tool\.renamed"):
        to_mcp([tool(), tool()])


@pytest.mark.parametrize("schema", [{"enum": [1]}, {"type": "string"}, {"$ref": "#/$defs/X"}])
def test_a_schema_that_is_no_object_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="MCP cannot express the input schema of tool 't'"):
        to_mcp([tool(input_schema=schema)])


def test_metadata_without_a_json_form_is_refused() -> None:
    class Silent:
        pass

    with pytest.raises(Unsupported, match="Silent"):
        to_mcp([tool(metadata={"client": Silent()})])


def paged(cursors: dict[str | None, str | None]) -> Server[Any]:
    async def on_list_tools(_: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        cursor = params.cursor if params else None
        return types.ListToolsResult(
            tools=[types.Tool(name=f"after_{cursor}", input_schema=OPEN)], next_cursor=cursors[cursor]
        )

    async def on_call_tool(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        code = types.INVALID_PARAMS if params.name == "after_None" else types.INTERNAL_ERROR
        raise MCPError(code=code, message=f"{params.name} says no")

    return Server("paged", on_list_tools=on_list_tools, on_call_tool=on_call_tool)


async def test_all_pages_are_read() -> None:
    async with Client(paged({None: "1", "1": "2", "2": None})) as client:
        assert [tool.name for tool in await from_mcp(client)] == ["after_None", "after_1", "after_2"]
        assert [tool.description for tool in await from_mcp(client.session)] == ["", "", ""]


async def test_a_server_that_pages_in_a_circle_is_refused() -> None:
    async with Client(paged({None: "1", "1": "1"})) as client:
        with pytest.raises(ToolValidationError, match="'1' was repeated"):
            await from_mcp(client)


async def test_protocol_errors_about_the_arguments_are_results_and_others_are_raised() -> None:
    async with Client(paged({None: "1", "1": None})) as client:
        first, second = await from_mcp(client)
        assert await first.call({}) == ToolResult.error("after_None says no")
        with pytest.raises(MCPError, match="after_1 says no"):
            await second.call({})


async def test_a_protocol_error_passes_through_a_server_in_between() -> None:
    async with Client(paged({None: "1", "1": None})) as far, Client(to_mcp(await from_mcp(far))) as near:
        with pytest.raises(MCPError, match="after_1 says no"):
            await near.call_tool("after_1", {})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_closed_client_is_a_clear_error(mode: str) -> None:
    async with Client(to_mcp([tool()]), mode=mode) as client:
        (back,) = await from_mcp(client)
    with pytest.raises(ToolConnectionError, match=r"'t' is lost.*Connect again") as caught:
        await back.call({})
    assert (caught.value.tool_name, isinstance(caught.value, ConnectionError)) == ("t", True)
    with pytest.raises(ToolConnectionError, match="'tools/list' is lost"):
        await from_mcp(client)


async def test_a_closed_session_is_a_clear_error() -> None:
    async with Client(to_mcp([tool()]), mode="legacy") as client:
        session = client.session
        (back,) = await from_mcp(session)
    with pytest.raises(ToolConnectionError, match="'t' is lost"):
        await back.call({})
    with pytest.raises(ToolConnectionError, match="'tools/list' is lost"):
        await from_mcp(session)


async def test_a_server_that_goes_away_in_the_middle_of_a_call_is_a_clear_error() -> None:
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        await asyncio.Event().wait()

    to_server, from_client = anyio.create_memory_object_stream[Any](8)
    to_client, from_server = anyio.create_memory_object_stream[Any](8)
    server = Server[Any]("cut", on_list_tools=_hang_listed, on_call_tool=_calling(hang))

    async with anyio.create_task_group() as group:

        async def serve() -> None:
            with serving:
                await server.run(from_client, to_client, server.create_initialization_options())
            await to_client.aclose()

        serving = anyio.CancelScope()
        group.start_soon(serve)
        async with ClientSession(from_server, to_server) as session:
            await session.initialize()
            (back,) = await from_mcp(session)
            call = asyncio.ensure_future(back.call({}))
            await started.wait()
            serving.cancel()
            with anyio.fail_after(10), pytest.raises(ToolConnectionError, match="'hang' is lost"):
                await call


async def _hang_listed(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="hang", input_schema=OPEN)])


def _calling(hang: Any) -> Any:
    async def on_call_tool(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
        await hang()
        return types.CallToolResult(content=[])

    return on_call_tool


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
leaves = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "boolean", "null", "number"])},
    optional={
        "description": st.text(max_size=10),
        "default": st.none() | st.integers() | st.text(max_size=5),
        "enum": st.lists(st.integers(), min_size=1, max_size=3),
        "const": st.none(),
        "x-anything": st.lists(st.none() | st.integers(), max_size=2),
    },
)
schemas = st.recursive(
    leaves,
    lambda inner: (
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(names, inner, max_size=3)},
            optional={"additionalProperties": st.booleans() | inner, "required": st.lists(names, max_size=2)},
        )
        | st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)})
    ),
    max_leaves=8,
)
roots = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(names, schemas, max_size=3)},
    optional={
        "$defs": st.dictionaries(names, schemas, max_size=2),
        "title": names,
        "additionalProperties": st.booleans(),
    },
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(schema=roots, name=names.filter(str.strip), description=st.text(max_size=20))
async def test_any_schema_name_and_description_pass_untouched(schema: Any, name: str, description: str) -> None:
    offered = tool(name=name, description=description, input_schema=schema)
    async with Client(to_mcp([offered]), mode="legacy") as client:
        (back,) = await from_mcp(client)
    assert (back.name, back.description, back.input_schema) == (name, description, schema)
