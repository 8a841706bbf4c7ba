"""A Tavily that answers every search at once with five hits, as a program: `python -m benchmarks.web.server`.

It does as little as HTTP allows, so that the clients are what is measured. It prints its address and ends with its
standard input.
"""

from __future__ import annotations

import asyncio
import sys

from hikidashi.web.results import SearchHit
from hikidashi.web.tavily_api import SearchBody, search_answer

HITS = tuple(
    SearchHit(
        title=f"お茶の歴史 {number}",
        url=f"https://example.com/tea/{number}",
        content="Tea came to Japan with the monks who had studied in China. お茶は僧が伝えた。 " * 5,
        score=0.9 - number / 10,
    )
    for number in range(5)
)


class _Connection(asyncio.Protocol):
    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        if blank and len(body) >= _content_length(head):
            self._received = b""
            if isinstance(self._transport, asyncio.WriteTransport):
                self._transport.write(self._answer)


def _content_length(head: bytes) -> int:
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    return next((int(value) for name, _, value in lines if name == b"content-length"), 0)


def _answer() -> bytes:
    body = search_answer(SearchBody(query="tea", include_usage=True), HITS).wire()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


async def _serve() -> None:
    answer = _answer()
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(answer), "127.0.0.1", 0, backlog=1024)
    async with server:
        host, port = server.sockets[0].getsockname()
        print(f"http://{host}:{port}", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
