"""Rules for the values of config keys, and the errors for values that break them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any, get_args

from ..common.json import is_mapping, is_sequence
from ..common.urls import split_base_url

RULE = "rule"
"""The metadata key of a rule: `field(default=5, metadata=number(1, 20))`."""

_LARGEST = 10**18
_KEY = re.compile(r"(?:sk|tvly|xapp|xox[a-z])-")
_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The rule for the values of one key."""

    allowed: str | Callable[[], str]
    """The remedy for a wrong value: a sentence, or a function that returns it."""
    fault: Callable[[object], str]
    """What is wrong with a value, in a few words; empty if nothing is."""
    read: Callable[[str], object] = field(default=lambda text: text)
    """Parses the text of an environment variable; returns the text itself if it cannot be parsed."""
    secret: bool = False
    """Whether it is a key or token; one whose variable is not set counts as absent."""
    shown: bool = True
    """Whether an error may show the value."""
    raw: bool = False
    """Whether `${VARIABLE}` is left unexpanded for the code that uses the value."""
    convert: Callable[[Any], Any] = field(default=lambda value: value)
    """Makes the value of the section from a value that the rule allows."""

    @property
    def remedy(self) -> str:
        """What to write instead of a wrong value."""
        return self.allowed if isinstance(self.allowed, str) else self.allowed()

    def complaint(self, value: object, written: object = None) -> str | None:
        """The error for a wrong `value`, or None.

        `written` is the text in the file if the value came from the environment; it is shown instead.
        """
        fault = self.fault(value)
        if not fault:
            return None
        shown = described(value if written is None else written) if self.shown else "the value"
        return f"{shown} {fault}. {self.remedy}"


def described(value: object) -> str:
    """`value` as an error shows it: short, and without the contents of a list or section."""
    match value:
        case bool():
            return "true" if value else "false"
        case str() if _KEY.match(value):  # also where no key belongs
            return "a key or token"
        case str():
            return repr(value if len(value) <= 60 else value[:59] + "…")
        case int() if abs(value) > _LARGEST:  # beyond 4,300 digits Python refuses to write it
            return "a huge number"
        case int() | float():
            return str(value)
        case date():
            return f"the date {value}"
        case dict():
            return "a section"
        case list():
            return "a list"
        case None:
            return "nothing"
        case _:
            return f"a {type(value).__name__}"


def flag() -> dict[str, Any]:
    """A boolean; text such as "yes" is refused."""

    def fault(value: object) -> str:
        if isinstance(value, bool):
            return ""
        return "is text, not a boolean" if isinstance(value, str) else "is not a boolean"

    def read(text: str) -> object:
        return _FLAGS.get(text.strip().lower(), text)

    return _metadata(allowed="Write true or false, without quotes.", fault=fault, read=read)


def number(least: int, most: int | None = None, *, note: str = "") -> dict[str, Any]:
    """A whole number from `least` to `most`."""
    span = f"from {least} to {most}" if most is not None else f"of {least} or more"

    def fault(value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, int):
            return "is not a whole number"
        return "" if least <= value <= (_LARGEST if most is None else most) else "is out of range"

    def read(text: str) -> object:
        return int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text) else text

    return _metadata(allowed=f"Write a whole number {span}{note}.", fault=fault, read=read)


def choice(names: Callable[[], Collection[str]]) -> dict[str, Any]:
    """One of `names()`, which is called when a value is checked."""

    def fault(value: object) -> str:
        return "" if isinstance(value, str) and value in names() else "is not allowed"

    return _metadata(allowed=lambda: f"Allowed: {', '.join(names())}.", fault=fault)


def one_of(literal: object) -> dict[str, Any]:
    """One of the values of `literal`, a `Literal` type."""
    return choice(lambda: get_args(literal))


def one_of_on_off(literal: object) -> dict[str, Any]:
    """One of the values of `literal`, among them "on" and "off", which YAML reads as switches."""
    names = get_args(literal)

    def fault(value: object) -> str:
        return "" if isinstance(value, bool) or (isinstance(value, str) and value in names) else "is not allowed"

    def convert(value: str | bool) -> str:
        return ("on" if value else "off") if isinstance(value, bool) else value

    return _metadata(allowed=f"Allowed: {', '.join(names)}.", fault=fault, convert=convert)


