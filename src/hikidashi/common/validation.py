"""Errors of pydantic in one line: the place and the problem, without the value, which may be long or secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["first_problem", "without_prefix"]

_PREFIXES = ("Value error, ", "Assertion failed, ")


def first_problem(error: ValidationError, *, below: int = 0) -> str:
    """The first problem, such as `content.0.type: Field required`, without the first `below` parts of its place."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"][below:])
    said = without_prefix(first["msg"])
    return f"{where}: {said}" if where else said


def without_prefix(message: str) -> str:
    """The message of a validator as it was written, without what pydantic puts in front of it."""
    for prefix in _PREFIXES:
        message = message.removeprefix(prefix)
    return message
