"""Bodies in tiny pieces: joined, with other tasks running in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import PageError, TavilyAPIError
from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.web.pages import fetch as _chunks
from hikidashi.web.pages.fetch import Fetcher, TooManyChunks, in_larger_chunks
from hikidashi.web.providers.tavily import TavilyAPIClient


async def each(pieces: list[bytes]) -> AsyncGenerator[bytes]:
    for piece in pieces:
        yield piece


@given(st.lists(st.binary(max_size=100_000), max_size=5))
def test_no_byte_is_lost_or_moved(pieces: list[bytes]) -> None:
    async def joined() -> bytes:
        return b"".join([piece async for piece in in_larger_chunks(each(pieces))])

    assert asyncio.run(joined()) == b"".join(pieces)


class ByteByByte(LoopbackServer):
    """Sends a body in chunks of one byte."""

    def __init__(self, body: bytes, kind: str) -> None:
        super().__init__()
        self._body = body
        self._kind = kind

    def handle(self, exchange: Exchange) -> None:
        exchange.begin_stream(200, {"content-type": self._kind})
        for byte in self._body:
            exchange.send(bytes([byte]))
        exchange.end_stream()


async def turns_during(work: asyncio.Task[object]) -> int:
    """How often another task had its turn before `work` was done."""
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    return turns


async def test_other_tasks_run_while_a_page_comes_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chunks, "_LONGEST_TURN", 0)
    pieces = [b"a"] * 2_000

    async def read() -> object:
        return b"".join([piece async for piece in in_larger_chunks(each(pieces))])

    work = asyncio.create_task(read())
    assert await turns_during(work) > 100
    assert await work == b"a" * 2_000


async def test_far_too_many_pieces_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chunks, "_MOST_TINY", 1_000)
    monkeypatch.setattr(_chunks, "_LONGEST_TURN", 0)
    with pytest.raises(TooManyChunks):
        [piece async for piece in in_larger_chunks(each([b"a"] * 2_000))]  # pyright: ignore[reportUnusedExpression]
    assert b"".join([piece async for piece in in_larger_chunks(each([b"a" * 20] * 2_000))]) == b"a" * 40_000


async def test_a_page_and_an_answer_that_come_byte_by_byte_are_read_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ByteByByte(b"<p>Hello</p>" * 100, "text/html") as server:
        fetcher = Fetcher(allowed_hosts=[server.url.removeprefix("http://")])
        assert (await fetcher.fetch(server.url)).body == b"<p>Hello</p>" * 100
        monkeypatch.setattr(_chunks, "_MOST_TINY", 100)
        monkeypatch.setattr(_chunks, "_LONGEST_TURN", 0)
        with pytest.raises(PageError):
            await fetcher.fetch(server.url)
    with ByteByByte(b'{"results": []}' + b" " * 1_000, "application/json") as server:
        async with TavilyAPIClient("tvly-test", base_url=server.url, max_retries=0, language="en") as client:
            with pytest.raises(TavilyAPIError, match="too many tiny pieces"):
                await client.search("x")
            monkeypatch.undo()
            assert (await client.search("x")).results == ()
