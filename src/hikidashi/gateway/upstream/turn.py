"""A slot of a concurrency limit, released while a person answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Protocol, Self

import anyio

__all__ = ["Limiter", "Turn"]


class Limiter(Protocol):
    """Slots for a limited number of borrowers, such as `anyio.CapacityLimiter`."""

    def acquire_on_behalf_of_nowait(self, borrower: object, /) -> None:
        """Take a slot, or raise `anyio.WouldBlock`."""
        ...

    async def acquire_on_behalf_of(self, borrower: object, /) -> None:
        """Wait for a slot."""
        ...

    def release_on_behalf_of(self, borrower: object, /) -> None:
        """Release the slot."""
        ...


class Turn:
    """One slot of `limiter`, held from entry to exit except while paused.

    A person may take minutes to answer, or never answer; other calls must not wait for that.
    """

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._held = False
        self._pauses = 0
        self._ended = False

    async def __aenter__(self) -> Self:
        await self._take()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._give()

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None]:
        """Release the slot in this block, and wait for one at its end. May be entered by any task."""
        self._pauses += 1
        self._give()
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses and not self._ended:
                await self._take()
                if self._ended:
                    self._give()

    async def _take(self) -> None:
        try:
            self._limiter.acquire_on_behalf_of_nowait(self)  # the blocking method yields to the event loop even then
        except anyio.WouldBlock:
            await self._limiter.acquire_on_behalf_of(self)
        self._held = True

    def _give(self) -> None:
        if self._held:
            self._held = False
            self._limiter.release_on_behalf_of(self)
