"""Errors of pydantic in one line: the place and the problem, without the value, which may be long or secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["first_problem"]


def first_problem(error: ValidationError, *, below: int = 0) -> str:
    """The first problem, such as `content.0.type: Field required`, without the first `below` parts of its place."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"][below:])
    said = first["msg"].removeprefix("Value error, ")
    return f"{where}: {said}" if where else said
