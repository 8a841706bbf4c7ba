"""Turns of clients at a server up to 2025-11-25, so that each of its requests belongs to one client.

Such a server does not say for which call it sends a request: on stdio there is one stream for all. So the calls of
different clients take turns, unless none of them can answer requests. Two rules keep the cost low: a call that waits
for its client gives up its turn, and until a server has sent its first request, a call waits at most a second.
"""

from __future__ import annotations

import math

import anyio

from ..upstream.requests.stamping import Behalf

__all__ = ["ClientSlot", "ClientTurns"]

_PATIENCE = 1.0  # seconds


class ClientTurns:
    """The calls at one server: those that run, and those that wait for the calls of another client."""

    def __init__(self) -> None:
        self.has_asked = False
        """Whether the server has sent a request; from then on no call overlaps with that of another client."""
        self._running: list[ClientSlot] = []
        self._waiting: list[ClientSlot] = []
        self._changed = anyio.Event()

    async def enter(self, slot: ClientSlot, *, first: bool) -> None:
        """Wait until no other client has a call that runs, or that waited before; `first` goes before all that wait."""
        self._waiting.insert(0 if first else len(self._waiting), slot)
        until = anyio.current_time() + _PATIENCE
        try:
            while self._is_blocked(slot) and (self.has_asked or anyio.current_time() < until):
                with anyio.move_on_at(math.inf if self.has_asked else until):
                    await self._changed.wait()
            self._running.append(slot)
        finally:
            self._waiting.remove(slot)
            self._notify()

    def enter_now(self, slot: ClientSlot) -> bool:
        """Enter if no other client has a call that runs or waits."""
        free = not any(slot.conflicts_with(other) for other in (*self._running, *self._waiting))
        if free:
            self._running.append(slot)
        return free

    def leave(self, slot: ClientSlot) -> None:
        """Let others have their turn."""
        self._running.remove(slot)
        self._notify()

    def _is_blocked(self, slot: ClientSlot) -> bool:
        before = self._waiting[: self._waiting.index(slot)]
        return any(slot.conflicts_with(other) for other in (*self._running, *before))

    def _notify(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class ClientSlot:
    """The turn of one call, as a limiter for `Turn`."""

    def __init__(self, turns: ClientTurns, client: str, behalf: Behalf) -> None:
        self._turns = turns
        self._client = client
        self._can_be_asked = _can_be_asked(behalf)
        self._was_inside = False

    def conflicts_with(self, other: ClientSlot) -> bool:
        """Whether a request of the server could not be attributed if both calls ran."""
        return self._client != other._client and (self._can_be_asked or other._can_be_asked)

    def acquire_on_behalf_of_nowait(self, _: object) -> None:
        """Take a turn, or raise `anyio.WouldBlock`."""
        if not self._turns.enter_now(self):
            raise anyio.WouldBlock
        self._was_inside = True

    async def acquire_on_behalf_of(self, _: object) -> None:
        """Wait for a turn; a call that was paused goes before new ones."""
        first, self._was_inside = self._was_inside, True
        await self._turns.enter(self, first=first)

    def release_on_behalf_of(self, _: object) -> None:
        """End the turn."""
        self._turns.leave(self)


def _can_be_asked(behalf: Behalf) -> bool:
    declared = behalf.capabilities
    return declared is not None and (declared.elicitation or declared.sampling or declared.roots) is not None
