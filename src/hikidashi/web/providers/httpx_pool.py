"""Connections for `httpx` that cost the same however many there are.

The pool of httpx looks at every connection, with a system call for each idle one, before and after each request: with
16 of them a request costs twice the CPU time. Here each connection is a pool of its own, and the one used last is
taken next. Who sends sees to it that there are not too many at once, and that a request ends in time: the timers that
httpx sets for each step of a request are left out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import cast

from ...errors import MissingExtra
from ..pages.pieces import TooManyPieces, in_larger_pieces

try:
    import httpx
except ImportError as error:
    raise MissingExtra("httpx", "web") from error

__all__ = ["LargerPieces", "SinglesTransport", "read_in_larger_pieces"]


class SinglesTransport(httpx.AsyncBaseTransport):
    """Sends each request over a transport of its own, as `make` gives it, and uses them again."""

    def __init__(self, make: Callable[[], httpx.AsyncBaseTransport]) -> None:
        self._make = make
        self._idle: list[httpx.AsyncBaseTransport] = []
        self._all: list[httpx.AsyncBaseTransport] = []

    def __len__(self) -> int:
        return len(self._all)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer to `request`, whose body is still to be read."""
        request.extensions["timeout"] = {}
        transport = self._idle.pop() if self._idle else self._made()
        try:
            response = await transport.handle_async_request(request)
        except BaseException:
            self._idle.append(transport)  # with the connection closed: it opens a new one
            raise
        stream = cast("httpx.AsyncByteStream", response.stream)
        response.stream = _Borrowed(stream, lambda: self._idle.append(transport))
        return response

    async def aclose(self) -> None:
        """Closes every connection, also those in use."""
        for transport in self._all:
            await transport.aclose()

    def _made(self) -> httpx.AsyncBaseTransport:
        transport = self._make()
        self._all.append(transport)
        return transport


class LargerPieces(httpx.AsyncByteStream):
    """The same body; one that comes in tiny pieces does not keep the event loop from other tasks."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async with aclosing(in_larger_pieces(self._stream)) as pieces:
                async for piece in pieces:
                    yield piece
        except TooManyPieces as error:
            raise httpx.RemoteProtocolError("the answer comes in too many tiny pieces") from error

    async def aclose(self) -> None:
        """Close the stream that is read."""
        await self._stream.aclose()


async def read_in_larger_pieces(answer: httpx.Response) -> None:
    """An event hook for answers of a client: their bodies come in larger pieces."""
    if isinstance(answer.stream, httpx.AsyncByteStream):
        answer.stream = LargerPieces(answer.stream)


class _Borrowed(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, give_back: Callable[[], None]) -> None:
        self._stream = stream
        self._give_back: Callable[[], None] | None = give_back

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._stream.__aiter__()

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            if self._give_back is not None:
                self._give_back()
                self._give_back = None
