"""What goes wrong on Claude Code's side, as the errors of this package.

Each of them is also the error pydantic-ai expects of a model where it has one, so that
`FallbackModel` and a caller's own `except ModelAPIError` work.
"""

from __future__ import annotations

import re
from typing import Any

from claude_agent_sdk import CLINotFoundError, ProcessError, ResultError, ResultMessage
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError

from ..errors import (
    ClaudeCodeAPIError,
    ClaudeCodeError,
    ClaudeCodeLimitError,
    ClaudeCodeNotFoundError,
    ClaudeCodeProcessError,
)

# Both parents of these classes take other arguments, so only pydantic-ai's constructor runs and the
# attributes of ours are set beside it; `__reduce__` lets them survive pickle and copy.


class _HTTPError(ClaudeCodeAPIError, ModelHTTPError):
    """The API answered with an error status."""

    def __init__(self, message: str, status_code: int, model_name: str) -> None:
        ModelHTTPError.__init__(self, status_code, model_name, body=message)
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.status_code, self.model_name)

    __str__ = ClaudeCodeAPIError.__str__


class _NoAnswerError(ClaudeCodeAPIError, ModelAPIError):
    """The API could not be reached, or broke off."""

    def __init__(self, message: str, model_name: str) -> None:
        ModelAPIError.__init__(self, model_name, message)
        self.status_code = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.model_name)

    __str__ = ClaudeCodeAPIError.__str__


class _ProcessError(ClaudeCodeProcessError, ModelAPIError):
    """The CLI ended before it answered."""

    def __init__(self, message: str, model_name: str, exit_code: int | None, stderr: str) -> None:
        ModelAPIError.__init__(self, model_name, message)
        self.exit_code = exit_code
        self.stderr = stderr

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.model_name, self.exit_code, self.stderr)

    __str__ = ClaudeCodeProcessError.__str__


_LIMITS = {"error_max_turns": "max_turns", "error_max_budget_usd": "max_budget_usd"}


def failed_result(result: ResultMessage, model_name: str) -> ClaudeCodeError:
    """Why a run ended with this result."""
    said = result.result or "; ".join(result.errors or []) or result.subtype
    if limit := _LIMITS.get(result.subtype):
        return ClaudeCodeLimitError(limit, said if said != result.subtype else "")
    return api_failure(said, result.api_error_status, model_name)


def api_failure(said: str, status: int | None, model_name: str) -> ClaudeCodeError:
    """An API failure; the status may stand only in the words."""
    if status is None and (found := re.search(r"\bAPI Error:? (\d{3})\b", said)):
        status = int(found[1])
    return _HTTPError(said, status, model_name) if status is not None else _NoAnswerError(said, model_name)


def failed_process(error: BaseException | None, model_name: str, stderr: str) -> ClaudeCodeError:
    """Why the CLI is gone; `None` means that its output ended without a word."""
    match error:
        case CLINotFoundError():
            return ClaudeCodeNotFoundError(str(error).rpartition(": ")[2])
        case ResultError():
            return api_failure(
                error.result or "; ".join(error.errors) or str(error), error.api_error_status, model_name
            )
        case ProcessError():
            return _ProcessError("The Claude Code CLI ended", model_name, error.exit_code, stderr)
        case None:
            return _ProcessError("The Claude Code CLI ended before it answered", model_name, None, stderr)
        case _:
            said = f"The Claude Code CLI failed: {type(error).__name__}: {error}".rstrip(".")
            return _ProcessError(said, model_name, None, stderr)
