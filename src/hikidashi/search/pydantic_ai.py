"""Tool search for pydantic-ai: its own `ToolSearch` capability, with our engine as the strategy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from threading import RLock
from typing import Any

from ..errors import MissingExtra, ToolSearchError
from ._answer import Language, Recorder, wording
from ._desk import Strategy, asked
from .catalog import MAX_LIMIT, ToolCatalog

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import ToolSearch
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

from ..convert._checks import ALIASES, mapping, strings

__all__ = ["deferred", "tool_search"]


def tool_search(
    strategy: Strategy = "both",
    *,
    catalog: ToolCatalog | None = None,
    max_results: int = 5,
    about: str | None = None,
    language: Language = "en",
    record: Recorder | None = None,
) -> ToolSearch[Any]:
    """pydantic-ai's `ToolSearch` for `Agent(capabilities=[...])`, with hikidashi's engine in it.

    It searches the tools that say `defer_loading=True`, or that `deferred` says it of, on every model: where a
    provider has a surface for a search of one's own (Anthropic, OpenAI Responses) it is used, and elsewhere the model
    calls `search_tools`. The index follows the agent's tools: it is built once, and only what changes between two
    searches is touched.

    Args:
        strategy: What a query is: words, a pattern, or either (a pattern between slashes).
        catalog: The catalogue to search, for options of its own or because it was saved before. Tools that it lacks
            are added; the others it holds are never given to an agent that does not have them.
        max_results: How many tools one query reveals at most; with several queries, at least two for each.
        about: What the tools are for, in a few words: all that the model knows of them before it searches.
        language: The language of what the model reads of the search tool.
        record: Who hears of searches, and of calls of deferred tools.
    """
    words = wording(language)
    engine = _Engine(strategy, ToolCatalog() if catalog is None else catalog, max_results, record)
    return _EngineSearch(
        strategy=engine,
        max_results=MAX_LIMIT,  # the engine counts itself: `select:` may name more than a search reveals
        tool_description=words.search_description(about),
        parameter_description=f"{words['queries']} {words[f'query {strategy}']}",
        record=record,
    )


def deferred(
    toolset: AbstractToolset[Any],
    *,
    always_loaded: Collection[str] = (),
    usage: Mapping[str, int] | None = None,
    keep: int = 3,
) -> AbstractToolset[Any]:
    """`toolset` with all tools deferred but those of `always_loaded` and the `keep` that `usage` counts most.

    The counts are read once, here: a list of tools that changes between requests costs the prompt cache. Tools that
    `toolset` itself defers stay so unless they are named or among the most used.
    """
    most_used = sorted((usage or {}).items(), key=lambda item: (-item[1], item[0]))[: max(keep, 0)]
    loaded = {*always_loaded, *(name for name, count in most_used if count > 0)}

    def prepare(_: RunContext[Any], definitions: list[ToolDefinition]) -> list[ToolDefinition]:
        return [replace(tool, defer_loading=tool.name not in loaded) for tool in definitions]

    return toolset.prepared(prepare)


class _Engine:
    """The strategy: `(ctx, queries, tools) -> names`."""

    def __init__(self, strategy: Strategy, catalog: ToolCatalog, max_results: int, record: Recorder | None) -> None:
        self.catalog = catalog
        self._strategy: Strategy = strategy
        self._max_results = max_results
        self._record = record
        self._lock = RLock()
        self._ours: dict[str, ToolDefinition] = {}
        """The tools in the catalogue that came from an agent."""
        self._last: Sequence[ToolDefinition] = ()

    def __call__(self, _: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
        with self._lock:  # another run may have other tools
            self._follow(tools)
            offered = {tool.name for tool in tools}
            ranked = [self._names(query, offered) for query in queries if query.strip()]
        selected = any(query.strip().startswith("select:") for query in queries)
        limit = MAX_LIMIT if selected else max(self._max_results, 2 * len(ranked))
        interleaved = dict.fromkeys(name for name in chain.from_iterable(zip_longest(*ranked)) if name is not None)
        return list(interleaved)[:limit]

    def _names(self, query: str, offered: Collection[str]) -> list[str]:
        # A catalogue that holds more than this agent has gives its best places to tools that do not count.
        limit = self._max_results if len(offered) >= len(self.catalog) else MAX_LIMIT
        try:
            kind, entries = asked(self.catalog, query, strategy=self._strategy, limit=limit)
        except ToolSearchError as error:
            # Not `ModelRetry`: a second broken pattern would end the run.
            raise ToolFailed(str(error)) from error
        names = [entry.name for entry in entries if entry.name in offered]
        if kind != "select":
            names = names[: self._max_results]
        if self._record is not None:
            self._record.searched(query, kind, names)
        return names

    def _follow(self, tools: Sequence[ToolDefinition]) -> None:
        """Bring the catalogue in step with `tools`: only what differs is touched."""
        if tools is self._last:
            return
        for name in self._ours.keys() - {tool.name for tool in tools}:
            self.catalog.remove(name)
            del self._ours[name]
        for tool in tools:
            known = self._ours.get(tool.name)
            if known is None:
                if tool.name in self.catalog:
                    continue  # it was in the catalogue before, and whoever put it there described it
            elif _same(known, tool):
                continue
            else:
                self.catalog.remove(tool.name)
            self.catalog.add(_row(tool))
            self._ours[tool.name] = tool
        self._last = tools


@dataclass
class _EngineSearch(ToolSearch[Any]):
    """`ToolSearch` that also tells which deferred tools are called."""

    record: Recorder | None = field(default=None, kw_only=True)

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        if self.record is not None and tool_def.defer_loading:
            self.record.called(tool_def.name)
        return args


def _same(known: ToolDefinition, tool: ToolDefinition) -> bool:
    """Whether a search would see the same; pydantic-ai makes new definitions around the same schemas in each step."""
    return (
        known.description == tool.description
        and (
            known.parameters_json_schema is tool.parameters_json_schema
            or known.parameters_json_schema == tool.parameters_json_schema
        )
        and known.metadata == tool.metadata
    )


def _row(tool: ToolDefinition) -> dict[str, Any]:
    """What the catalogue reads of a definition; aliases are where `to_pydantic_ai` puts them."""
    metadata = tool.metadata or {}
    return {
        "name": tool.name,
        "description": tool.description or "",
        "input_schema": tool.parameters_json_schema,
        "aliases": strings(mapping(metadata.get("meta")).get(ALIASES)),
        "metadata": metadata,
    }
