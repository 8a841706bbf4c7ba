"""Tool search for pydantic-ai: its own `ToolSearch` capability, with our engine as the strategy."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from ...errors import MissingExtra
from ..answers.budget import DEFAULT_BUDGET, AnswerBudget, budget_of
from ..answers.search_tools import Strategy, check_options, names_in
from ..answers.texts import Language, Recorder, Wording, wording
from ..catalog import MAX_LIMIT, ToolCatalog
from ..mcp_servers.lost_connection import is_lost_connection

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, CombinedCapability, ToolSearch
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import ModelMessage, ModelRequest, ToolCallPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

from ...convert.pydantic_ai import to_pydantic_ai
from ._engine import TOLD, Engine, UnanswerableError
from ._history import found_or_called, shown_again

__all__ = ["deferred", "tool_search", "toolset_of"]

logger = logging.getLogger("hikidashi")


def tool_search(
    strategy: Strategy = "both",
    *,
    catalog: ToolCatalog | None = None,
    max_results: int = 5,
    about: str | None = None,
    language: Language = "en",
    record: Recorder | None = None,
    budget: AnswerBudget | int = DEFAULT_BUDGET,
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
            are added, beyond its `limit_tools` too; the others it holds are never given to an agent that does not have
            them.
        max_results: How many tools one query reveals at most; with several queries, at least two for each.
        about: What the tools are for, in a few words: all that the model knows of them before it searches.
        language: The language of what the model reads of the search tool.
        record: Recorder notified of each search, and of the calls of tools that pydantic-ai runs.
        budget: The most tokens that the definitions cost which one search reveals: see `AnswerBudget`.

    Raises:
        ValueError: `strategy`, `max_results`, `language` or `budget` is none of what it can be.
    """
    check_options(strategy, max_results)
    words = wording(language)
    engine = Engine(strategy, catalog, max_results=max_results, record=record, words=words, budget=budget_of(budget))
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

    return _DeferredToolset(toolset, named, by_use, max(keep, 0))


def toolset_of(catalog: ToolCatalog) -> AbstractToolset[Any]:
    """A toolset of the hikidashi tools that `catalog` holds, which are others when it changes.

    For a catalogue that follows live servers: `toolsets=[deferred(toolset_of(catalog))]`, and
    `capabilities=[tool_search(catalog=catalog)]`.
    """
    return _CatalogToolset(catalog)


class _CatalogToolset(AbstractToolset[Any]):
    def __init__(self, catalog: ToolCatalog) -> None:
        self._catalog = catalog
        self._tools: list[Any] = []
        self._inner = to_pydantic_ai([])

    @property
    def id(self) -> str | None:
        return None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        now = list(self._catalog)
        if len(now) != len(self._tools) or any(new is not old for new, old in zip(now, self._tools, strict=True)):
            self._tools, self._inner = now, to_pydantic_ai(now, on_error="failed")
        return await self._inner.get_tools(ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        return await tool.toolset.call_tool(name, tool_args, ctx, tool)


@dataclass
class _DeferredToolset(WrapperToolset[Any]):
    """A toolset whose tools are deferred, but for some.

    `toolset.prepared(...)` would do, at the price of new definitions for all tools in each step.
    """

    always_loaded: set[str]
    by_use: list[str]
    keep: int
    _deferred: dict[str, tuple[ToolDefinition, ToolDefinition]] = field(
        default_factory=dict[str, tuple[ToolDefinition, ToolDefinition]], init=False, repr=False, compare=False
    )
    """The definitions of the last step, as they came and as they were given on."""

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


@dataclass
class _EngineSearch(ToolSearch[Any]):
    """`ToolSearch` that explains searches, and keeps what was found."""

    record: Recorder | None = field(default=None, kw_only=True)
    words: Wording = field(kw_only=True, repr=False)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        return CombinedCapability([self, _KeepFound(self.strategy)])

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
            return await self._called(tool_def.name, handler, args)
        asked = [query for query in args["queries"] if query.strip()]
        if not asked:
            return _nothing_found(self.parameter_description or "")
        told: list[str] = []
        token = TOLD.set(told)
        try:
            result = await handler(args)
        except UnanswerableError as error:
            return _nothing_found(str(error))
        finally:
            TOLD.reset(token)
        if not result["discovered_tools"]:
            return _nothing_found("\n".join(told) or self.words.nothing(", ".join(asked)))
        return {**result, "message": "\n".join(told)} if told else result

    async def _called(self, name: str, handler: Callable[[dict[str, Any]], Awaitable[Any]], args: Any) -> Any:
        try:
            return await handler(args)
        except Exception as error:
            if not is_lost_connection(error):
                raise
            # A server that is gone is nothing that ends a run: the model goes on without it.
            logger.warning("tool %r was not called: %s", name, error)
            raise ToolFailed(self.words.unreachable(name)) from error


class _KeepFound(AbstractCapability[Any]):
    """Keeps what one run has found, or found in its history, whatever is taken out of that.

    It stands behind all other capabilities, where history processors have done their work. The hook
    `prepare_model_request` would come later still, but makes pydantic-ai copy every definition for each request.
    """

    def __init__(self, engine: Any) -> None:
        self._engine: Engine = engine
        self._found: dict[str, None] = {}

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="innermost")

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        deferred = {tool.name for tool in parameters.function_tools if tool.defer_loading}
        seen = chain(found_or_called(ctx.messages), found_or_called(request_context.messages))
        self._found.update((name, None) for name in seen if name in deferred)
        found = [name for name in self._found if name in deferred]
        if (again := _lost_again(request_context.messages, found)) is not None:
            request_context.messages = [*request_context.messages, again]
        if (again := _lost_again(ctx.messages, found)) is not None:
            ctx.messages.append(again)
        fitting = self._engine.fitting(parameters.function_tools)
        if fitting is not None:
            request_context.model_request_parameters = replace(parameters, function_tools=fitting)
        return request_context


def _lost_again(messages: Sequence[ModelMessage], found: Iterable[str]) -> ModelRequest | None:
    return shown_again(messages, found) if messages and isinstance(messages[-1], ModelRequest) else None


def _nothing_found(why: str) -> dict[str, Any]:
    # No `ToolFailed` and no `ModelRetry`, though it may be a broken pattern: OpenAI takes nothing but a result for the
    # answer to a search of its own kind, and a second retry would end the run.
    return {"discovered_tools": [], "message": why}
