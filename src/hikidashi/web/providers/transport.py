"""Connections of providers: a pool per event loop, limits on responses, retries, and identical requests sent once."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, NamedTuple, TypeVar

from ...errors import MissingExtra, TavilyAPIError
from ..pages.fetch import ACCEPTED, Decompressor, TooLarge, TooManyChunks, Undecodable, in_larger_chunks

try:
    import httpx
except ImportError as error:
    raise MissingExtra("httpx", "web") from error

logger = logging.getLogger("hikidashi")


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Up to `max_retries` retries after a transient failure; invalid keys and input fail at once.

    `sleep` and `jitter` (a random number from 0 to 1) can be replaced in tests.
    """

    max_retries: int = 3
    first: float = 1.0
    """Seconds before the first retry, without jitter; each further wait is `factor` times as long, up to `cap`."""
    factor: float = 2.0
    cap: float = 10.0
    patience: float = 60.0
    """The longest `Retry-After` to wait for, in seconds; a longer one fails at once."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The result of the first successful `attempt`.

        Raises:
            TavilyAPIError: the last attempt failed.
        """
        retries = 0
        while True:
            try:
                return await attempt()
            except TavilyAPIError as error:
                wait = self.wait_after(error, retries)
                if wait is None:
                    raise
                logger.info("%s; try %d follows in %.1f s", error.error_type, retries + 2, wait)
            await self.sleep(wait)
            retries += 1

    def wait_after(self, error: TavilyAPIError, retries: int) -> float | None:
        """Seconds to wait after `retries` retries; None to give up."""
        if not error.is_retryable or retries >= self.max_retries:
            return None
        if error.retry_after is None:
            # "Equal jitter": half of the wait is fixed, half random.
            return min(self.cap, self.first * self.factor**retries) * (1 + self.jitter()) / 2
        if error.retry_after > self.patience:
            return None  # an earlier retry would fail
        return error.retry_after * (1 + self.jitter() / 10)


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Seconds from a `Retry-After` header, a number or an HTTP date; None if it is neither."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _seconds_until(value, now or datetime.now(UTC))
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):  # raised for malformed dates
        return None


class Shared(NamedTuple, Generic[T]):
    """The result, and whether this caller did the work."""

    value: T
    leader: bool


class SingleFlight(Generic[T]):
    """Runs work once for all concurrent callers with the same key.

    The first caller does the work, and its result or exception goes to all others. Cancelling a caller does not affect
    the others; if it was the first, the next one starts the work again. A separate task would avoid that, but costs
    every request two more iterations of the event loop, 5 % of its time.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, list[asyncio.Future[Shared[T] | None]]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    async def run(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> Shared[T]:
        """The result of `work()`, run by this caller or by an earlier one with the same `key`."""
        while (waiting := self._waiting.get(key)) is not None:
            waiter: asyncio.Future[Shared[T] | None] = asyncio.get_running_loop().create_future()
            waiting.append(waiter)
            if (shared := await waiter) is not None:
                return shared
        waiting = self._waiting[key] = []
        try:
            value = await work()
        except Exception as error:
            del self._waiting[key]
            for waiter in _open(waiting):
                waiter.set_exception(error)
                waiter.exception()  # marked as retrieved: its caller may have been cancelled
            raise
        except BaseException:
            del self._waiting[key]
            for waiter in _open(waiting):
                waiter.set_result(None)
            raise
        del self._waiting[key]
        for waiter in _open(waiting):
            waiter.set_result(Shared(value, leader=False))
        return Shared(value, leader=True)


def _open(waiters: list[asyncio.Future[T]]) -> list[asyncio.Future[T]]:
    return [waiter for waiter in waiters if not waiter.done()]


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
        stream: Any = response.stream
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
