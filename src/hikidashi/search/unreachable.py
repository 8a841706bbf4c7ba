"""Tools of lost servers: not in the catalogue, so that no search finds them, but remembered.

`LiveServers` records here which tools a server had when it was lost. A search that matches one of them says so, so that
the model does not conclude that there is no such tool.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

from ..errors import ToolSearchError
from ..servers.failure import is_lost_connection
from ..tool import Tool, ToolResult
from .answers.texts import Wording
from .catalog import MAX_LIMIT, ToolCatalog

__all__ = ["Unreachable", "reporting_lost_connections", "unreachable_of"]

logger = logging.getLogger("hikidashi")


class Unreachable:
    """The tools of lost servers, by server."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._by_server: dict[str, ToolCatalog] = {}

    def lost(self, server: str, tools: Iterable[Any]) -> None:
        """Remember the tools of a server that was lost."""
        catalog = ToolCatalog(tools, limit_tools=2**62)
        with self._lock:
            self._by_server[server] = catalog

    def back(self, server: str) -> None:
        """Forget a server that answers again or is no longer followed."""
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
        """The names of lost tools that match `query`."""
        names: list[str] = []
        for catalog in self._catalogs():
            try:
                matches = (catalog.search_regex if regex else catalog.search)(query, limit=min(limit, MAX_LIMIT))
            except ToolSearchError:  # an invalid query, or a server without tools
                continue
            names += [match.name for match in matches if match.confident]
        return tuple(names[:limit])

    def _catalogs(self) -> list[ToolCatalog]:
        with self._lock:
            return list(self._by_server.values())


_OF_CATALOG: WeakKeyDictionary[ToolCatalog, Unreachable] = WeakKeyDictionary()
_LOCK = RLock()


def unreachable_of(catalog: ToolCatalog) -> Unreachable:
    """The lost tools of `catalog`."""
    with _LOCK:
        return _OF_CATALOG.setdefault(catalog, Unreachable())


def reporting_lost_connections(tool: Tool, words: Wording) -> Tool:
    """`tool` with an error result for the model in place of an exception when its server is lost."""

    async def call(arguments: dict[str, Any]) -> ToolResult:
        try:
            return await tool.call(arguments)
        except Exception as error:
            if not is_lost_connection(error):
                raise
            logger.warning("tool %r was not called: %s", tool.name, error)
            return ToolResult.error(words.unreachable(tool.name))

    return replace(tool, call=call)
