"""The first listing of each server: from the cache, or waited for so long that no server delays the others."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import anyio

from ..common.files import private_folder, replace_file
from ..servers.config import McpServer
from .upstream.listing import Listing
from .upstream.processes import Starts, Work, work_of_groups
from .upstream.upstream import Upstream

logger = logging.getLogger("hikidashi.gateway")

_VERSION = 1


class ListingCache:
    """Cached listings in a folder that only its owner can read; one file per server configuration."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, server: McpServer) -> Listing | None:
        """The cached listing of `server`; None if there is none, or it cannot be read."""
        try:
            kept = json.loads(self._path(server).read_text(encoding="utf-8"))
            return Listing.from_json(kept["listing"]) if kept["version"] == _VERSION else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def write(self, server: McpServer, listing: Listing) -> None:
        """Cache the listing of `server`; if that fails, only the next start is slower."""
        text = json.dumps({"version": _VERSION, "listing": listing.to_json()}, ensure_ascii=True)
        try:
            private_folder(self._folder)
            replace_file(self._path(server), text.encode(), private=True)
        except OSError as error:
            logger.warning("the tools of MCP server %r are not kept for the next start: %s", server.name, error)

    def forget(self, server: McpServer) -> None:
        """Delete the cached listing of `server`."""
        with suppress(OSError):
            self._path(server).unlink()

    def _path(self, server: McpServer) -> Path:
        # A digest, since the configuration may hold secrets; another key may mean other tools.
        identity = json.dumps(
            [
                server.transport,
                server.command,
                server.args,
                sorted(server.env.items()),
                server.cwd,
                server.url,
                sorted(server.headers.items()),
            ]
        )
        return self._folder / f"{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


_MOST = 10.0  # seconds from the start of the gateway
_GRACE = 0.5  # seconds from the start of the gateway for every server; most take longer
_SLOWER = 2.0  # times what the first server took: so long the others may work on their start
_LEAST = 2.0  # seconds for that, where the first was fast
_UNSEEN_GRACE = 0.5, 2.0  # seconds after the first server for a process that cannot be seen: not on Linux
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
        """When the first server was listed."""
        self._is_complete = any(one.listing is not None for one in upstreams)
        """Whether nothing is waited for any more: one is known from an earlier process, or those that start are."""
        self._changed = anyio.Event()
        self._starts = Starts()
        self._work: dict[int, Work] | None = {}
        self._looked = -math.inf

    async def follow(self) -> None:
        """Follow the start of the servers, which begins now, until no other is waited for."""
        self.begin(anyio.current_time())
        while not self._is_complete:
            now = anyio.current_time()
            self._look(now)
            self._is_complete = self.is_over(now)
            if not self._is_complete:
                with anyio.move_on_after(_POLL):
                    await self._changed.wait()
        self.changed()

    def begin(self, now: float) -> None:
        """The servers are started now."""
        self._began = now

    def changed(self) -> None:
        """Wake the requests that wait: the state of a server has changed."""
        self._changed.set()
        self._changed = anyio.Event()

    def one_listed(self, upstream: Upstream, now: float) -> None:
        """A server has been listed."""
        self.changed()
        if self._is_complete:
            return
        if self._first is None:
            self._first = now
        if upstream.group is not None and (work := (work_of_groups([upstream.group]) or {}).get(upstream.group)):
            self._starts.has_listed(work)

    async def wait(
        self, is_enough: Callable[[], bool] = lambda: False, *, is_urgent: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait for the servers that start as fast as the others.

        Known listings are not held back. Where none is known, the first server that is listed is waited for. Others
        have half a second from the start of the gateway, and twice the time of the first, two seconds at least, while
        their processes visibly work on their start; time that these had to wait for a processor is not counted. What
        comes later is announced as a change: clients do not declare whether they list again then, so a first list has
        those that start normally.

        Args:
            is_enough: Whether no other server is needed any more.
            is_urgent: Whether an answer without any of them has its use: then the first, too, is only waited for while
                it visibly works on its start, and two seconds.
        """
        while not (self._is_complete or is_enough() or (is_urgent() and self._is_idle(anyio.current_time()))):
            with anyio.move_on_after(_POLL):
                await self._changed.wait()

    def _is_idle(self, now: float) -> bool:
        """Whether after two seconds no server has been listed, and none visibly works on its start."""
        if self._first is not None or now < self._began + _LEAST:
            return False
        return not any(self._is_starting(one, now, now) for one in self._missing())

    async def wait_until(self, is_known: Callable[[], bool], may_be_of: Callable[[str], bool] = lambda _: True) -> None:
        """Wait for something of a single server, at most ten seconds from the start of the gateway.

        Args:
            is_known: Whether a server is known to have it.
            may_be_of: Whether a server that is still starting may have it, by its name; others are not waited for.
        """
        with anyio.move_on_at(self._began + _MOST):
            while not is_known() and any(may_be_of(one.name) for one in self._missing()):
                await self._changed.wait()

    def _missing(self) -> list[Upstream]:
        return [upstream for upstream in self._upstreams if not upstream.listed.is_set()]

    def _look(self, now: float) -> None:
        """Look at the processes of the servers that are missing."""
        if now - self._looked < _POLL:  # a change of a server: what the others did is known
            return
        self._looked = now
        groups = {one.group: one.name for one in self._missing() if one.group is not None}
        self._work = work_of_groups(groups)
        for group, work in (self._work or {}).items():
            self._starts.look(groups[group], work, now)

    def is_over(self, now: float) -> bool:
        """Whether none of the servers that are missing is waited for any more."""
        missing = self._missing()
        if not missing or now >= self._began + _MOST:
            return True
        if self._first is None or now < self._began + _GRACE:
            return False
        return not any(self._is_starting(one, self._first, now) for one in missing)

    def _is_starting(self, upstream: Upstream, first: float, now: float) -> bool:
        """Whether the process of a server that is missing works on its start, and not for too long."""
        if upstream.group is None:
            return False
        took = first - self._began
        if self._work is None:
            shortest, longest = _UNSEEN_GRACE
            return now < first + min(max(took, shortest), longest)
        if (work := self._work.get(upstream.group)) is None:
            return False
        until = self._began + max(took * _SLOWER, _LEAST)
        return self._starts.is_working(upstream.name, work, now, until)
