"""What every target asks of tools before it takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, cast

from ..errors import ToolValidationError
from ..tool import Tool, ToolResult
from .root_schema import root_schema

ALIASES = "hikidashi/aliases"
"""The key in `_meta` for the aliases of a tool, where a target has no other place for them."""


PYDANTIC_AI_META = "hikidashi/pydantic-ai"
"""The key in `_meta` under which what only pydantic-ai knows travels, and comes back."""


def mapping(value: object) -> dict[str, Any]:
    """`value` if it is an object, as metadata from elsewhere should be but need not; else an empty one."""
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


def strings(value: object) -> list[str]:
    """The strings in `value`, if it is a list: see `mapping`."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]


def by_name(tools: Iterable[Tool], *, seen_as: Callable[[str], str] = str) -> dict[str, Tool]:
    """The tools by the name that the target sees, in order.

    Raises:
        ToolValidationError: two tools have the same name there.
    """
    named: dict[str, Tool] = {}
    for tool in tools:
        seen = seen_as(tool.name)
        if seen in named:
            both = f"{named[seen].name!r} and {tool.name!r}"
            raise ToolValidationError(
                f"Two tools, {both}, are both called {seen!r} there. Rename one with `tool.renamed(...)`.", tool.name
            )
        named[seen] = tool
    return named


def object_schema(tool: Tool, target: str, *, for_claude: bool = False) -> dict[str, Any]:
    """The input schema of `tool` with one object at its root, untouched where it has that already.

    Raises:
        Unsupported: its root cannot be written as one object; see `root_schema`.
    """
    return root_schema(tool.input_schema, tool_name=tool.name, target=target, for_claude=for_claude)


def unknown_tool(name: str, known: Iterable[str]) -> ToolResult:
    """What the model reads when it calls a tool that is not there."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else f"Known tools: {', '.join(names[:20]) or 'none'}."
    return ToolResult.error(f"There is no tool {name!r}. {hint}")
