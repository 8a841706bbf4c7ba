from __future__ import annotations

import asyncio
import gzip
import itertools
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import httpx
import pytest

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.web.providers.searxng import SearxngProvider
from hikidashi.web.providers.tavily import TavilyAPIClient
from hikidashi.web.providers.transport import ENCODINGS, AnswerTooLarge, LifoTransport, RetryPolicy, read_within_limits


class Echo(LoopbackServer):
    """Answers with the path, or breaks off."""

    def handle(self, exchange: Exchange) -> None:
        if exchange.path == "/cut":
            exchange.answer_in_part(200, b"never whole", {})
        elif exchange.path == "/gone":
            exchange.hang_up()
        else:
            exchange.answer(200, exchange.path.encode(), {})


def transport() -> LifoTransport:
    return LifoTransport(lambda: httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=1)))


async def test_one_after_another_uses_one_connection_and_many_at_once_use_many() -> None:
    pool = transport()
    with Echo() as server:
        async with httpx.AsyncClient(transport=pool, base_url=server.url) as client:
            assert [(await client.get(f"/{n}")).text for n in range(5)] == [f"/{n}" for n in range(5)]
            assert len(pool) == 1
            for _ in range(3):
                answers = await asyncio.gather(*(client.get(f"/{n}") for n in range(8)))
                assert [answer.text for answer in answers] == [f"/{n}" for n in range(8)]
            assert len(pool) == 8


@pytest.mark.parametrize("path", ["/cut", "/gone"])
async def test_a_connection_that_breaks_is_replaced(path: str) -> None:
    pool = transport()
    with Echo() as server:
        async with httpx.AsyncClient(transport=pool, base_url=server.url) as client:
            for _ in range(3):
                with pytest.raises(httpx.RemoteProtocolError):
                    await client.get(path)
                assert (await client.get("/fine")).text == "/fine"
    assert len(pool) == 1


async def test_an_answer_that_is_closed_twice_gives_its_connection_back_once() -> None:
    pool = transport()
    with Echo() as server:
        async with httpx.AsyncClient(transport=pool, base_url=server.url) as client:
            async with client.stream("GET", "/long") as answer:
                await answer.aclose()
                await answer.stream.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            await asyncio.gather(client.get("/a"), client.get("/b"))
    assert len(pool) == 2


class Body(LoopbackServer):
    """Answers with a body in one encoding, in pieces, for as long as anybody reads."""

    def __init__(self, pieces: Iterable[bytes], encoding: str) -> None:
        super().__init__()
        self._pieces, self._encoding = pieces, encoding

    def handle(self, exchange: Exchange) -> None:
        named = {"content-encoding": self._encoding} if self._encoding else {}
        exchange.begin_stream(200, {"content-type": "application/json", **named})
        for piece in self._pieces:
            exchange.send(piece)
        exchange.end_stream()


def bomb() -> Iterator[bytes]:
    """Half a megabyte that is half a gigabyte."""
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    for _ in range(512):
        if piece := packed.compress(bytes(1024 * 1024)):
            yield piece
    yield packed.flush()


async def read(pieces: Iterable[bytes], encoding: str = "") -> str:
    with Body(pieces, encoding) as server:
        hooks = {"response": [read_within_limits]}
        async with httpx.AsyncClient(headers=ENCODINGS, event_hooks=hooks, base_url=server.url) as client:
            return (await client.get("/")).text


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", "deflate"])
async def test_an_answer_is_read_whole_in_the_encodings_that_are_asked_for(encoding: str) -> None:
    packed = {"gzip": gzip.compress, "deflate": zlib.compress}.get(encoding, bytes)("引き出し".encode() * 1_000)
    assert await read([packed[:10], packed[10:]], encoding) == "引き出し" * 1_000


async def test_an_answer_beyond_the_limit_is_given_up_whatever_it_is_packed_in() -> None:
    with pytest.raises(AnswerTooLarge, match="larger than 64 MB"):
        await read(bomb(), "gzip")
    with pytest.raises(AnswerTooLarge, match="larger than 64 MB"):
        await read(itertools.repeat(bytes(1024 * 1024)))


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"x"), ("gzip", b"no gzip"), ("gzip", gzip.compress(b"x", mtime=0)[:-4])]
)
async def test_an_encoding_that_cannot_be_undone_is_a_failure(encoding: str, body: bytes) -> None:
    with pytest.raises(httpx.DecodingError, match="could not be decompressed"):
        await read([body], encoding)


NO_RETRY = RetryPolicy(max_retries=0)


def tavily(url: str) -> TavilyAPIClient:
    return TavilyAPIClient("tvly-test", base_url=url, language="en", retry=NO_RETRY)


def searxng(url: str) -> SearxngProvider:
    return SearxngProvider(url, timeout=5.0, language="en", retry=NO_RETRY)


@pytest.mark.parametrize("make", [tavily, searxng])
async def test_a_provider_says_that_an_answer_is_too_large(make: Any) -> None:
    with Body(itertools.repeat(bytes(1024 * 1024)), "") as server:
        async with make(server.url) as provider:
            with pytest.raises(TavilyAPIError, match=r"larger than 64 MB\. Ask for fewer results") as error:
                await provider.search("x")
    assert error.value.error_type == ErrorType.API_ERROR


async def test_a_server_that_drips_is_given_up_in_time() -> None:
    with Drip() as server:
        async with SearxngProvider(server.url, timeout=0.3, language="en", retry=NO_RETRY) as provider:
            with pytest.raises(TavilyAPIError, match=r"did not answer within 0\.3 seconds"):
                await provider.search("x")


class Drip(LoopbackServer):
    """Sends a byte now and then, for ever: each comes well within the time of one step."""

    def handle(self, exchange: Exchange) -> None:
        exchange.begin_stream(200, {"content-type": "application/json"})
        while True:
            exchange.send(b" ")
            exchange.wait(0.02)
