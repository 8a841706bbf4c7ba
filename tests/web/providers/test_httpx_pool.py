from __future__ import annotations

import asyncio

import httpx
import pytest

from hikidashi.common.loopback import Exchange, LoopbackServer
from hikidashi.web.providers.httpx_pool import SinglesTransport


class Echo(LoopbackServer):
    """Answers with the path, or breaks off."""

    def handle(self, exchange: Exchange) -> None:
        if exchange.path == "/cut":
            exchange.answer_in_part(200, b"never whole", {})
        elif exchange.path == "/gone":
            exchange.hang_up()
        else:
            exchange.answer(200, exchange.path.encode(), {})


def transport() -> SinglesTransport:
    return SinglesTransport(lambda: httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=1)))


async def test_one_after_another_uses_one_connection_and_many_at_once_use_many() -> None:
    singles = transport()
    with Echo() as server:
        async with httpx.AsyncClient(transport=singles, base_url=server.url) as client:
            assert [(await client.get(f"/{n}")).text for n in range(5)] == [f"/{n}" for n in range(5)]
            assert len(singles) == 1
            for _ in range(3):
                answers = await asyncio.gather(*(client.get(f"/{n}") for n in range(8)))
                assert [answer.text for answer in answers] == [f"/{n}" for n in range(8)]
            assert len(singles) == 8


@pytest.mark.parametrize("path", ["/cut", "/gone"])
async def test_a_connection_that_breaks_is_replaced(path: str) -> None:
    singles = transport()
    with Echo() as server:
        async with httpx.AsyncClient(transport=singles, base_url=server.url) as client:
            for _ in range(3):
                with pytest.raises(httpx.RemoteProtocolError):
                    await client.get(path)
                assert (await client.get("/fine")).text == "/fine"
    assert len(singles) == 1


async def test_an_answer_that_is_closed_twice_gives_its_connection_back_once() -> None:
    singles = transport()
    with Echo() as server:
        async with httpx.AsyncClient(transport=singles, base_url=server.url) as client:
            async with client.stream("GET", "/long") as answer:
                await answer.aclose()
                await answer.stream.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            await asyncio.gather(client.get("/a"), client.get("/b"))
    assert len(singles) == 2
