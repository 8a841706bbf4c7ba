"""JSON-RPC messages out of bytes and into them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import types
from mcp.shared.message import SessionMessage

from hikidashi.search.mcp_servers.message_lines import MessageReader, MessageWriter

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)))


def reader_of(pieces: list[bytes], *, longest: int = 10_000, ends: list[bool] | None = None) -> MessageReader:
    left = iter(pieces)

    async def read() -> bytes:
        await anyio.lowlevel.checkpoint()
        return next(left, b"")

    told: list[bool] = [] if ends is None else ends
    return MessageReader(read, longest=longest, on_end=told.append)


def received(reader: MessageReader) -> list[Any]:
    async def all_of_it() -> list[Any]:
        return [item.message if isinstance(item, SessionMessage) else type(item) async for item in reader]

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
    assert received(reader_of(pieces, ends=ends)) == [note(one) for one in said]
    assert ends == [False]


def test_a_line_that_is_no_message_is_given_as_an_error_and_the_next_one_is_read() -> None:
    good = json.dumps(note("yes").model_dump(exclude_unset=True)).encode()
    first, second, third = received(reader_of([b"hello\n" + good + b"\n{}\n"]))
    assert (issubclass(first, ValueError), second, issubclass(third, ValueError)) == (True, note("yes"), True)


def test_bytes_that_are_no_text_cost_a_character_and_not_the_message() -> None:
    line = json.dumps(note("a?b").model_dump(exclude_unset=True)).encode().replace(b"?", b"\xff") + b"\n"
    assert received(reader_of([line])) == [note("a\ufffdb")]


def test_a_line_that_is_too_long_ends_the_reading_and_is_told() -> None:
    ends: list[bool] = []
    assert received(reader_of([b"x" * 60, b"x" * 60, b"\n"], longest=100, ends=ends)) == []
    assert ends == [True]


async def test_who_waits_for_a_message_is_woken_when_the_reader_is_ended_by_another() -> None:
    ends: list[bool] = []

    async def read() -> bytes:
        await anyio.sleep_forever()
        return b""

    reader = MessageReader(read, longest=100, on_end=ends.append)
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

    async def write(_: bytes) -> None:
        raise BrokenPipeError

    async with MessageWriter(write, on_gone=lambda: gone.append("gone")) as writer:
        with pytest.raises(anyio.BrokenResourceError):
            await writer.send(SessionMessage(note("hello")))
    with pytest.raises(anyio.ClosedResourceError):
        await writer.send(SessionMessage(note("hello")))
    assert gone == ["gone"]


def test_half_a_character_costs_that_character_and_not_the_message() -> None:
    line = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"said":"a \\ud83d b"}}\n'
    assert received(reader_of([line])) == [note("a \ufffd b")]
