"""Answers of servers that are not JSON-RPC: the request gets an error instead of waiting for ever."""

from __future__ import annotations

import json
from typing import Any, cast

from ...errors import MissingExtra

try:
    from mcp import types
    from mcp.shared.message import SessionMessage
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["error_for"]

_KINDS: tuple[tuple[type, str], ...] = ((dict, "an object"), (list, "a list"), (str, "a text"), (bool, "a truth value"))


def error_for(line: str) -> SessionMessage | None:
    """The error that stands for a malformed answer; None where `line` does not say what it answers."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "method" in value:
        return None
    answer = cast("dict[str, Any]", value)
    id_ = answer.get("id")
    if not isinstance(id_, str | int) or isinstance(id_, bool):
        return None
    shown = ", ".join(f"`{key}` is {_kind(answer[key])}" for key in ("result", "error") if key in answer)
    failure = types.ErrorData(
        code=types.INTERNAL_ERROR,
        message=f"The server sent no valid answer: {shown or 'it has neither `result` nor `error`'}.",
    )
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id_, error=failure))


def _kind(value: object) -> str:
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "null" if value is None else "a number"
