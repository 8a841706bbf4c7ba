"""Calls of an agent's tools that pydantic-ai does not run itself: its capabilities are notified of them here.

The in-process MCP server of Claude Code runs such tools. The hooks of a capability around a call do not run there.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..errors import MissingExtra

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.tools import RunContext, ToolDefinition
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

__all__ = ["CallListener", "call_listeners"]


@runtime_checkable
class CallListener(Protocol):
    """A capability that is notified of calls which pydantic-ai does not run."""

    def tool_called(self, tool: ToolDefinition) -> None:
        """`tool` is about to run."""
        ...


def call_listeners(run: RunContext[Any] | None) -> list[CallListener]:
    """The capabilities of a run that are notified of calls."""
    found: list[CallListener] = []

    def visit(capability: AbstractCapability[Any]) -> None:
        if isinstance(capability, CallListener):
            found.append(capability)

    if run is not None and run.root_capability is not None:
        run.root_capability.apply(visit)
    return found
