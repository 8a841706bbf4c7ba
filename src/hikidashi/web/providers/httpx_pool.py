"""Connections for `httpx` that cost the same however many there are, and answers that are read within limits.

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
from ..pages._decompress import ACCEPTED, Decompressor, TooLarge, Undecodable
from ..pages.pieces import TooManyPieces, in_larger_pieces

try:
    import httpx
except ImportError as error:
    raise MissingExtra("httpx", "web") from error

__all__ = ["ENCODINGS", "LARGEST_ANSWER", "AnswerTooLarge", "SinglesTransport", "read_within_limits"]

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of one answer of an API: twenty long pages fit, and the event loop is not held for long by its JSON."""
ENCODINGS = {"Accept-Encoding": ACCEPTED}
"""The header for clients whose answers are read with `read_within_limits`."""


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


class AnswerTooLarge(httpx.DecodingError):
    """The answer is larger than `LARGEST_ANSWER`, before or after its compression is undone."""


class _WithinLimits(httpx.AsyncByteStream):
    """The same body with its compression undone; tiny pieces do not keep the event loop from other tasks."""

    def __init__(self, stream: httpx.AsyncByteStream, encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            body = Decompressor(self._encoding, LARGEST_ANSWER)
            async with aclosing(in_larger_pieces(self._stream)) as pieces:
                async for piece in pieces:
                    body.feed(piece)
            yield body.finish()
        except TooManyPieces as error:
            raise httpx.RemoteProtocolError("the answer comes in too many tiny pieces") from error
        except TooLarge as error:
            raise AnswerTooLarge(f"the answer is larger than {LARGEST_ANSWER // 1024**2} MB") from error
        except Undecodable as error:
            raise httpx.DecodingError("the compression of the answer could not be undone") from error

    async def aclose(self) -> None:
        await self._stream.aclose()


async def read_within_limits(answer: httpx.Response) -> None:
    """An event hook for answers of a client: at most `LARGEST_ANSWER` of each is held, whatever the server sends.

    The compression is undone here, because httpx's own has no limit: a megabyte may hold gigabytes.
    """
    if isinstance(answer.stream, httpx.AsyncByteStream):
        answer.stream = _WithinLimits(answer.stream, answer.headers.pop("content-encoding", ""))


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
