"""JSON from outside, narrowed to the type that is needed: one place instead of a cast at each use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

__all__ = ["as_list", "as_object", "as_text", "is_list", "is_mapping", "is_object"]


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether `value` is a JSON array."""
    return isinstance(value, list)


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether `value` is any mapping: what Python code passes where JSON has an object."""
    return isinstance(value, Mapping)


def as_object(value: object) -> dict[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[Any]:
    """`value` if it is a JSON array, else an empty one."""
    return value if is_list(value) else []


def as_text(value: object) -> str:
    """`value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""
