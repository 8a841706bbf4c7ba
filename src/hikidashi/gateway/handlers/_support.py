"""What the request handlers of the gateway share."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import mcp_types as types
from mcp import MCPError
from mcp.server import ServerRequestContext

from ...errors import ServerUnavailableError

__all__ = ["Context", "raw_meta", "refuse_cursor", "unavailable_as_mcp_error"]

Context = ServerRequestContext[Any, Any]


def raw_meta(ctx: Context) -> dict[str, Any] | None:
    """The `_meta` of a request as it was sent."""
    meta = (ctx.params or {}).get("_meta")
    return cast("dict[str, Any]", meta) if isinstance(meta, dict) else None


def refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    """Raise for a cursor: the gateway lists everything on one page.

    Raises:
        MCPError: `params` has a cursor.
    """
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown cursor {params.cursor!r}: the list has a single page.")


@contextmanager
def unavailable_as_mcp_error() -> Generator[None]:
    """Raise `ServerUnavailableError` as the protocol error that a client gets."""
    try:
        yield
    except ServerUnavailableError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
