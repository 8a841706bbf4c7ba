"""Limits of a catalogue: number of tools, length of a query or pattern, number of results."""

from __future__ import annotations

from math import isnan, nan
from numbers import Real
from typing import Any

from ...errors import ToolSearchError
from .analyzer import visible
from .patterns import MAX_PATTERN

__all__ = [
    "MAX_LIMIT",
    "MAX_QUERY",
    "MAX_TOOLS",
    "SELECT",
    "check_count",
    "check_limit",
    "checked_pattern",
    "checked_query",
    "checked_question",
    "checked_seconds",
    "full",
]

MAX_TOOLS = 10_000
MAX_QUERY = 500
MAX_LIMIT = 50
SELECT = "select:"
"""What a list of names begins with."""
_MAX_SELECT = 10_000
"""The maximum length of a query that lists names: 50 of 128 characters, which some servers use, and more."""
_LONGEST_WAIT = 1e9  # seconds: systems refuse to wait for some thousand times as long


def checked_question(query: object, most: int) -> str:
    """As `checked_query`, but a list of names (`select:a,b`) may be longer than a question."""
    is_list = isinstance(query, str) and query.lstrip().startswith(SELECT)
    return checked_query(query, max(most, _MAX_SELECT) if is_list else most)


def checked_query(query: object, most: int) -> str:
    """`query` without invisible characters and surrounding space.

    Raises:
        ToolSearchError: it is not text, is empty, or has more than `most` characters.
    """
    text = _checked_text("query", query)
    seen = visible(text).strip()
    if not seen:
        raise ToolSearchError("invalid_tool_input", "The query is empty. Say in a few words what the tool should do.")
    if len(text) > most:
        raise ToolSearchError(
            "invalid_tool_input",
            f"The query has {len(text)} characters, and the limit is {most}. "
            "Ask for one action in a few words, or search once per action.",
        )
    return seen


def checked_pattern(pattern: object) -> str:
    """`pattern` without invisible characters.

    Raises:
        ToolSearchError: it is not text, is empty, or is too long.
    """
    text = _checked_text("pattern", pattern)
    if len(text) > MAX_PATTERN:
        raise ToolSearchError(
            "pattern_too_long",
            f"The pattern has {len(text)} characters, and the limit is {MAX_PATTERN}. "
            "Use the rarest part of it, or search by words.",
        )
    seen = visible(text)
    if not seen:
        raise ToolSearchError("invalid_pattern", "The pattern is empty. Write a part of a name or description.")
    return seen


def check_limit(limit: object, tools: int) -> None:
    """Raise unless a catalogue with `tools` tools can be asked for `limit` results.

    Raises:
        ToolSearchError: `limit` is out of range, or there are no tools.
    """
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise ToolSearchError(
            "invalid_tool_input", f"`limit` is {limit!r}: use a whole number from 1 to {MAX_LIMIT}; 5 is usual."
        )
    if not tools:
        raise ToolSearchError("unavailable", "The catalogue is empty. Add tools to it first.")


def check_count(option: str, value: object) -> int:
    """`value`, a limit of a catalogue.

    Raises:
        ToolSearchError: it is not a whole number of at least 0.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ToolSearchError("invalid_tool_input", f"`{option}` is {value!r:.100}: use a whole number from 0 on.")
    return value


def checked_seconds(option: str, value: object) -> float | None:
    """`value`, how long to wait at most: None for no maximum, and not at all for less than 0.

    Raises:
        ToolSearchError: it is not a number.
    """
    if value is None:
        return None
    given: Any = value
    seconds = nan if isinstance(given, bool) or not isinstance(given, Real) else float(min(given, _LONGEST_WAIT))
    if isnan(seconds):
        raise ToolSearchError(
            "invalid_tool_input", f"`{option}` is {value!r:.100}: use a number of seconds, or None for no maximum."
        )
    return seconds


def full(most: int, why: str) -> ToolSearchError:
    """The error for more tools than `limit_tools`."""
    return ToolSearchError(
        "invalid_tool_input",
        f"The catalogue takes {most} tools, and {why}. Pass a higher `limit_tools`, or split the catalogue.",
    )


def _checked_text(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise ToolSearchError("invalid_tool_input", f"`{name}` is {text!r}: it must be text.")
    return text
