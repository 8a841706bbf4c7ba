"""Toolsets for tool search: one that defers the loading of its tools, and one that follows a catalogue."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import MissingExtra
from ...tool import Tool
from ..answers.search_tools import names_in
from ..catalog import ToolCatalog

try:
    from pydantic_ai import RunContext
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

from ...convert.pydantic_ai import to_pydantic_ai

__all__ = ["deferred", "toolset_of"]


def deferred(
    toolset: AbstractToolset[Any],
    *,
    always_loaded: Collection[str] = (),
    usage: Mapping[str, int] | None = None,
    keep: int = 3,
) -> AbstractToolset[Any]:
    """`toolset` with all tools deferred except those in `always_loaded` and its `keep` most used tools.

    `usage` counts calls, as `SearchLog.usage()` does. It is read once, here: a list of tools that changes between
    requests invalidates the prompt cache. Tools that `toolset` itself defers stay deferred unless they are named or
    among the most used.
    """
    named = set(names_in("always_loaded", always_loaded))
    counts = {name: count for name, count in (usage or {}).items() if count > 0}
    by_use = sorted(counts, key=lambda name: (-counts[name], name))

    return _DeferredToolset(toolset, named, by_use, max(keep, 0))


def toolset_of(catalog: ToolCatalog) -> AbstractToolset[Any]:
    """A toolset of the hikidashi tools in `catalog`; it changes when the catalogue does.

    `to_pydantic_ai_search(catalog)` makes one itself. For more control, such as `usage` of `deferred`:
    `toolsets=[deferred(toolset_of(catalog), usage=...)]` and `capabilities=[to_pydantic_ai_search(catalog=catalog)]`.
    """
    return _CatalogToolset(catalog)


class _CatalogToolset(AbstractToolset[Any]):
    def __init__(self, catalog: ToolCatalog) -> None:
        self._catalog = catalog
        self._tools: list[Tool] = []
        self._inner = to_pydantic_ai([])

    @property
    def id(self) -> str | None:
        return None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        # Other rows are what a search adds of the agent's own tools, which the agent has from elsewhere.
        now = [tool for tool in self._catalog if isinstance(tool, Tool)]
        if len(now) != len(self._tools) or any(new is not old for new, old in zip(now, self._tools, strict=True)):
            self._tools, self._inner = now, to_pydantic_ai(now, on_error="failed")
        return await self._inner.get_tools(ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        return await tool.toolset.call_tool(name, tool_args, ctx, tool)


@dataclass
class _DeferredToolset(WrapperToolset[Any]):
    """A toolset whose tools are deferred, except for some.

    `toolset.prepared(...)` would do the same, but makes new definitions of all tools in each step.
    """

    always_loaded: set[str]
    by_use: list[str]
    keep: int
    _deferred: dict[str, tuple[ToolDefinition, ToolDefinition]] = field(
        default_factory=dict[str, tuple[ToolDefinition, ToolDefinition]], init=False, repr=False, compare=False
    )
    """The definitions of the last step, before and after."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        loaded = self.always_loaded.union([name for name in self.by_use if name in tools][: self.keep])
        before, self._deferred = self._deferred, {}
        return {name: self._deferring(name, tool, name not in loaded, before) for name, tool in tools.items()}

    def _deferring(
        self, name: str, tool: ToolsetTool[Any], wanted: bool, before: Mapping[str, tuple[ToolDefinition, Any]]
    ) -> ToolsetTool[Any]:
        given = tool.tool_def
        if given.defer_loading is wanted:
            return tool
        known = before.get(name)
        same = known is not None and (known[0] is given or known[0] == given)
        self._deferred[name] = made = known if same and known else (given, replace(given, defer_loading=wanted))
        return replace(tool, tool_def=made[1])
