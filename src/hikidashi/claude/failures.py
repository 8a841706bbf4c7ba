"""Errors of Claude Code, each both a `ClaudeCodeError` and an error of pydantic-ai.

Each failure that pydantic-ai's own `AnthropicModel` maps has the same pydantic-ai class here, so that
`FallbackModel` and a caller's own `except ModelRateLimitError` work. The CLI reports a status and a
sentence, not the body and headers of the API's answer: `retry_after` is therefore always `None`.
"""

from __future__ import annotations

import re
from typing import Any

from claude_agent_sdk import CLINotFoundError, ProcessError, ResultError, ResultMessage
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
)

from ..errors import (
    ClaudeCodeAPIError,
    ClaudeCodeError,
    ClaudeCodeLimitError,
    ClaudeCodeNotFoundError,
    ClaudeCodeProcessError,
    ClaudeCodeTimeoutError,
)

# Both parents of these classes take other arguments, so only pydantic-ai's constructor runs and the
# attributes of ours are set beside it; `__reduce__` lets them survive pickle and copy.


class _HTTPError(ClaudeCodeAPIError, ModelHTTPError):
    """The API answered with an error status."""

    def __init__(self, message: str, status_code: int, model_name: str) -> None:
        ModelHTTPError.__init__(
            self, status_code, model_name, body=message, provider_error_type=_ERROR_TYPES.get(status_code)
        )
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.status_code, self.model_name)

    __str__ = ClaudeCodeAPIError.__str__


class _AuthenticationError(_HTTPError, ModelAuthenticationError):
    """The API refused the credentials."""


class _NotFoundError(_HTTPError, ModelNotFoundError):
    """The API does not know the model."""


class _RejectedError(_HTTPError, ModelRequestRejectedError):
    """The API refused the request itself."""


class _ContextWindowError(_HTTPError, ModelContextWindowExceededError):
    """The conversation is longer than the model's context window."""

    remedy = (
        "The conversation does not fit the model's context window: shorten the history (a history processor or "
        "a compaction capability), return less from tools, or offer fewer tools."
    )


class _QuotaError(_HTTPError, ModelQuotaExceededError):
    """Credits or quota of the account are used up."""

    remedy = "Waiting does not help: add credits or raise the spending limit of the account."


class _RateLimitError(_HTTPError, ModelRateLimitError):
    """Too many requests or tokens in too short a time."""


class _UnavailableError(_HTTPError, ModelUnavailableError):
    """The service is unavailable."""


class _OverloadedError(_HTTPError, ModelOverloadedError):
    """The service is overloaded."""


class _ServerError(_HTTPError, ModelServerError):
    """The service failed."""


class _NoAnswerError(ClaudeCodeAPIError, ModelAPIError):
    """The API's answer could not be used, and had no error status."""

    def __init__(self, message: str, model_name: str) -> None:
        ModelAPIError.__init__(self, model_name, message)
        self.status_code = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.model_name)

    __str__ = ClaudeCodeAPIError.__str__


class _ConnectionError(_NoAnswerError, ModelConnectionError):
    """The API could not be reached, or broke off."""

    phase = None  # the CLI does not say at which stage


class _ConnectionTimeoutError(_ConnectionError, ModelTimeoutError):
    """The API did not answer the CLI in time."""


class DeadlineError(ClaudeCodeTimeoutError, ModelTimeoutError):
    """The CLI did not answer before the deadline of the request."""

    def __init__(self, seconds: float, waiting_for: str, model_name: str) -> None:
        ModelTimeoutError.__init__(self, model_name, "")
        self.seconds = seconds
        self.waiting_for = waiting_for
        self.message = str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.seconds, self.waiting_for, self.model_name)

    __str__ = ClaudeCodeTimeoutError.__str__


class _MissingCLIError(ClaudeCodeNotFoundError, ModelAPIError):
    """The CLI was not found."""

    def __init__(self, path: str, model_name: str) -> None:
        ModelAPIError.__init__(self, model_name, "")
        self.path = path
        self.message = str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.model_name)

    __str__ = ClaudeCodeNotFoundError.__str__


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

# https://platform.claude.com/docs/en/api/errors#http-errors
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_STATUS_ERRORS: dict[int, type[_HTTPError]] = {
    400: _RejectedError,
    401: _AuthenticationError,
    402: _QuotaError,
    403: _AuthenticationError,
    404: _NotFoundError,
    422: _RejectedError,
    429: _RateLimitError,
    503: _UnavailableError,
    529: _OverloadedError,
}
_TIMED_OUT = re.compile(r"timed[ -]?out|timeout", re.IGNORECASE)
_NOT_CONNECTED = re.compile(r"(?i:connect|network|socket|fetch failed)|\bE[A-Z]{4,}\b")


def failed_result(result: ResultMessage, model_name: str) -> ClaudeCodeError:
    """The error for a result that is one."""
    message = result.result or "; ".join(result.errors or []) or result.subtype
    if limit := _LIMITS.get(result.subtype):
        return ClaudeCodeLimitError(limit, message if message != result.subtype else "")
    return api_failure(message, result.api_error_status, model_name)


def api_failure(message: str, status: int | None, model_name: str) -> ClaudeCodeError:
    """The error of the API; the status may be only in the message."""
    if status is None and (found := re.search(r"\bAPI Error:? (\d{3})\b", message)):
        status = int(found[1])
    if status is not None:
        return _http_error(message, status)(message, status, model_name)
    if _TIMED_OUT.search(message):
        return _ConnectionTimeoutError(message, model_name)
    return (_ConnectionError if _NOT_CONNECTED.search(message) else _NoAnswerError)(message, model_name)


def failed_process(error: BaseException | None, model_name: str, stderr: str) -> ClaudeCodeError:
    """The error for a CLI that ended; `None` is the end of its output."""
    match error:
        case CLINotFoundError():
            return _MissingCLIError(str(error).rpartition(": ")[2], model_name)
        case ResultError():
            return api_failure(
                error.result or "; ".join(error.errors) or str(error), error.api_error_status, model_name
            )
        case ProcessError():
            return _ProcessError("The Claude Code CLI ended", model_name, error.exit_code, stderr)
        case None:
            return _ProcessError("The Claude Code CLI ended before it answered", model_name, None, stderr)
        case _:
            message = f"The Claude Code CLI failed: {type(error).__name__}: {error}".rstrip(".")
            return _ProcessError(message, model_name, None, stderr)


def _http_error(message: str, status: int) -> type[_HTTPError]:
    words = message.lower()
    if status == 400 and "prompt is too long" in words:
        return _ContextWindowError
    if status == 400 and "credit balance is too low" in words:
        return _QuotaError
    if status == 503 and ("overloaded" in words or "over capacity" in words):
        return _OverloadedError
    return _STATUS_ERRORS.get(status, _ServerError if 500 <= status < 600 else _HTTPError)
