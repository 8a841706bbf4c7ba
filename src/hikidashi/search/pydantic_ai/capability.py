"""Tool search for pydantic-ai: its own `ToolSearch` capability, with our engine as the strategy."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from ...errors import MissingExtra
from ...tool import Tool
from .._alias import alias
from ..answers.budget import DEFAULT_BUDGET, AnswerBudget, budget_of
from ..answers.search_tools import (
    Strategy,
    callable_tool,
    catalog_of,
    check_options,
    names_in,
    require_tool,
)
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
    from pydantic_ai.toolsets import AbstractToolset, CombinedToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

from ._engine import TOLD, Engine, UnanswerableError
from ._history import found_or_called, shown_again
from ._toolsets import deferred, toolset_of

__all__ = ["deferred", "to_pydantic_ai_search", "tool_search", "toolset_of"]

logger = logging.getLogger("hikidashi")


def to_pydantic_ai_search(
    tools: Iterable[Tool] | ToolCatalog | AbstractToolset[Any] | Strategy | None = None,
    *,
    strategy: Strategy = "both",
    catalog: ToolCatalog | None = None,
    max_results: int = 5,
    always_loaded: Iterable[str] = (),
    about: str | None = None,
    language: Language = "en",
    record: Recorder | None = None,
    budget: AnswerBudget | int = DEFAULT_BUDGET,
) -> ToolSearch[Any]:
    """A capability for `Agent(capabilities=[to_pydantic_ai_search(tools)])`: pydantic-ai's `ToolSearch`, our engine.

    The agent gets `tools`, deferred: the model sees them when a search has found them. Without `tools`, the capability
    searches the agent's own tools that say `defer_loading=True`, or that `deferred` says it of.

    It works on every model: where a provider has an interface for a search of one's own (Anthropic, OpenAI Responses)
    it is used, elsewhere the model calls `search_tools`. The index follows the agent's tools: it is built once, and
    only what changes between two searches is updated. Tools that were found stay found: in a history that is replayed,
    and behind a compaction or a history processor that removed the search.

    Args:
        tools: hikidashi tools, a catalogue of them, which may change later, or a toolset. A strategy here is taken for
            `strategy`, which was the first argument of `tool_search`.
        strategy: What a query is: words, a pattern, or either (a pattern between slashes).
        catalog: The index to search, for options of its own or because it was saved before. Tools that it lacks are
            added, beyond its `limit_tools` too; the others it holds are never given to an agent that does not have
            them.
        max_results: How many tools one query reveals at most; with several queries, at least two for each.
        always_loaded: Names of `tools` that the model sees from the start.
        about: What the tools are for, in a few words: all that the model knows of them before it searches.
        language: The language of what the model reads of the search tool.
        record: Recorder notified of each search, and of the calls of tools that pydantic-ai runs.
        budget: The most tokens that the definitions of the tools revealed by one search may cost: see `AnswerBudget`.

    Raises:
        ToolValidationError: a tool is no hikidashi tool, or `always_loaded` names one that is not there.
        ValueError: `strategy`, `max_results`, `language` or `budget` has a value that is not allowed; `always_loaded`
            is given without `tools`, or `catalog` beside a catalogue.
    """
    if isinstance(tools, str):
        tools, strategy = None, tools
    check_options(strategy, max_results)
    words = wording(language)
    toolset, catalog = _offered(tools, catalog, names_in("always_loaded", always_loaded))
    engine = Engine(strategy, catalog, max_results=max_results, record=record, words=words, budget=budget_of(budget))
    return _EngineSearch(
        strategy=engine,
        max_results=MAX_LIMIT,  # the engine counts itself: `select:` may name more than a search reveals
        tool_description=words.search_description(about),
        parameter_description=f"{words['queries']} {words[f'query {strategy}']}",
        toolset=toolset,
        record=record,
        words=words,
    )


tool_search = alias("tool_search", to_pydantic_ai_search)
"""Alias of `to_pydantic_ai_search`."""


def _offered(
    tools: Iterable[Tool] | ToolCatalog | AbstractToolset[Any] | None,
    catalog: ToolCatalog | None,
    always_loaded: list[str],
) -> tuple[AbstractToolset[Any] | None, ToolCatalog | None]:
    """The toolset that the capability brings along, and the catalogue that it searches."""
    if tools is None:
        if always_loaded:
            raise ValueError(
                "`always_loaded` chooses among `tools`, which are not given. For a toolset of the agent, use "
                "`deferred(toolset, always_loaded=...)`."
            )
        return None, catalog
    if isinstance(tools, AbstractToolset):
        return deferred(tools, always_loaded=always_loaded), catalog
    if isinstance(tools, ToolCatalog) and catalog is not None:
        raise ValueError("`tools` is a catalogue, which is searched itself. Leave out `catalog`.")
    held = catalog_of(tools)
    for tool in held:
        callable_tool(tool)
    for name in always_loaded:
        require_tool(held, name)
    return deferred(toolset_of(held), always_loaded=always_loaded), held if catalog is None else catalog


@dataclass
class _EngineSearch(ToolSearch[Any]):
    """`ToolSearch` that explains searches, and keeps what was found."""

    toolset: AbstractToolset[Any] | None = field(default=None, kw_only=True, repr=False)
    record: Recorder | None = field(default=None, kw_only=True)
    words: Wording = field(kw_only=True, repr=False)

    @classmethod
    def combine(cls, capabilities: Sequence[AbstractCapability[Any]]) -> AbstractCapability[Any]:
        # pydantic-ai makes one of several, and would take the toolset of the last.
        toolsets = [each.toolset for each in capabilities if isinstance(each, _EngineSearch) and each.toolset]
        merged = super().combine(capabilities)
        if len(toolsets) > 1 and isinstance(merged, _EngineSearch):
            return replace(merged, toolset=CombinedToolset(toolsets))
        return merged

    def get_toolset(self) -> AbstractToolset[Any] | None:
        return self.toolset

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
