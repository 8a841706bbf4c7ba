"""Tool search for pydantic-ai: its own `ToolSearch` capability, with our engine as the strategy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from threading import RLock
from typing import Any

from ..errors import MissingExtra, ToolSearchError
from ._answer import Language, Recorder, Wording, wording
from ._desk import Strategy, asked, check_options, names_in
from .catalog import MAX_LIMIT, ToolCatalog

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import ToolSearch
    from pydantic_ai.messages import ModelRequest, ToolCallPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

from ..convert._checks import ALIASES, mapping, strings
from .pydantic_ai_history import found_or_called, shown_again

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
    searches is touched. What was found stays found: in a history that is replayed, and also behind a compaction or a
    history processor that took the search out of it.

    Args:
        strategy: What a query is: words, a pattern, or either (a pattern between slashes).
        catalog: The catalogue to search, for options of its own or because it was saved before. Tools that it lacks
            are added; the others it holds are never given to an agent that does not have them.
        max_results: How many tools one query reveals at most; with several queries, at least two for each.
        about: What the tools are for, in a few words: all that the model knows of them before it searches.
        language: The language of what the model reads of the search tool.
        record: Who hears of searches, and of the calls of tools that pydantic-ai runs.

    Raises:
        ValueError: `strategy`, `max_results` or `language` is none of what it can be.
    """
    check_options(strategy, max_results)
    words = wording(language)
    engine = _Engine(strategy, ToolCatalog() if catalog is None else catalog, max_results, record)
    return _EngineSearch(
        strategy=engine,
        max_results=MAX_LIMIT,  # the engine counts itself: `select:` may name more than a search reveals
        tool_description=words.search_description(about),
        parameter_description=f"{words['queries']} {words[f'query {strategy}']}",
        record=record,
        words=words,
    )


def deferred(
    toolset: AbstractToolset[Any],
    *,
    always_loaded: Collection[str] = (),
    usage: Mapping[str, int] | None = None,
    keep: int = 3,
) -> AbstractToolset[Any]:
    """`toolset` with all tools deferred but those of `always_loaded` and the `keep` of its tools that are used most.

    `usage` counts calls, as `SearchLog.usage()` does. It is read once, here: a list of tools that changes between
    requests costs the prompt cache. Tools that `toolset` itself defers stay so unless they are named or among the
    most used.
    """
    named = set(names_in("always_loaded", always_loaded))
    counts = {name: count for name, count in (usage or {}).items() if count > 0}
    by_use = sorted(counts, key=lambda name: (-counts[name], name))

    def prepare(_: RunContext[Any], definitions: list[ToolDefinition]) -> list[ToolDefinition]:
        own = {tool.name for tool in definitions}
        most_used = [name for name in by_use if name in own][: max(keep, 0)]
        loaded = named.union(most_used)
        return [replace(tool, defer_loading=tool.name not in loaded) for tool in definitions]

    return toolset.prepared(prepare)


class _UnanswerableError(Exception):
    """A search that cannot be answered; its text is for the model."""


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
        self._alone: tuple[list[Any], ToolCatalog] | None = None

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
        shared = len(self.catalog) > len(offered)
        try:
            # Tools of others do not count, and they may have the best places.
            kind, entries = asked(
                self.catalog, query, strategy=self._strategy, limit=MAX_LIMIT if shared else self._max_results
            )
            names = [entry.name for entry in entries if entry.name in offered]
            if shared and len(entries) == MAX_LIMIT and len(names) < self._max_results and kind != "select":
                _, entries = asked(
                    self._without_others(offered), query, strategy=self._strategy, limit=self._max_results
                )
                names = list(dict.fromkeys([*names, *(entry.name for entry in entries)]))
        except ToolSearchError as error:
            raise _UnanswerableError(str(error)) from error
        if kind != "select":
            names = names[: self._max_results]
        if self._record is not None:
            self._record.searched(query, kind, names)
        return names

    def _without_others(self, offered: Collection[str]) -> ToolCatalog:
        """What the catalogue says of the agent's own tools, by words alone; built when others take all places."""
        tools = [self.catalog.get(name) for name in sorted(offered)]
        if self._alone is None or self._alone[0] != tools:
            self._alone = tools, ToolCatalog(tools, limit_tools=len(tools))
        return self._alone[1]

    def _follow(self, tools: Sequence[ToolDefinition]) -> None:
        """Bring the catalogue in step with `tools`: only what differs is touched."""
        if tools is self._last:
            return
        for name in self._ours.keys() - {tool.name for tool in tools}:
            self._take_out(name)
        for tool in tools:
            if tool.name in self.catalog:
                known = self._ours.get(tool.name)
                if known is None or _same(known, tool):
                    continue  # it is the same, or was in the catalogue before: whoever put it there described it
                self._take_out(tool.name)
            self.catalog.add(_row(tool))
            self._ours[tool.name] = tool
        self._last = tools

    def _take_out(self, name: str) -> None:
        del self._ours[name]
        if name in self.catalog:  # its owner may have been quicker
            self.catalog.remove(name)


@dataclass
class _EngineSearch(ToolSearch[Any]):
    """`ToolSearch` that explains searches without a result, tells who listens, and keeps what was found."""

    record: Recorder | None = field(default=None, kw_only=True)
    words: Wording = field(kw_only=True, repr=False)
    _found: dict[str, None] = field(default_factory=dict[str, None], init=False, repr=False)
    """What this run has found, or found in its history."""

    async def for_run(self, ctx: RunContext[Any]) -> ToolSearch[Any]:
        return replace(self)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        # This hook and no earlier one: history processors have done their work.
        deferred = {tool.name for tool in request_context.model_request_parameters.function_tools if tool.defer_loading}
        seen = chain(found_or_called(ctx.messages), found_or_called(request_context.messages))
        self._found.update((name, None) for name in seen if name in deferred)
        found = [name for name in self._found if name in deferred]
        for messages in (request_context.messages, ctx.messages):
            if messages and isinstance(messages[-1], ModelRequest) and (again := shown_again(messages, found)):
                messages.append(again)
        return request_context

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        if tool_def.tool_kind != "tool-search":
            if self.record is not None:
                self.record.called(tool_def.name)
            return await handler(args)
        asked = [query for query in args["queries"] if query.strip()]
        if not asked:
            return _nothing_found(self.parameter_description or "")
        try:
            result = await handler(args)
        except _UnanswerableError as error:
            return _nothing_found(str(error))
        return result if result["discovered_tools"] else _nothing_found(self.words.nothing(", ".join(asked)))


def _nothing_found(why: str) -> dict[str, Any]:
    # No `ToolFailed` and no `ModelRetry`, though it may be a broken pattern: OpenAI takes nothing but a result for the
    # answer to a search of its own kind, and a second retry would end the run.
    return {"discovered_tools": [], "message": why}


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
