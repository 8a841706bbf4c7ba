"""The names of the tools that hikidashi itself offers to a model, the same in every framework."""

from __future__ import annotations

from collections.abc import Container

__all__ = ["CALL_TOOL", "SEARCH_TOOLS", "search_names"]

SEARCH_TOOLS = "search_tools"
CALL_TOOL = "call_tool"

_FORMER = "tool_search"  # in conversations that the Anthropic loop began under its earlier name


def search_names(taken: Container[str] = ()) -> frozenset[str]:
    """The names under which a conversation may call our search tool; a name in `taken` is another tool's."""
    return frozenset({SEARCH_TOOLS} if _FORMER in taken else {SEARCH_TOOLS, _FORMER})
