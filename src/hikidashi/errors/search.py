"""Errors of tool search: queries, catalogues and search logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ._base import HikidashiError

ToolSearchCode = Literal[
    "invalid_tool_input",
    "unavailable",
    "too_many_requests",
    "execution_time_exceeded",
    "invalid_pattern",
    "pattern_too_long",
]
_CODES_OF_2026 = {"invalid_pattern": "invalid_tool_input", "pattern_too_long": "invalid_tool_input"}
_CODES_OF_2025 = {"invalid_tool_input": "invalid_pattern", "execution_time_exceeded": "unavailable"}


class ToolSearchError(HikidashiError, ValueError):
    """A tool search that cannot be answered; `code` is the API's error code, `message` says how to repair it."""

    def __init__(self, code: ToolSearchCode, message: str, position: int | None = None) -> None:
        super().__init__(code, message, position)
        self.code: ToolSearchCode = code
        self.message = message
        self.position = position
        """Position of the error in the pattern, counted from 0; None if it has none."""

    def __str__(self) -> str:
        return self.message

    def wire_code(self, dialect: Literal["2026", "2025"] = "2026") -> str:
        """The code in the API's current spelling, or in that of 2025 (`invalid_pattern`, `pattern_too_long`)."""
        return (_CODES_OF_2026 if dialect == "2026" else _CODES_OF_2025).get(self.code, self.code)


class ToolTurnLimitError(HikidashiError, RuntimeError):
    """A model still called tools after `max_turns` replies; `messages` is the conversation, ready to go on with."""

    def __init__(self, max_turns: int, messages: Sequence[Any] = ()) -> None:
        super().__init__(max_turns, messages)
        self.max_turns = max_turns
        self.messages = list(messages)

    def __str__(self) -> str:
        return (
            f"The model still called tools after {self.max_turns} replies. Raise `max_turns`, or go on with "
            "`messages=error.messages`: every call in it is answered."
        )


class ToolSourceError(HikidashiError, ValueError):
    """Tools cannot be read from `source`: a file, a module or a list of servers."""

    def __init__(self, source: str, reason: str, remedy: str = "", line: int | None = None) -> None:
        super().__init__(source, reason, remedy, line)
        self.source = source
        self.reason = reason
        self.remedy = remedy
        self.line = line
        """Line of the error in the file; None if it has none."""

    def __str__(self) -> str:
        place = f", line {self.line}" if self.line is not None else ""
        return f"{self.source}{place}: {self.reason}." + (f" {self.remedy}" if self.remedy else "")


class SearchLogError(HikidashiError):
    """The search log at `path` cannot be read or written; the file is not changed."""

    def __init__(self, path: str, reason: str, remedy: str = "") -> None:
        super().__init__(path, reason, remedy)
        self.path = path
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The search log {self.path!r} {self.reason}." + (f" {self.remedy}" if self.remedy else "")
