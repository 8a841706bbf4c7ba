"""Error results for calls of tools whose server is lost."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

from ...common.closed_sessions import is_closed_session
from ...tool import Tool, ToolResult
from ..answers.texts import Wording

__all__ = ["is_lost_connection", "is_refusal", "reporting_lost_connections"]

logger = logging.getLogger("hikidashi")

# By name: which of these libraries is installed depends on the tools, and none is imported here.
_LOST = frozenset(
    {
        "builtins.ConnectionError",
        "anyio.BrokenResourceError",
        "anyio.ClosedResourceError",
        "anyio.EndOfStream",
        "httpx.TransportError",
        "httpx2.TransportError",
    }
)


def is_lost_connection(error: BaseException) -> bool:
    """Whether `error` means that the connection to a server is lost, not that the call failed."""
    if any(_is_lost(kind) for kind in type(error).__mro__):
        return True
    is_closed = is_closed_session(getattr(error, "code", None), getattr(error, "message", None))
    if is_closed and type(error).__module__.startswith("mcp"):
        return True
    if not isinstance(error, BaseExceptionGroup):
        return False
    return all(map(is_lost_connection, cast("BaseExceptionGroup[BaseException]", error).exceptions))


def is_refusal(error: BaseException) -> bool:
    """Whether a server answered a call with an error of the protocol, such as that it has no such tool."""
    return any(kind.__name__ == "MCPError" and kind.__module__.startswith("mcp") for kind in type(error).__mro__)


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


def _is_lost(kind: type) -> bool:
    package = kind.__module__.partition(".")[0]
    return f"{package}.{kind.__name__}" in _LOST
