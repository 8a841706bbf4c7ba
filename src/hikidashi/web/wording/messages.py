"""Error messages and notes of the web tools, in every language at once.

`TABLES` has one table per language. A new language is one more table here, in `Language`, and in each other package
that has texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from ...common.language import Language, LocalizedText, localized
from ...errors import ErrorType, TavilyAPIError
from . import _en, _ja

__all__ = ["TABLES", "api_error", "check_language", "message", "texts", "validation_error", "wait_message"]

TABLES: dict[Language, Mapping[str, str]] = {"en": _en.TEXTS, "ja": _ja.TEXTS}

_MINUTE, _HOUR, _DAY = 60, 60 * 60, 24 * 60 * 60
_LONGEST_WAIT = 31 * _DAY


def texts(language: Language) -> Mapping[str, str]:
    """The texts in `language`, by key.

    Raises:
        ValueError: there is no such language.
    """
    if not isinstance(language, str) or language not in TABLES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"`language` is {language!r}: use {' or '.join(map(repr, TABLES))}.")
    return TABLES[language]


def check_language(language: Language) -> Language:
    """`language`, if there are texts in it.

    Raises:
        ValueError: there is no such language.
    """
    texts(language)
    return language


def message(key: str, default: Language = "ja", /, **values: object) -> LocalizedText:
    """The text `key` with `values` filled in; in Japanese, the language of spec 000, unless another is chosen."""
    return localized({language: table[key] for language, table in TABLES.items()}, default, **values)


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
