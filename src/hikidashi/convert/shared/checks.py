"""Checks of tools that several targets share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, cast

from ...errors import ToolValidationError
from ...tool import Tool, ToolResult
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


def listed(tools: object) -> list[Any]:
    """`tools` as a list: the first check of everything that takes tools.

    Raises:
        ToolValidationError: it is a single tool, a string or something else that is not a list.
    """
    if isinstance(tools, str | bytes | Mapping | Tool) or not isinstance(tools, Iterable):
        kind, one = type(cast("object", tools)).__name__, isinstance(tools, Mapping | Tool)
        raise ToolValidationError(f"Expected a list of tools, got {'one ' if one else 'a '}{kind}. Pass `[tool]`.")
    return list(cast("Iterable[Any]", tools))


def neutral_tools(tools: object) -> list[Tool]:
    """`tools` as a list of hikidashi tools.

    Raises:
        ToolValidationError: it is not a list, or has something that is not a hikidashi tool.
    """
    checked = listed(tools)
    for tool in checked:
        if not isinstance(tool, Tool):
            raise ToolValidationError(
                f"Expected hikidashi tools, got a {type(tool).__name__} ({tool!r:.100}). Convert it first: "
                "`from_function`, `from_mcp`, `from_pydantic_ai` or `from_strands`."
            )
    return checked


def by_name(tools: Iterable[Tool], *, seen_as: Callable[[str], str] = str) -> dict[str, Tool]:
    """The tools by their name in the target, in order.

    Raises:
        ToolValidationError: `tools` is not a list of hikidashi tools, or two of them have the same name there.
    """
    named: dict[str, Tool] = {}
    for tool in neutral_tools(tools):
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


def failed_tool(name: str, error: BaseException) -> ToolResult:
    """The error for a model whose call made the tool raise."""
    return ToolResult.error(f"Tool {name!r} failed. {type(error).__name__}: {error}")
