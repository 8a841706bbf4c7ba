"""Checks of tools that several targets share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, cast

from ..errors import ToolValidationError
from ..tool import Tool, ToolResult
from .root_schema import root_schema

ALIASES = "hikidashi/aliases"
"""The key in `_meta` for the aliases of a tool, if a target has no other place for them."""


PYDANTIC_AI_META = "hikidashi/pydantic-ai"
"""The key in `_meta` for what only pydantic-ai has, so that a conversion back restores it."""


def mapping(value: object) -> dict[str, Any]:
    """`value` if it is a mapping, else an empty one: metadata of a foreign source may be anything."""
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


def strings(value: object) -> list[str]:
    """The strings in `value`, if it is a list: see `mapping`."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]


def by_name(tools: Iterable[Tool], *, seen_as: Callable[[str], str] = str) -> dict[str, Tool]:
    """The tools by their name in the target, in order.

    Raises:
        ToolValidationError: two tools have the same name there.
    """
    named: dict[str, Tool] = {}
    for tool in tools:
        seen = seen_as(tool.name)
        if seen in named:
            both = f"{named[seen].name!r} and {tool.name!r}"
            raise ToolValidationError(
                f"Two tools, {both}, have the same name {seen!r} in the target. Rename one with `tool.renamed(...)`.",
                tool.name,
            )
        named[seen] = tool
    return named


def object_schema(tool: Tool, target: str, *, for_claude: bool = False) -> dict[str, Any]:
    """The input schema of `tool` with one object at its root; unchanged if it has that already.

    Raises:
        Unsupported: its root cannot be written as one object; see `root_schema`.
    """
    return root_schema(tool.input_schema, tool_name=tool.name, target=target, for_claude=for_claude)


def unknown_tool(name: str, known: Iterable[str]) -> ToolResult:
    """The error for a model that calls an unknown tool."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else f"Known tools: {', '.join(names[:20]) or 'none'}."
    return ToolResult.error(f"There is no tool {name!r}. {hint}")
