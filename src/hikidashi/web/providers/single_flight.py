"""Identical requests under way at the same time share one, within an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Landed", "SingleFlight"]

T = TypeVar("T")


class Landed(NamedTuple, Generic[T]):
    """What the work gave, and whether this caller did it."""

    value: T
    leader: bool


class SingleFlight(Generic[T]):
    """Runs work once for all who ask for the same key while it runs.

    The first caller does the work, and what it gives or raises reaches all others. One that is cancelled leaves the
    others undisturbed; if it was the first, the next one does the work anew. A task of its own for the work would
    save that second request, but costs every single one two more rounds of the event loop: 5 % of a request.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, list[asyncio.Future[Landed[T] | None]]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    async def run(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> Landed[T]:
        """What `work()` gives, done by this caller or by an earlier one with the same `key`."""
        while (waiting := self._waiting.get(key)) is not None:
            seat: asyncio.Future[Landed[T] | None] = asyncio.get_running_loop().create_future()
            waiting.append(seat)
            if (landed := await seat) is not None:
                return landed
        waiting = self._waiting[key] = []
        try:
            value = await work()
        except Exception as error:
            del self._waiting[key]
            for seat in _open(waiting):
                seat.set_exception(error)
                seat.exception()  # looked at: its caller may be cancelled this moment
            raise
        except BaseException:
            del self._waiting[key]
            for seat in _open(waiting):
                seat.set_result(None)
            raise
        del self._waiting[key]
        for seat in _open(waiting):
            seat.set_result(Landed(value, leader=False))
        return Landed(value, leader=True)


def _open(seats: list[asyncio.Future[T]]) -> list[asyncio.Future[T]]:
    return [seat for seat in seats if not seat.done()]
