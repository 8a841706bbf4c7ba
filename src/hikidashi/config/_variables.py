"""Substitute `${VARIABLE}` and `${VARIABLE:-default}` in texts; `$$` is a dollar sign."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["BrokenVariableError", "Filled", "filled"]

_REFERENCE = re.compile(r"\$(?:(\$)|\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|(\{[^}]{0,40}\}?))")


@dataclass(frozen=True, slots=True)
class Filled:
    """A text after substitution."""

    text: str
    from_environment: bool
    """Whether it refers to any variable, set or not."""
    unset: tuple[str, ...]
    """The variables that are not set and have no default; they are replaced with nothing."""


class BrokenVariableError(ValueError):
    """A `${` without a valid variable name."""


def filled(text: str, environment: Mapping[str, str]) -> Filled:
    """`text` with its variables substituted; values are not substituted again.

    As in a shell, the default of `${VARIABLE:-default}` also replaces a variable that is set but empty.

    Raises:
        BrokenVariableError: `${` does not start a variable's name, or is never closed.
    """
    named = False
    unset: list[str] = []

    def value(match: re.Match[str]) -> str:
        nonlocal named
        dollar, name, default, broken = match.groups()
        if broken is not None:
            raise BrokenVariableError(f"'${broken}' names no variable")
        if dollar is not None:
            return "$"
        named = True
        found = environment.get(name)
        if default is not None:
            return found or default
        if found is None:
            unset.append(name)
        return found or ""

    return Filled(_REFERENCE.sub(value, text), named, tuple(dict.fromkeys(unset)))
