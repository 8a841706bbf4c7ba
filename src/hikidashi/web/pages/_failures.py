"""The failure of one page: an error for those who asked for it alone, a reason for those who list many."""

from __future__ import annotations

from ...errors import ErrorType, PageError
from .reasons import ReasonCode, reason

__all__ = ["because", "of_status"]

_TYPES: dict[ReasonCode, ErrorType] = {
    "unresolved": ErrorType.NETWORK_ERROR,
    "unreachable": ErrorType.NETWORK_ERROR,
    "tls": ErrorType.NETWORK_ERROR,
    "protocol": ErrorType.NETWORK_ERROR,
    "timeout": ErrorType.TIMEOUT_ERROR,
}


def because(url: str, code: ReasonCode, **values: object) -> PageError:
    """The failure of `url` for a reason of the table."""
    return PageError(url, reason(code, **values), _TYPES.get(code, ErrorType.API_ERROR))


def of_status(url: str, status: int, retry_after: float | None = None) -> PageError:
    """The failure of `url` when its server answered `status`."""
    return PageError(url, reason("status", status=status), _type_of_status(status), status, retry_after)


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
