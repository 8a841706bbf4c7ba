"""Aliases: earlier names of functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["alias"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def alias(name: str, function: _Function) -> _Function:
    """`function` under its earlier `name`: the same signature, and a docstring that names the new one."""

    @wraps(function)
    def same(*args: Any, **options: Any) -> Any:
        return function(*args, **options)

    same.__name__ = same.__qualname__ = name
    same.__doc__ = f"Alias of `{function.__name__}`."
    return cast("_Function", same)
