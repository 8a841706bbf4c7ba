"""JSON-RPC messages out of bytes and into them."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import types
from mcp.shared.message import SessionMessage
from tests.mcp_support import served

from hikidashi import Tool, ToolResult, to_mcp
from hikidashi.search import LiveServers, McpServer
from hikidashi.servers.connection import LargeEvents
from hikidashi.servers.listing import tools_of_servers
from hikidashi.servers.messages import MessageReader, MessageWriter

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)))


def received(pieces: list[bytes], *, longest: int = 10_000, ends: list[bool] | None = None) -> list[Any]:
    """What a reader of these pieces gives; the type of an error."""

    async def feed(stream: asyncio.StreamReader) -> None:
        for piece in pieces:
            stream.feed_data(piece)
            await anyio.lowlevel.checkpoint()
        stream.feed_eof()

    async def all_of_it() -> list[Any]:
        stream = asyncio.StreamReader()
        reader = MessageReader(stream, longest=longest, on_end=(ends if ends is not None else []).append)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(feed, stream)
            return [item.message if isinstance(item, SessionMessage) else type(item) async for item in reader]
        raise AssertionError

    return anyio.run(all_of_it)


def note(said: str) -> types.JSONRPCNotification:
    return types.JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"said": said})


@given(said=st.lists(ANY_TEXT, max_size=5), cuts=st.lists(st.integers(0, 400)), ascii_only=st.booleans())
def test_messages_arrive_whole_wherever_the_bytes_are_cut(said: list[str], cuts: list[int], ascii_only: bool) -> None:
    lines = [json.dumps(note(one).model_dump(exclude_unset=True), ensure_ascii=ascii_only) for one in said]
    data = "".join(f"{line}\n" for line in lines).encode()
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    pieces = [data[start:end] for start, end in pairwise(places)]
    ends: list[bool] = []
    assert received(pieces, ends=ends) == [note(one) for one in said]
    assert ends == [False]


def test_a_line_that_is_no_message_is_given_as_an_error_and_the_next_one_is_read() -> None:
    good = json.dumps(note("yes").model_dump(exclude_unset=True)).encode()
    first, second, third = received([b"hello\n" + good + b"\n{}\n"])
    assert (issubclass(first, ValueError), second, issubclass(third, ValueError)) == (True, note("yes"), True)


def test_bytes_that_are_no_text_cost_a_character_and_not_the_message() -> None:
    line = json.dumps(note("a?b").model_dump(exclude_unset=True)).encode().replace(b"?", b"\xff") + b"\n"
    assert received([line]) == [note("a\ufffdb")]


def test_a_line_that_is_too_long_ends_the_reading_and_is_told() -> None:
    ends: list[bool] = []
    assert received([b"x" * 60, b"x" * 60, b"\n"], longest=100, ends=ends) == []
    assert ends == [True]


async def test_who_waits_for_a_message_is_woken_when_the_reader_is_ended_by_another() -> None:
    ends: list[bool] = []
    reader = MessageReader(asyncio.StreamReader(), longest=100, on_end=ends.append)
    seen: list[str] = []

    async def wait() -> None:
        with pytest.raises(anyio.EndOfStream):
            await reader.receive()
        seen.append("woken")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        reader.end()
    await reader.aclose()
    assert (seen, ends) == (["woken"], [False])


async def test_a_writer_whose_other_side_is_gone_says_so_and_is_not_written_to_once_closed() -> None:
    gone: list[str] = []
    ours, theirs = socket.socketpair()
    _, stream = await asyncio.open_connection(sock=ours)
    theirs.close()
    async with MessageWriter(stream, on_gone=lambda: gone.append("gone")) as writer:
        with pytest.raises(anyio.BrokenResourceError):  # noqa: PT012 - the first may still be taken
            while True:
                await writer.send(SessionMessage(note("hello")))
                await anyio.lowlevel.checkpoint()
    stream.close()
    with pytest.raises(anyio.ClosedResourceError):
        await writer.send(SessionMessage(note("hello")))
    assert gone == ["gone"]


def test_half_a_character_costs_that_character_and_not_the_message() -> None:
    line = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"said":"a \\ud83d b"}}\n'
    assert received([line]) == [note("a \ufffd b")]


# Events of any size over HTTP: the parser behind the mcp package takes 1 MiB.


LONG = "ü" * 1_500_000


async def answer_long(_: dict[str, Any]) -> ToolResult:
    return ToolResult.of(LONG)


def many() -> list[Tool]:
    described = "Send a mail to somebody, and keep a copy of it. " * 12
    schema: dict[str, Any] = {"type": "object"}
    return [
        Tool(name=f"tool_{number}", description=described, input_schema=schema, call=answer_long)
        for number in range(3_000)
    ]


@pytest.mark.parametrize(("transport", "path"), [("http", "/mcp"), ("sse", "/sse")])
async def test_a_list_of_tools_and_a_result_over_one_mebibyte_arrive(transport: Any, path: str) -> None:
    server = to_mcp(many())
    app = server.streamable_http_app() if transport == "http" else server.sse_app()
    async with served(app) as url:
        known = McpServer(name="many", transport=transport, url=url + path)
        (answer,) = await tools_of_servers([known])
        assert (len(answer.tools), answer.failure) == (3_000, None)
        async with LiveServers([known]) as live:
            assert len(live.catalog) == 3_000
            tool: Any = live.catalog.get("many__tool_7")
            assert (await tool.call({})).text == LONG


def passed(events: LargeEvents, chunks: list[str]) -> str:
    async def pieces() -> AsyncGenerator[bytes]:
        for chunk in chunks:
            await anyio.lowlevel.checkpoint()
            yield chunk.encode()

    async def whole() -> str:
        response = httpx2.Response(
            200,
            headers={"content-type": "text/event-stream"},
            content=pieces(),
            request=httpx2.Request("POST", "http://localhost/"),
        )
        return "".join([text async for text in events.shortened(response)])

    return anyio.run(whole)


MESSAGES = [
    types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"said": "x" * 200_000}),
    types.JSONRPCError(jsonrpc="2.0", id=2, error=types.ErrorData(code=-1, message="no", data="x" * 200_000)),
    types.JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"said": "x" * 200_000}),
    types.JSONRPCRequest(jsonrpc="2.0", id=3, method="ping", params={"said": "x" * 200_000}),
    types.JSONRPCResponse(jsonrpc="2.0", id=4, result={"said": "short"}),
]


@given(st.permutations(MESSAGES), st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(0, 9_999)))
def test_whatever_the_chunks_and_line_ends_each_message_comes_back_whole(
    messages: list[types.JSONRPCMessage], end: str, cuts: list[int]
) -> None:
    written = [message.model_dump_json(by_alias=True, exclude_unset=True) for message in messages]
    text = "".join(f"id: {number}{end}data: {line}{end}{end}" for number, line in enumerate(written))
    events = LargeEvents(1_000_000)
    # Cuts are near the ends of events, where one may fall between the two characters of a line end.
    ends = [index + 1 for index in range(len(text)) if text[index] in "\r\n"]
    places = sorted({0, len(text), *(max(0, ends[cut % len(ends)] - cut % 5) for cut in cuts)})
    short = passed(events, [text[start:stop] for start, stop in pairwise(places)])
    assert len(short) < 10_000
    lines = [line[6:] for line in short.splitlines() if line.startswith("data: ")]
    assert [line for line in short.splitlines() if line.startswith("id: ")] == [f"id: {number}" for number in range(5)]
    back = [types.jsonrpc_message_adapter.validate_json(line, by_name=False) for line in lines]
    for message in back:
        events.restore(message)
    assert [message.model_dump_json(by_alias=True, exclude_unset=True) for message in back] == written


def test_a_large_event_that_is_no_message_is_left_to_the_package() -> None:
    assert f"\ndata: {'x' * 200_000}\n" in passed(LargeEvents(1_000_000), [f"data: {'x' * 200_000}\n\n", "data: rest"])


def test_an_event_that_exceeds_the_limit_is_refused() -> None:
    with pytest.raises(httpx2.SSEError):
        passed(LargeEvents(1_000), ["data: " + "x" * 2_000])


def test_a_key_that_a_server_made_up_changes_nothing() -> None:
    message = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"hikidashi/largeEvent": "guessed"})
    LargeEvents(1_000).restore(message)
    assert json.loads(message.model_dump_json()) == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"hikidashi/largeEvent": "guessed"},
    }