def amount(*, zero: bool = False, note: str = "") -> dict[str, Any]:
    """A number above 0, or from 0 on."""

    def fault(value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return "is not a number"
        return "" if 0 < value <= _LARGEST or (zero and value == 0) else "is out of range"

    def read(text: str) -> object:
        return float(text) if re.fullmatch(r"\s*[0-9]{1,15}(?:\.[0-9]{1,15})?\s*", text) else text

    least = "from 0 on" if zero else "above 0"
    return _metadata(allowed=f"Write a number {least}{note}.", fault=fault, read=read, convert=float)


def texts(example: str) -> dict[str, Any]:
    """A list of texts and numbers, kept with their `${VARIABLES}`; as a tuple of texts."""

    def fault(value: object) -> str:
        return "" if is_sequence(value) and _all_plain(value) else "is not a list of texts"

    return _metadata(
        allowed=f"Write a list such as {example}.", fault=fault, shown=False, raw=True, convert=_plain_texts
    )


def named_texts(example: str) -> dict[str, Any]:
    """A section of texts and numbers, kept with their `${VARIABLES}`; as a dict of texts."""

    def fault(value: object) -> str:
        return "" if is_mapping(value) and _all_plain(value.values()) else "is not a section of texts"

    def convert(value: dict[str, Any]) -> dict[str, str]:
        return dict(zip(value, _plain_texts(value.values()), strict=True))

    return _metadata(
        allowed=f"Write names and texts such as {example}.", fault=fault, shown=False, raw=True, convert=convert
    )


def patterns(example: str, *, words: Collection[str] = ()) -> dict[str, Any]:
    """A list of patterns, or one of `words`."""

    def fault(value: object) -> str:
        if isinstance(value, str) and value in words:
            return ""
        if not is_sequence(value) or not all(isinstance(item, str) for item in value):
            return "is not allowed" if words else "is not a list of patterns"
        return "" if all(value) else "has an empty pattern"

    def convert(value: Any) -> Any:
        return value if isinstance(value, str) else tuple(value)

    choices = f"{' or '.join(words)}, or " if words else ""
    return _metadata(allowed=f"Write {choices}a list such as {example}.", fault=fault, raw=True, convert=convert)


def text(what: str, *, raw: bool = False) -> dict[str, Any]:
    """Any text that is not blank; `what` completes the remedy "Write …"; with `raw` it keeps its `${VARIABLES}`."""

    def fault(value: object) -> str:
        if not isinstance(value, str):
            return "is not text"
        return "" if value.strip() else "is empty"

    allowed = f"Write {what}; in quotes where it looks like something else."
    return _metadata(allowed=allowed, fault=fault, raw=raw, shown=not raw)


def secret(what: str, *, not_starting: str = "") -> dict[str, Any]:
    """A key or token, never shown; `not_starting` is the prefix of another kind that is easily confused with it."""

    def fault(value: object) -> str:
        if not isinstance(value, str):
            return "is not text"
        if any(character.isspace() or not character.isprintable() for character in value):
            return "has white space or control characters in it"
        if not value.isascii():
            return "has characters that no key has"
        return f"starts with {not_starting!r}" if not_starting and value.startswith(not_starting) else ""

    return _metadata(
        allowed=f"Write {what}, best as a variable such as ${{NAME}}.", fault=fault, secret=True, shown=False
    )


def address() -> dict[str, Any]:
    """An http or https address; one with a password is refused, and never shown."""

    def fault(value: object) -> str:
        try:
            parts = split_base_url(value) if isinstance(value, str) else None
        except ValueError:
            parts = None
        if parts is None:
            return "is not an address"
        return "has a user or password in it" if "@" in parts.netloc else ""

    allowed = "Write an address such as https://host:8080, without user and password."
    return _metadata(allowed=allowed, fault=fault, shown=False)


def _all_plain(values: Iterable[object]) -> bool:
    return all(isinstance(value, str | int | float) for value in values)


def _plain_texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(value if isinstance(value, str) else json.dumps(value) for value in values)


def _metadata(**rule: Any) -> dict[str, Any]:
    return {RULE: Rule(**rule)}
