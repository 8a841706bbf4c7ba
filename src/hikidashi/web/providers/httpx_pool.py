"""A connection pool for `httpx` whose cost does not grow with the number of connections, and limits on responses.

The pool of httpx checks every connection, with a system call for each idle one, before and after each request. Measured
with `benchmarks web.throughput`: with 16 or 128 searches at once a search takes 2.2 to 2.8 times the CPU time without
this module, and 1.3 to 1.7 times that of `tavily-python` itself; one after another there is no difference.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import cast

from ...errors import MissingExtra
from ..pages.fetch import ACCEPTED, Decompressor, TooLarge, TooManyChunks, Undecodable, in_larger_chunks

try:
    import httpx
except ImportError as error:
    raise MissingExtra("httpx", "web") from error

__all__ = ["ENCODINGS", "LARGEST_ANSWER", "AnswerTooLarge", "LifoTransport", "read_within_limits"]

LARGEST_ANSWER = 64 * 1024 * 1024
"""Limit of a response in bytes: enough for twenty long pages, and parsed without blocking the event loop for long."""
ENCODINGS = {"Accept-Encoding": ACCEPTED}
"""The header for clients whose responses are read with `read_within_limits`."""


class LifoTransport(httpx.AsyncBaseTransport):
    """Sends each request over the most recently used idle transport, or a new one from `make`.

    Each transport holds one connection. The caller limits the number of concurrent requests and their duration: the
    timeouts that httpx sets for each operation are removed.
    """

    def __init__(self, make: Callable[[], httpx.AsyncBaseTransport]) -> None:
        self._make = make
        self._idle: list[httpx.AsyncBaseTransport] = []
        self._all: list[httpx.AsyncBaseTransport] = []

    def __len__(self) -> int:
        return len(self._all)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response to `request`, whose body is not read yet."""
        request.extensions["timeout"] = {}
        transport = self._idle.pop() if self._idle else self._made()
        try:
            response = await transport.handle_async_request(request)
        except BaseException:
            self._idle.append(transport)  # its connection is closed; it opens a new one
            raise
        stream = cast("httpx.AsyncByteStream", response.stream)
        response.stream = _Borrowed(stream, lambda: self._idle.append(transport))
        return response

    async def aclose(self) -> None:
        """Close all connections, including those in use."""
        for transport in self._all:
            await transport.aclose()

    def _made(self) -> httpx.AsyncBaseTransport:
        transport = self._make()
        self._all.append(transport)
        return transport


class AnswerTooLarge(httpx.DecodingError):
    """The response exceeds `LARGEST_ANSWER`, compressed or decompressed."""


class _WithinLimits(httpx.AsyncByteStream):
    """A decompressed response body, read without blocking the event loop on tiny chunks."""

    def __init__(self, stream: httpx.AsyncByteStream, encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            body = Decompressor(self._encoding, LARGEST_ANSWER)
            async with aclosing(in_larger_chunks(self._stream)) as chunks:
                async for chunk in chunks:
                    body.feed(chunk)
            yield body.finish()
        except TooManyChunks as error:
            raise httpx.RemoteProtocolError("the answer comes in too many tiny pieces") from error
        except TooLarge as error:
            raise AnswerTooLarge(f"the answer is larger than {LARGEST_ANSWER // 1024**2} MB") from error
        except Undecodable as error:
            raise httpx.DecodingError("the answer could not be decompressed") from error

    async def aclose(self) -> None:
        """Close the underlying stream."""
        await self._stream.aclose()


async def read_within_limits(answer: httpx.Response) -> None:
    """Event hook for responses: limits each to `LARGEST_ANSWER` bytes.

    Decompresses here, because httpx has no limit: a megabyte may expand to gigabytes.
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
