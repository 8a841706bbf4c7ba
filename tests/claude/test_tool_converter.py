from __future__ import annotations

import asyncio
import contextvars
import importlib
import re
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import anyio
import httpx
import pytest
from claude_agent_sdk import SdkMcpTool, create_sdk_mcp_server
from hypothesis import given
from hypothesis import strategies as st
from mcp import types
from mcp.client import Client
from pydantic import BaseModel, Field
from pydantic_ai import Agent, ApprovalRequired, BinaryContent, ModelRetry, RunContext, Tool, ToolReturn
from pydantic_ai.exceptions import ToolFailed

from hikidashi import (
    DepsContext,
    MissingExtra,
    ToolResult,
    ToolValidationError,
    Unsupported,
    UnsupportedDepsTypeError,
    convert_tool,
    convert_tool_with_deps,
    convert_tools_to_mcp_server,
)
from hikidashi.claude.tool_converter import _create_async_handler, _format_return_value_as_mcp

PNG = b"\x89PNG\r\n\x1a\n"
PNG_BLOCK = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}

request_id = contextvars.ContextVar("request_id", default="none")


class Address(BaseModel):
    city: str
    zip_code: str = Field(pattern=r"^\d{3}-\d{4}$")


@dataclass
class Config:
    region: str


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def properties(tool: SdkMcpTool[Any]) -> set[str]:
    assert isinstance(tool.input_schema, dict)
    return set(tool.input_schema["properties"])


def failed(value: str) -> dict[str, Any]:
    return {**text(value), "isError": True, "is_error": True}


def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


async def test_annotations_reach_claude() -> None:
    tool = Tool(add, metadata={"annotations": {"readOnlyHint": True}})

    async with Client(convert_tools_to_mcp_server([tool])["instance"]) as client:
        [listed] = (await client.list_tools()).tools

    assert listed.annotations == types.ToolAnnotations(read_only_hint=True)
    assert convert_tool(tool).annotations.read_only_hint is True  # pyright: ignore[reportOptionalMemberAccess]


async def test_a_sync_tool_runs_in_a_thread_with_the_callers_context() -> None:
    def where() -> list[Any]:
        return [threading.get_ident(), request_id.get()]

    request_id.set("r-1")
    answer = await convert_tool(Tool(where)).handler({})

    assert answer != text(f'[{threading.get_ident()}, "r-1"]')
    assert answer["content"][0]["text"].endswith(', "r-1"]')


async def test_a_function_that_returns_an_awaitable_is_awaited() -> None:
    async def later() -> str:
        return "later"

    def begin() -> Any:
        return later()

    assert await _create_async_handler(begin, takes_ctx=False)({}) == text("later")


async def test_a_model_parameter_arrives_as_the_model() -> None:
    def ship(address: Address, express: bool = False) -> str:
        return f"{type(address).__name__} {address.city} {express}"

    answer = await convert_tool(Tool(ship)).handler(
        {"address": {"city": "堺", "zip_code": "590-0001"}, "express": "yes"}
    )

    assert answer == text("Address 堺 True")


async def test_a_tool_with_one_model_takes_its_fields_as_arguments() -> None:
    def ship(address: Address) -> str:
        return address.city

    converted = convert_tool(Tool(ship))

    assert properties(converted) == {"city", "zip_code"}
    assert await converted.handler({"city": "堺", "zip_code": "590-0001"}) == text("堺")


async def test_bad_arguments_come_back_as_text_the_model_can_act_on() -> None:
    answer = await convert_tool(Tool(add)).handler({"a": "many", "c": 1})

    assert answer["isError"] is True
    assert answer["content"][0]["text"].startswith("Invalid arguments for `add`, correct them and call it again: ")
    assert "unable to parse string as an integer" in answer["content"][0]["text"]


async def test_a_retry_asked_for_by_the_tool_is_text_for_the_model() -> None:
    def guess(n: int) -> str:
        raise ModelRetry("Too small: try a number above 10.")

    assert await convert_tool(Tool(guess)).handler({"n": 1}) == failed("Too small: try a number above 10.")


