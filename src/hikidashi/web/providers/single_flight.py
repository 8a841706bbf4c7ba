"""Identical concurrent requests within an event loop share one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Shared", "SingleFlight"]

T = TypeVar("T")


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
