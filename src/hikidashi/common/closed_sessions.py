"""How the `mcp` package says that a session ended before a request was answered.

The code alone does not tell: -32000 is also what many servers give to errors of their own.
"""

from __future__ import annotations

__all__ = ["is_closed_session"]

_CODE = -32000
_MESSAGES = frozenset(
    {
        "Connection closed",
        "SSE stream ended without a response",
        "SSE stream ended and reconnection attempts were exhausted",
    }
)


def is_closed_session(code: object, message: object) -> bool:
    """Whether an `mcp.MCPError` with this code and message is of the package, and not of the server."""
    return code == _CODE and message in _MESSAGES
