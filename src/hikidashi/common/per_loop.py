"""One value per event loop, such as a connection pool, closed with its loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

_CLOSE_SECONDS = 5.0


class _Kept(NamedTuple, Generic[T]):
    value: T
    guard: AsyncGenerator[None]


class PerLoop(Generic[T]):
    """The value of the running event loop, created at first use.

    `asyncio.run` and other runners close the asynchronous generators of a loop. Each value is held by such a generator,
    so it is closed with its loop even without `aclose()`.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[object]]) -> None:
        self._make = make
        self._close = close
        self._kept: dict[asyncio.AbstractEventLoop, _Kept[T]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self) -> T:
        """The value of this loop."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get(loop)
        return kept.value if kept is not None else await self._opened(loop)

    async def aclose(self) -> None:
        """Close the values of all running loops; the next `get()` creates a new one.

        A loop that is not running keeps its value until it ends.
        """
        here = asyncio.get_running_loop()
        with self._lock:
            kept = {loop: self._kept.pop(loop) for loop in list(self._kept) if loop.is_running()}
        elsewhere = [_closed_elsewhere(one.guard, loop) for loop, one in kept.items() if loop is not here]
        if here in kept:
            await kept[here].guard.aclose()
        if closing := [future for future in elsewhere if future is not None]:
            await asyncio.wait(closing, timeout=_CLOSE_SECONDS)

    async def _opened(self, loop: asyncio.AbstractEventLoop) -> T:
        value = self._make()
        guard = self._guard(loop, value)
        with self._lock:
            for dead in [other for other in self._kept if other.is_closed()]:
                del self._kept[dead]
            self._kept[loop] = _Kept(value, guard)
        await anext(guard)  # registers the generator with the loop; does not suspend
        return value

    async def _guard(self, loop: asyncio.AbstractEventLoop, value: T) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            with self._lock:
                kept = self._kept.get(loop)
                if kept is not None and kept.value is value:
                    del self._kept[loop]
            await self._close(value)


def _closed_elsewhere(guard: AsyncGenerator[None], loop: asyncio.AbstractEventLoop) -> asyncio.Future[None] | None:
    async def close() -> None:
        await guard.aclose()

    closing = close()
    try:
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(closing, loop))
    except RuntimeError:  # the loop has just ended, and closed its generators
        closing.close()
        return None
