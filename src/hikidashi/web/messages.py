"""Errors and reasons of the web tools, as codes and values: the text is made where it is shown, in its language."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from ..errors import ErrorType, TavilyAPIError
from ..texts import LocalizedText, localized

_MINUTE, _HOUR, _DAY = 60, 60 * 60, 24 * 60 * 60
_LONGEST_WAIT = 31 * _DAY


def message(key: str, /, **values: object) -> LocalizedText:
    """The text `key` with `values`; in Japanese, the language of spec 000, unless another is chosen."""
    return localized("web", key, "ja", **values)


def reason(code: str, /, **values: object) -> LocalizedText:
    """Why a page could not be read; in English unless another language is chosen.

    It fits after a colon and ends without a full stop.
    """
    return localized("web", f"reason.{code}", "en", **values)


def api_error(
    key: str,
    error_type: ErrorType,
    status_code: int | None = None,
    retry_after: float | None = None,
    /,
    **values: object,
) -> TavilyAPIError:
    """A `TavilyAPIError` with the message `key`."""
    return TavilyAPIError(message(key, **values), error_type, status_code, retry_after)


def validation_error(key: str, /, **values: object) -> TavilyAPIError:
    """A VALIDATION_ERROR with the message `key`."""
    return api_error(key, ErrorType.VALIDATION_ERROR, **values)


def wait_message(seconds: float | None, *, now: datetime | None = None) -> str:
    """When to try again, in seconds, minutes, hours or as a date; empty if unknown.

    A wait of more than a month is taken as an error of the service, and counts as unknown.
    """
    if seconds is None or not 0 <= seconds <= _LONGEST_WAIT:
        return ""
    if seconds < 2 * _MINUTE:
        return message("wait", seconds=math.ceil(seconds) if seconds >= 10 else round(seconds, 1))
    if seconds < 2 * _HOUR:
        return message("wait_minutes", count=math.ceil(seconds / _MINUTE))
    if seconds < 2 * _DAY:
        return message("wait_hours", count=math.ceil(seconds / _HOUR))
    moment = (now or datetime.now(UTC)) + timedelta(seconds=seconds)
    return message("wait_until", date=moment.date().isoformat())
