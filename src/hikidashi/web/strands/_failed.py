"""Strands tools that report failures: a `FailedText` becomes a result with the status `error`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, ParamSpec, TypeVar

from ...errors import MissingExtra

try:
    from strands.tools.decorator import DecoratedFunctionTool
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

__all__ = ["FailedText", "reporting_failures"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class FailedText(str):
    """The text of a failed call, with the reason for people and logs; equal to the same text without a reason."""

    reason: str
    """Why the call failed; empty if the text says it."""

    def __new__(cls, text: str, reason: str = "") -> FailedText:
        failed = super().__new__(cls, text)
        failed.reason = reason
        return failed


class _ReportingTool(DecoratedFunctionTool[_P, _R]):
    def __init__(self, made: DecoratedFunctionTool[_P, _R]) -> None:
        vars(self).update(vars(made))

    async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any) -> AsyncGenerator[Any]:
        """The events of the tool; a result with a `FailedText` gets the status `error`."""
        async for event in super().stream(tool_use, invocation_state, **kwargs):
            result: Any = getattr(event, "tool_result", None)
            if result and any(isinstance(block.get("text"), FailedText) for block in result["content"]):
                result["status"] = "error"
            yield event


def reporting_failures(made: DecoratedFunctionTool[_P, _R]) -> DecoratedFunctionTool[_P, _R]:
    """The same tool, whose result has the status `error` when its function returns a `FailedText`.

    Called as a function, it still returns the text.
    """
    return _ReportingTool(made)