async def test_a_failure_declared_by_the_tool_is_text_for_the_model() -> None:
    def fetch() -> str:
        raise ToolFailed("The archive is closed on Sundays.")

    assert await convert_tool(Tool(fetch)).handler({}) == failed("The archive is closed on Sundays.")


async def test_the_tools_own_argument_check_runs_before_it() -> None:
    def refuse_odd(ctx: RunContext[object], n: int) -> None:
        if n % 2:
            raise ModelRetry(f"{n} is odd.")

    def half(n: int) -> int:
        return n // 2

    handler = convert_tool(Tool(half, args_validator=refuse_odd)).handler

    assert await handler({"n": 3}) == failed("3 is odd.")
    assert await handler({"n": "4"}) == text("2")


async def test_an_async_argument_check_is_awaited() -> None:
    async def refuse_all(ctx: RunContext[object], n: int) -> None:
        raise ModelRetry("Never.")

    def half(n: int) -> int:
        return n // 2

    assert await convert_tool(Tool(half, args_validator=refuse_all)).handler({"n": 4}) == failed("Never.")


async def test_a_tool_that_is_late_is_left_behind() -> None:
    released, finished = threading.Event(), threading.Event()

    def slow() -> str:
        released.wait(10)
        finished.set()
        return "too late"

    try:
        answer = await convert_tool(Tool(slow, timeout=0.01)).handler({})
        assert not finished.is_set()
    finally:
        released.set()

    assert answer == failed("Timed out after 0.01 seconds.")


async def test_a_cancelled_call_does_not_wait_for_its_thread() -> None:
    started, released, finished = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def stuck() -> str:
        loop.call_soon_threadsafe(started.set)
        released.wait(10)
        finished.set()
        return "too late"

    async def run() -> None:
        await convert_tool(Tool(stuck)).handler({})

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await started.wait()
            group.cancel_scope.cancel()
        assert not finished.is_set()
    finally:
        released.set()


async def test_a_function_that_raises_stop_iteration_fails_like_any_other() -> None:
    def exhausted() -> str:
        return next(iter(()))

    class Exhausted:
        def __call__(self) -> str:
            return next(iter(()))

    for handler in (convert_tool(Tool(exhausted)).handler, _create_async_handler(Exhausted(), takes_ctx=False)):
        assert (await handler({}))["isError"] is True


async def test_a_tool_that_is_in_time_answers() -> None:
    assert await convert_tool(Tool(add, timeout=60)).handler({"a": 1}) == text("3")


async def test_a_timeout_error_of_the_tool_itself_is_its_own() -> None:
    async def upstream() -> str:
        raise TimeoutError("the database")

    assert await convert_tool(Tool(upstream, timeout=60)).handler({}) == failed(
        "Tool 'upstream' failed. TimeoutError: the database"
    )


async def test_an_exception_is_an_error_answer_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def explode() -> str:
        raise LookupError("no such row")

    answer = await convert_tool(Tool(explode)).handler({})

    assert answer == failed("Tool 'explode' failed. LookupError: no such row")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", "tool 'explode' failed")
    ]


async def test_cancelling_the_handler_cancels_the_tool() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    for timeout in (None, 60):
        started.clear()
        cancelled.clear()
        call = asyncio.ensure_future(convert_tool(Tool(wait, timeout=timeout)).handler({}))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await cancelled.wait()


async def test_a_tool_that_requires_approval_is_refused() -> None:
    with pytest.raises(Unsupported, match="requires approval"):
        convert_tool(Tool(add, requires_approval=True))


async def test_a_call_that_asks_for_approval_is_not_run() -> None:
    def transfer(yen: int) -> str:
        raise ApprovalRequired

    answer = await convert_tool(Tool(transfer)).handler({"yen": 1})

    assert answer["isError"] is True
    assert "asked for approval" in answer["content"][0]["text"]


