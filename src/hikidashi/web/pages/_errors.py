"""Errors for pages that could not be fetched or read."""

from __future__ import annotations

from ...errors import ErrorType, PageError
from ..messages import reason

__all__ = ["page_error", "status_error"]

_TYPES: dict[str, ErrorType] = {
    "unresolved": ErrorType.NETWORK_ERROR,
    "unreachable": ErrorType.NETWORK_ERROR,
    "tls": ErrorType.NETWORK_ERROR,
    "protocol": ErrorType.NETWORK_ERROR,
    "timeout": ErrorType.TIMEOUT_ERROR,
}


def page_error(url: str, code: str, **values: object) -> PageError:
    """A `PageError` for `url` with the reason `code`."""
    return PageError(url, reason(code, **values), _TYPES.get(code, ErrorType.API_ERROR))


def status_error(url: str, status: int, retry_after: float | None = None) -> PageError:
    """A `PageError` for `url`, whose server responded with `status`."""
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
        case _:  # 401 and 403 too: the page requires a login, which is not an AUTH_ERROR of a search API
            return ErrorType.API_ERROR
