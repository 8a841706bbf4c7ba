"""The end of a connection to a server, with its reason."""

from __future__ import annotations

from typing import cast

import mcp_types as types
from mcp import MCPError

__all__ = ["ConnectionLost", "NotSent", "lost_in"]


class ConnectionLost(Exception):  # noqa: N818 - it ends a connection, which is not always an error
    """The connection ends for `reason`; `failed` is False where the gateway ended it on purpose."""

    def __init__(self, reason: str, *, failed: bool = True, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.failed = failed
        self.remedy = remedy


class NotSent(MCPError):  # noqa: N818 - its base class has no such suffix
    """The server could not be connected to for `reason`, so that a request was not carried out."""

    def __init__(self, reason: str) -> None:
        super().__init__(types.CONNECTION_CLOSED, f"Connection closed: {reason}")


def lost_in(error: BaseException) -> ConnectionLost | None:
    """The first `ConnectionLost` in `error`, which may be a group of exceptions."""
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return next(filter(None, map(lost_in, inner)), None)
    return error if isinstance(error, ConnectionLost) else None