@pytest.mark.parametrize("given", ["x", 3, None, add, {"name": "add"}, [Tool(add)], Agent(tools=[add])])
def test_what_is_no_tool_is_refused_with_what_is_wanted(given: Any) -> None:
    wanted = rf"`Tool`, got .*\(a {type(given).__name__}\)"
    with pytest.raises(ToolValidationError, match=wanted):
        convert_tool(given)
    with pytest.raises(ToolValidationError, match=wanted):
        convert_tool_with_deps(given, None)
    with pytest.raises(ToolValidationError, match=wanted):
        convert_tools_to_mcp_server([Tool(add), given])


@pytest.mark.parametrize("given", ["x", b"x", 3, None, Tool(add), add, {"add": Tool(add)}, Agent(tools=[add])])
def test_a_server_wants_a_list_of_tools(given: Any) -> None:
    with pytest.raises(ToolValidationError, match=rf"list of pydantic-ai tools, got .*{type(given).__name__}"):
        convert_tools_to_mcp_server(given)


@pytest.mark.parametrize("name", [3, None, "", b"x"])
def test_a_server_of_tools_needs_a_name(name: Any) -> None:
    with pytest.raises(ToolValidationError, match=r"text, got|no tools of a server called ''"):
        convert_tools_to_mcp_server([Tool(add)], name=name)


def test_a_handler_needs_a_function() -> None:
    function: Any = "x"
    with pytest.raises(ToolValidationError, match="no function to call, got 'x'"):
        _create_async_handler(function, takes_ctx=False)


async def test_a_tool_without_a_function_is_refused() -> None:
    tool = Tool(add)
    tool.function = None  # pyright: ignore[reportAttributeAccessIssue]

    with pytest.raises(ToolValidationError, match="no function") as refused:
        convert_tool(tool)
    assert refused.value.tool_name == "add"


async def test_a_tool_whose_schema_is_no_dict_is_refused() -> None:
    tool = Tool(add)
    tool.function_schema.json_schema = "object"  # pyright: ignore[reportAttributeAccessIssue]

    with pytest.raises(ToolValidationError, match="must be a JSON Schema object"):
        convert_tools_to_mcp_server([tool])


# Contexts and deps


def region(ctx: RunContext[Config], upper: bool = False) -> str:
    """Where we are."""
    return ctx.deps.region.upper() if upper else ctx.deps.region


async def test_a_tool_with_deps_finds_them_and_claude_does_not_see_them() -> None:
    converted = convert_tool_with_deps(Tool(region), Config("kansai"))

    assert await converted.handler({"upper": True}) == text("KANSAI")
    assert properties(converted) == {"upper"}


async def test_deps_may_be_none() -> None:
    def nobody(ctx: RunContext[None]) -> str:
        return repr(ctx.deps)

    assert await convert_tool_with_deps(Tool(nobody), None).handler({}) == text("None")


async def test_a_tool_without_context_ignores_deps() -> None:
    assert await convert_tool_with_deps(Tool(add), Config("kansai")).handler({"a": 1}) == text("3")


async def test_deps_that_json_cannot_carry_are_refused_up_front() -> None:
    with pytest.raises(UnsupportedDepsTypeError):
        convert_tool_with_deps(Tool(region), httpx.AsyncClient())
    with pytest.raises(UnsupportedDepsTypeError):
        convert_tools_to_mcp_server([Tool(region)], deps=httpx.AsyncClient())


async def test_a_tool_that_reads_more_of_its_context_says_what_is_missing() -> None:
    def spent(ctx: RunContext[None]) -> int:
        return ctx.usage.total_tokens

    answer = await convert_tool_with_deps(Tool(spent), None).handler({})

    assert answer["isError"] is True
    assert "`ctx.usage` is not available" in answer["content"][0]["text"]


def test_a_context_without_deps_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="convert_tool_with_deps"):
        convert_tool(Tool(region))
    with pytest.raises(NotImplementedError, match="'region'"):
        convert_tools_to_mcp_server([Tool(add), Tool(region)])


async def test_deps_of_none_are_deps() -> None:
    def nobody(ctx: RunContext[None]) -> str:
        return repr(ctx.deps)

    async with Client(convert_tools_to_mcp_server([Tool(nobody)], deps=None)["instance"]) as client:
        answer = await client.call_tool("nobody", {})

    assert answer.content == [types.TextContent(text="None")]


