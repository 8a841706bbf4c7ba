"""The log level of each client: set by `logging/setLevel`, or by each request since 2026-07-28."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, cast

import mcp_types as types
from mcp.server import ServerRequestContext

from ..upstream.requests.stamping import LEVELS
from .callers import client_key, is_modern

__all__ = ["LogLevels"]

_UNLESS_SET: types.LoggingLevel = "info"
_MOST_CLIENTS = 1_024


class LogLevels:
    """The log levels that clients have set."""

    def __init__(self) -> None:
        self._set: OrderedDict[str, types.LoggingLevel] = OrderedDict()

    def set(self, client: str, level: types.LoggingLevel) -> None:
        """Remember the level of a client up to 2025-11-25."""
        self._set[client] = level
        self._set.move_to_end(client)
        while len(self._set) > _MOST_CLIENTS:
            self._set.popitem(last=False)

    def of_client(self, client: str) -> types.LoggingLevel:
        """The level of a client up to 2025-11-25; `info` unless it set one."""
        return self._set.get(client, _UNLESS_SET)

    def of(self, ctx: ServerRequestContext[Any, Any]) -> types.LoggingLevel | None:
        """The minimum level of log messages during this request; None for no messages."""
        if not is_modern(ctx):
            return self.of_client(client_key(ctx))
        level = cast("dict[str, Any]", ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
        return level if level in LEVELS else None
