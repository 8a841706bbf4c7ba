"""Strands tools whose failures are known as failures: the text stays, the status of the result is `error`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, ParamSpec, TypeVar

from ...errors import MissingExtra

try:
    from strands.tools.decorator import DecoratedFunctionTool
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

__all__ = ["FailedText", "Failure", "reporting_failures"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class FailedText(str):
    """The text a tool answers with when it failed; equal to the same text without the `reason`."""

    reason: str
    """Why, for a person or a log; empty where the text says it all."""

    def __new__(cls, text: str, reason: str = "") -> FailedText:
        failed = super().__new__(cls, text)
        failed.reason = reason
        return failed


class Failure:
    """A call that failed, before it is known in which words the tool says so."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def told(self, text: str) -> FailedText:
        """The answer of the tool."""
        return FailedText(text, self._reason)


class _ReportingTool(DecoratedFunctionTool[_P, _R]):
    def __init__(self, made: DecoratedFunctionTool[_P, _R]) -> None:
        vars(self).update(vars(made))

    async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any) -> AsyncGenerator[Any]:
        """What the tool yields; the result of a call that answered with a `FailedText` has the status `error`."""
        async for event in super().stream(tool_use, invocation_state, **kwargs):
            result: Any = getattr(event, "tool_result", None)
            if result and any(isinstance(block.get("text"), FailedText) for block in result["content"]):
                result["status"] = "error"
            yield event


def reporting_failures(made: DecoratedFunctionTool[_P, _R]) -> DecoratedFunctionTool[_P, _R]:
    """The same tool; where its function returns a `FailedText`, the result has the status `error`.

    Called as a function it returns the text itself.
    """
    return _ReportingTool(made)