async def test_a_plain_function_gets_its_context_and_checked_arguments() -> None:
    async def scaled(ctx: Any, n: int) -> int:
        return ctx.deps["factor"] * n

    handler = _create_async_handler(scaled, takes_ctx=True, deps_context=DepsContext({"factor": 3}))

    assert await handler({"n": "4"}) == text("12")
    assert (await handler({"n": "four"}))["isError"] is True


async def test_an_annotated_deps_context_is_a_context() -> None:
    def factor(ctx: DepsContext[dict[str, int]], name: str) -> int:
        return ctx.deps[name]

    assert await _create_async_handler(factor, True, DepsContext({"a": 3}))({"name": "a"}) == text("3")


async def test_a_function_whose_hints_name_nothing_is_called_unchecked() -> None:
    def echo(value: Any) -> str:
        return f"{value}"

    echo.__annotations__["value"] = "Nowhere"

    assert await _create_async_handler(echo, takes_ctx=False)({"value": 1}) == text("1")


async def test_a_callable_object_is_a_function_too() -> None:
    class Greeter:
        def __call__(self, name: str) -> str:
            return f"hello {name}"

    assert await _create_async_handler(Greeter(), takes_ctx=False)({"name": "you"}) == text("hello you")


# What a tool may return


@dataclass
class Row:
    day: date
    price: Decimal


class Page(BaseModel):
    title: str
    id: UUID


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, ""),
        ("", ""),
        ("引き出し", "引き出し"),
        (0, "0"),
        (False, "false"),
        ({"名前": "引き出し"}, '{"名前": "引き出し"}'),
        ([1, None], "[1, null]"),
        (date(2026, 1, 2), '"2026-01-02"'),
        (Row(date(2026, 1, 2), Decimal("1.10")), '{"day": "2026-01-02", "price": "1.10"}'),
        (Page(title="題", id=UUID(int=0)), '{"title": "題", "id": "00000000-0000-0000-0000-000000000000"}'),
        ({3}, "[3]"),
        (b"\xff", '"_w=="'),
        (float("nan"), '"NaN"'),
        ({"content": "a user's own"}, '{"content": "a user\'s own"}'),
        ({"content": []}, '{"content": []}'),
    ],
)
def test_each_value_has_one_text(value: object, written: str) -> None:
    assert _format_return_value_as_mcp(value) == text(written)


@pytest.mark.parametrize(
    "answer",
    [
        text("hi"),
        {"content": [PNG_BLOCK], "isError": False},
        {"content": [PNG_BLOCK, {"type": "text", "text": "broken"}], "isError": True},
        {"content": [], "structuredContent": {"a": 1}},
        {"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": "AA=="}}], "_meta": {"k": 1}},
    ],
)
def test_what_is_mcp_already_is_returned_as_it_is(answer: dict[str, Any]) -> None:
    assert _format_return_value_as_mcp(answer) is answer


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (BinaryContent(PNG, media_type="image/png"), [PNG_BLOCK]),
        (["see", BinaryContent(PNG, media_type="image/png")], [{"type": "text", "text": "see"}, PNG_BLOCK]),
        (ToolReturn({"a": 1}, metadata={"private": object()}), [{"type": "text", "text": '{"a": 1}'}]),
        (
            ToolReturn("seen", content=[BinaryContent(PNG, media_type="image/png")]),
            [{"type": "text", "text": "seen"}, PNG_BLOCK],
        ),
        (types.ImageContent(data="iVBORw0KGgo=", mime_type="image/png"), [PNG_BLOCK]),
        (
            [types.TextContent(text="a"), types.TextContent(text="b")],
            [text("a")["content"][0], text("b")["content"][0]],
        ),
        (types.CallToolResult(content=[types.TextContent(text="a")]), text("a")["content"]),
        (ToolResult(content=({"type": "text", "text": "a"},)), text("a")["content"]),
    ],
)
def test_pictures_and_tool_returns_become_content(value: object, content: list[Any]) -> None:
    answer = _format_return_value_as_mcp(value)

    assert answer["content"] == content
    assert answer.keys() <= {"content", "isError"}


