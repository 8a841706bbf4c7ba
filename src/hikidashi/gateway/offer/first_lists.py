"""How long requests wait for servers that were never listed: no server delays the others."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection

from ...errors import MissingExtra
from ..upstream.upstream import Upstream

try:
    import anyio
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["FirstLists"]

_MOST = 10.0  # seconds from the start of the gateway
_GRACE = 0.5  # seconds for a server that starts at the same time as the first; usual ones take 0.3 to 2
_LONGEST_GRACE = 2.0  # on a machine where the first took long
_QUIET = 0.5  # seconds without processor time after which a process waits for something, and does not start any more
_MOST_WORK = 3.0  # seconds of processor time that a start takes; a process that uses more does something else
_POLL = 0.1


class FirstLists:
    """The first listing of each server.

    Args:
        upstreams: The servers; those listed in an earlier process have their listing.
    """

    def __init__(self, upstreams: Collection[Upstream]) -> None:
        self._upstreams = upstreams
        self._began = math.inf
        self._first: float | None = None
        """When the first server was listed; long ago if one is known from an earlier process."""
        if any(one.listing is not None for one in upstreams):
            self._first = -math.inf
        self._processor_time: dict[str, tuple[int, float]] = {}
        """What each process had used when it was last looked at, and since when it has used no more."""

    def begin(self) -> None:
        """The servers are started now."""
        self._began = anyio.current_time()

    def one_listed(self) -> None:
        """A server has been listed."""
        if self._first is None:
            self._first = anyio.current_time()

    async def wait(self, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Wait for the servers that start as fast as the others.

        Known listings are not held back. Where none is known, the first server that is listed is waited for; others
        then have as long again, from half a second to two, and as long as their process works on its start: three
        seconds of processor time at most, and five seconds in all. What comes later is announced as a change: clients
        do not declare whether they list again then, so a first list has those that start normally.

        Args:
            is_enough: Whether no other server is needed any more.
        """
        if self._first == -math.inf:
            return
        while missing := [upstream for upstream in self._upstreams if not upstream.listed.is_set()]:
            if is_enough():
                return
            left = self._patience(missing)
            if left <= 0:
                return
            with anyio.move_on_after(min(left, _POLL)):
                await missing[0].listed.wait()

    async def wait_until(self, is_known: Callable[[], bool], may_be_of: Callable[[str], bool] = lambda _: True) -> None:
        """Wait for something of a single server, at most ten seconds from the start of the gateway.

        Args:
            is_known: Whether a server is known to have it.
            may_be_of: Whether a server that is still starting may have it, by its name; others are not waited for.
        """
        missing = [one for one in self._upstreams if not one.listed.is_set() and may_be_of(one.name)]
        with anyio.move_on_at(self._began + _MOST):
            while not is_known() and (missing := [one for one in missing if not one.listed.is_set()]):
                with anyio.move_on_after(_POLL):
                    await missing[0].listed.wait()

    def _patience(self, missing: list[Upstream]) -> float:
        """Seconds left for the servers that are missing."""
        now = anyio.current_time()
        last = self._began + _MOST
        working = [one for one in missing if self._is_working(one, now)]  # each is looked at
        if self._first is None:
            return last - now
        if working:
            return self._began + _MOST / 2 - now
        grace = min(max(self._first - self._began, _GRACE), _LONGEST_GRACE)
        return min(last, self._first + grace) - now

    def _is_working(self, upstream: Upstream, now: float) -> bool:
        """Whether the process of a server has used the processor of late, as one that hangs does not, but not much."""
        used = upstream.processor_time
        if used is None:
            return False
        ticks, is_waiting_to_run = used
        if ticks > _MOST_WORK * os.sysconf("SC_CLK_TCK"):
            return False
        before, since = self._processor_time.get(upstream.name, (None, now))
        if ticks != before or is_waiting_to_run:  # on a busy machine, a process may wait for seconds
            since = now
        self._processor_time[upstream.name] = ticks, since
        return now - since < _QUIET
