"""The failure of one page: an error for those who asked for it alone, a reason for those who list many."""

from __future__ import annotations

from typing import Self

from ..errors import ErrorType, TavilyAPIError
from .reasons import ReasonCode, reason

__all__ = ["PageError"]

_TYPES: dict[ReasonCode, ErrorType] = {
    "unresolved": ErrorType.NETWORK_ERROR,
    "unreachable": ErrorType.NETWORK_ERROR,
    "tls": ErrorType.NETWORK_ERROR,
    "protocol": ErrorType.NETWORK_ERROR,
    "timeout": ErrorType.TIMEOUT_ERROR,
}


class PageError(TavilyAPIError):
    """The page at `url` could not be fetched or read; `reason` says why and fits the failed section."""

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

    @classmethod
    def because(cls, url: str, code: ReasonCode, **values: object) -> Self:
        """The failure of `url` for a reason of the table."""
        return cls(url, reason(code, **values), _TYPES.get(code, ErrorType.API_ERROR))

    @classmethod
    def of_status(cls, url: str, status: int, retry_after: float | None = None) -> Self:
        """The failure of `url` when its server answered `status`."""
        return cls(url, reason("status", status=status), _type_of_status(status), status, retry_after)


def _type_of_status(status: int) -> ErrorType:
    match status:
        case 429:
            return ErrorType.RATE_LIMIT_ERROR
        case 408 | 504:
            return ErrorType.TIMEOUT_ERROR
        case 503:
            return ErrorType.SERVICE_UNAVAILABLE
        case int() if status >= 500:
            return ErrorType.SERVER_ERROR
        case _:  # also 401 and 403: it is the page that asks for a login, not a search API for its key
            return ErrorType.API_ERROR