def test_an_error_result_keeps_its_flag() -> None:
    assert _format_return_value_as_mcp(ToolResult.error("no")) == failed("no")
    assert _format_return_value_as_mcp(types.CallToolResult(content=[], is_error=True)) == {
        "content": [],
        "isError": True,
        "is_error": True,
    }


def test_a_value_without_any_form_is_refused() -> None:
    with pytest.raises(Unsupported):
        _format_return_value_as_mcp(object())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_any_json_value_becomes_one_text_block(value: object) -> None:
    answer = _format_return_value_as_mcp(value)

    assert [block["type"] for block in answer["content"]] == ["text"]
    assert "isError" not in answer


# Servers


async def test_the_sdks_own_server_takes_a_converted_tool() -> None:
    def broken() -> Mapping[str, Any]:
        return {"content": [{"type": "text", "text": "half"}, PNG_BLOCK], "isError": True}

    server = create_sdk_mcp_server("own", tools=[convert_tool(Tool(broken)), convert_tool(Tool(add))])
    async with Client(server["instance"]) as client:
        answer = await client.call_tool("broken", {})
        added = await client.call_tool("add", {"a": 1})

    assert answer.is_error
    assert [block.type for block in answer.content] == ["text", "image"]
    assert added.content == [types.TextContent(text="3")]


async def test_a_server_of_tools_loses_nothing_in_silence() -> None:
    blocks = [
        {"type": "text", "text": "引き出し"},
        PNG_BLOCK,
        {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "AA=="}},
        {"type": "resource_link", "uri": "https://example.com/a", "name": "a"},
    ]

    async def everything() -> dict[str, Any]:
        return {"content": blocks, "isError": True}

    config = convert_tools_to_mcp_server([Tool(everything)], name="own")
    async with Client(config["instance"]) as client:
        answer = await client.call_tool("everything", {})

    dumped = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert (config["type"], config["name"]) == ("sdk", "own")
    said, *whole, note = dumped["content"]
    assert said["text"] == "This result is an error:"  # Claude Code drops images beside `isError`
    assert whole == [block for block in blocks if block["type"] in ("text", "image", "resource_link")]
    assert "audio/wav (audio, 1 bytes); a file of type application/pdf (file:///a.pdf, 1 bytes)" in note["text"]


async def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolValidationError, match="'add'"):
        convert_tools_to_mcp_server([Tool(add), Tool(add)])


@pytest.mark.parametrize("missing", ["pydantic_ai", "mcp", "claude_agent_sdk"])
def test_a_missing_framework_names_the_extras_to_install(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.delitem(sys.modules, "hikidashi.claude.tool_converter")
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(MissingExtra, match=re.escape("hikidashi[claude,pydantic-ai]")):
        importlib.import_module("hikidashi.claude.tool_converter")


async def test_an_object_with_the_parts_of_a_tool_is_converted() -> None:
    def greet(ctx: Any, name: str) -> str:
        return f"{ctx.deps} {name}"

    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    definition = SimpleNamespace(name="greet", description="Greet somebody.", parameters_json_schema=schema)
    tool: Any = SimpleNamespace(tool_def=definition, function=greet, takes_ctx=True)

    converted = convert_tool_with_deps(tool, "hello")

    assert (converted.name, converted.description, converted.input_schema) == ("greet", "Greet somebody.", schema)
    assert await converted.handler({"name": "Ada"}) == {"content": [{"type": "text", "text": "hello Ada"}]}
    with pytest.raises(NotImplementedError, match="'greet' takes a `RunContext`"):
        convert_tool(tool)


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (SimpleNamespace(parameters_json_schema={}), "needs a name"),
        (SimpleNamespace(name="", parameters_json_schema={}), "needs a name"),
        (SimpleNamespace(name="greet"), "must be a JSON Schema object"),
    ],
)
def test_an_object_without_a_part_of_a_tool_is_refused(definition: Any, message: str) -> None:
    tool: Any = SimpleNamespace(tool_def=definition, function=lambda: "hello")
    with pytest.raises(ToolValidationError, match=message):
        convert_tool(tool)
