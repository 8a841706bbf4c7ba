"""Errors of the web tools: searching, fetching, reading and indexing."""

from __future__ import annotations

from enum import StrEnum

from ._base import HikidashiError


class ErrorType(StrEnum):
    """The kind of a `TavilyAPIError`; the value is the name, as tools print it."""

    AUTH_ERROR = "AUTH_ERROR"
    """The key is missing, wrong or not allowed to do this: check TAVILY_API_KEY."""
    RATE_LIMIT_ERROR = "RATE_LIMIT_ERROR"
    """Too many requests: wait `retry_after` seconds, if the provider gave a time."""
    VALIDATION_ERROR = "VALIDATION_ERROR"
    """The input cannot be used: the message names it and what is allowed."""
    TIMEOUT_ERROR = "TIMEOUT_ERROR"
    """No answer in time: try again, or raise `timeout`."""
    SERVER_ERROR = "SERVER_ERROR"
    """The provider failed (HTTP 500): try again later."""
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    """The provider is overloaded or down: try again later."""
    NETWORK_ERROR = "NETWORK_ERROR"
    """The provider cannot be reached: check the network, the proxy and `base_url`."""
    API_ERROR = "API_ERROR"
    """Any other refusal, such as a plan without credits left: the message has the provider's own text."""


_WORTH_ANOTHER_TRY = frozenset(
    {
        ErrorType.RATE_LIMIT_ERROR,
        ErrorType.TIMEOUT_ERROR,
        ErrorType.SERVER_ERROR,
        ErrorType.SERVICE_UNAVAILABLE,
        ErrorType.NETWORK_ERROR,
    }
)


class TavilyAPIError(HikidashiError):
    """A web search, extraction or context that failed, with Tavily or any other provider.

    `error_type` is the kind of failure, and so what to do; `is_retryable` says whether to try again.
    """

    def __init__(
        self,
        message: str,
        error_type: ErrorType,
        status_code: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, error_type, status_code, retry_after)
        self.message = message
        self.error_type = ErrorType(error_type)
        self.status_code = status_code
        """The HTTP status; None without a response."""
        self.retry_after = retry_after
        """Seconds the server asked to wait; None if it did not."""

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later: not with a bad key or bad input."""
        return self.error_type in _WORTH_ANOTHER_TRY

    def __str__(self) -> str:
        return self.message


class PageError(TavilyAPIError):
    """The page at `url` could not be fetched or read; `reason` says why."""

    def __init__(
        self,
        url: str,
        reason: str,
        error_type: ErrorType,
        status_code: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{url!r} could not be read: {reason}.", error_type, status_code, retry_after)
        self.args = (url, reason, error_type, status_code, retry_after)
        self.url = url
        self.reason = reason


class FetchRefused(HikidashiError, ValueError):  # noqa: N818 - reads as what it says
    """`url` must not be fetched: its scheme, host, port or address is not allowed.

    To allow a private host, add it to the `allowed_hosts` of a fetcher.
    """

    def __init__(self, url: str, reason: str, code: str = "") -> None:
        super().__init__(url, reason, code)
        self.url = url
        self.reason = reason
        self.code = code
        """The reason as one word, such as `private` or `scheme`; may be empty."""

    def __str__(self) -> str:
        return f"{self.url!r} is not fetched: {self.reason}."


class WebIndexError(HikidashiError):
    """The local index of documents at `path` cannot be read or written; the file is not changed."""

    def __init__(self, path: str, reason: str, remedy: str = "") -> None:
        super().__init__(path, reason, remedy)
        self.path = path
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The web index {self.path!r} {self.reason}." + (f" {self.remedy}" if self.remedy else "")
