"""Tools that are out of reach for now: not in a catalogue, so that nobody finds them, and not forgotten either.

Whoever follows live servers says here which tools a server had when it was lost. A search that one of them would have
answered says so, instead of letting a model believe that there is no such tool.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

from ...errors import ToolSearchError
from ..catalog import MAX_LIMIT, ToolCatalog

__all__ = ["Unreachable", "unreachable_of"]


class Unreachable:
    """The tools of lost servers, by server."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._by_server: dict[str, ToolCatalog] = {}

    def lost(self, server: str, tools: Iterable[Any]) -> None:
        """Remember the tools of a server that does not answer, in the place of what was known of it."""
        catalog = ToolCatalog(tools, limit_tools=2**62)
        with self._lock:
            self._by_server[server] = catalog

    def back(self, server: str) -> None:
        """Forget a server, which answers again or is not wanted any more."""
        with self._lock:
            self._by_server.pop(server, None)

    @property
    def servers(self) -> list[str]:
        """The servers that do not answer."""
        with self._lock:
            return list(self._by_server)

    def __contains__(self, name: object) -> bool:
        return any(name in catalog for catalog in self._catalogs())

    def matching(self, query: str, *, regex: bool, limit: int) -> tuple[str, ...]:
        """The names of tools that `query` would have found, had their servers answered."""
        names: list[str] = []
        for catalog in self._catalogs():
            try:
                matches = (catalog.search_regex if regex else catalog.search)(query, limit=min(limit, MAX_LIMIT))
            except ToolSearchError:  # the query is at fault, or the server had no tools
                continue
            names += [match.name for match in matches if match.confident]
        return tuple(names[:limit])

    def _catalogs(self) -> list[ToolCatalog]:
        with self._lock:
            return list(self._by_server.values())


_OF_CATALOG: WeakKeyDictionary[ToolCatalog, Unreachable] = WeakKeyDictionary()
_LOCK = RLock()


def unreachable_of(catalog: ToolCatalog) -> Unreachable:
    """What `catalog` lacks for now."""
    with _LOCK:
        return _OF_CATALOG.setdefault(catalog, Unreachable())
