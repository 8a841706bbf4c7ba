"""Tool search for pydantic-ai: its own `ToolSearch` capability with our engine, and toolsets that defer loading."""

from __future__ import annotations

import logging
import operator
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, Unpack

from ..errors import MissingExtra
from ..servers.failure import is_lost_connection, is_refusal
from ..tool import Tool
from .catalog import MAX_LIMIT, MAX_TOOLS, ToolCatalog
from .log import ConversationRecord
from .options import SearchOptions, names_in, search_options
from .search_tools import callable_tool, catalog_of, require_tool, unreachable_of

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, CombinedCapability, ToolSearch
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturn
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, ToolsetTool, WrapperToolset
    from pydantic_core import SchemaValidator, core_schema
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

from ..convert.pydantic_ai import to_pydantic_ai
from .pydantic_ai_engine import (
    SEARCH,
    Engine,
    NamedForApi,
    Preloading,
    Remade,
    Search,
    UnanswerableError,
    found_or_called,
    innermost,
    shown_again,
    without_additions,
)

logger = logging.getLogger("hikidashi")


def to_pydantic_ai_search(
    tools: Iterable[Tool] | ToolCatalog | AbstractToolset[Any] | None = None,
    *,
    catalog: ToolCatalog | None = None,
    **options: Unpack[SearchOptions],
) -> ToolSearch[Any]:
    """A capability for `Agent(capabilities=[to_pydantic_ai_search(tools)])`: pydantic-ai's `ToolSearch`, our engine.

    The agent gets `tools` as deferred tools, which the model sees once a search has found them. Without `tools`, the
    capability searches the deferred tools that the agent has: those with `defer_loading=True`, or in a `deferred`
    toolset.

    It works with every model: through the provider's interface for client-side search where there is one (Anthropic,
    OpenAI Responses), with the tool `search_tools` elsewhere. The index is built once and then updated with what
    changes. Found tools stay found: in a history that is replayed, and after a compaction or a history processor that
    removed the search.

    Args:
        tools: hikidashi tools, a catalogue of them, which may change later, or a toolset.
        catalog: The index to search, with options of its own or loaded from a file. Missing tools are added to it,
            beyond its `limit_tools` if need be; its other tools are never offered to an agent that does not have them.
        options: See `SearchOptions`. `always_loaded` chooses among `tools`. `record` is also notified of the calls of
            tools that the MCP server of `ClaudeCodeModel.set_agent_toolsets` runs.

    Raises:
        ToolValidationError: a tool is not a hikidashi tool, or `always_loaded` names a tool that does not exist.
        ValueError: an option is invalid; `always_loaded` is given without `tools`, or `catalog` together with a
            catalogue as `tools`.
    """
    checked = search_options(**options)
    toolset, catalog = _offered(tools, catalog, checked.always_loaded)
    words = checked.words
    engine = Engine(catalog, checked)
    return _EngineSearch(
        strategy=engine,
        max_results=MAX_LIMIT,  # the engine counts itself: `select:` may name more than a search reveals
        tool_description=checked.search_description(),
        parameter_description=f"{words['queries']} {checked.query_description}",
        toolset=toolset,
        engine=engine,
    )


def _offered(
    tools: Iterable[Tool] | ToolCatalog | AbstractToolset[Any] | None,
    catalog: ToolCatalog | None,
    always_loaded: list[str],
) -> tuple[AbstractToolset[Any] | None, ToolCatalog | None]:
    """The toolset that the capability adds to the agent, and the catalogue that it searches."""
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
    """`ToolSearch` that adds explanations to the result of a search, and keeps found tools."""

    toolset: AbstractToolset[Any] | None = field(default=None, kw_only=True, repr=False)
    engine: Engine = field(kw_only=True, repr=False)
    conversation: ConversationRecord | None = field(default=None, kw_only=True, repr=False)
    """The records of the conversation of a run."""
    gone: _GoneTools | None = field(default=None, kw_only=True, repr=False)
    """The tools of a run that are gone."""

    @classmethod
    def combine(cls, capabilities: Sequence[AbstractCapability[Any]]) -> AbstractCapability[Any]:
        # pydantic-ai merges capabilities of one id, and would keep the toolset of the last alone.
        toolsets = [each.toolset for each in capabilities if isinstance(each, _EngineSearch) and each.toolset]
        merged = super().combine(capabilities)
        if len(toolsets) > 1 and isinstance(merged, _EngineSearch):
            return replace(merged, toolset=CombinedToolset(toolsets))
        return merged

    def get_toolset(self) -> AbstractToolset[Any] | None:
        return self.toolset

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        searched = super().get_wrapper_toolset(NamedForApi(toolset, self.engine.names))
        return searched if self.gone is None else _KeepsCallable(searched, self.gone, self._why_gone)

    def _why_gone(self, name: str) -> str:
        is_lost = self.engine.names.original(name) in unreachable_of(self.engine.catalog)
        return self.engine.options.words.unreachable(name) if is_lost else self.engine.options.words.unknown(name, ())

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        conversation = ConversationRecord(self.engine.options.record, name=ctx.conversation_id)
        preloading = Preloading(self.engine, conversation)
        gone = _GoneTools()
        return CombinedCapability(
            [
                replace(self, conversation=conversation, gone=gone),
                _KeepFound(self.engine, preloading, ctx.messages, gone),
            ]
        )

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
            if self.gone is None or tool_def.name not in self.gone:
                self.tool_called(tool_def)
            return await self._called(tool_def.name, handler, args)
        asked = [query for query in args["queries"] if query.strip()]
        if not asked:
            return _result(ctx, [], self.parameter_description or "")
        notes: list[str] = []
        token = SEARCH.set(Search(notes, self.conversation))
        try:
            if self.gone is not None and tool_def.name in self.gone:  # no tool is left
                result = {"discovered_tools": self.engine(ctx, asked, ())}
            else:
                result = await handler(args)
        except UnanswerableError as error:
            return _result(ctx, [], str(error))
        finally:
            SEARCH.reset(token)
        found = result["discovered_tools"]
        return _result(
            ctx, found, "\n".join(notes) or ("" if found else self.engine.options.words.nothing(", ".join(asked)))
        )

    def tool_called(self, tool: ToolDefinition) -> None:
        """Record a call; also of a tool that the MCP server of `ClaudeCodeModel.set_agent_toolsets` runs."""
        if self.conversation is not None:
            name = self.engine.names.original(tool.name)
            if not tool.defer_loading:
                self.conversation.remember([name], "listed")
            self.conversation.called(name)

    async def _called(self, name: str, handler: Callable[[dict[str, Any]], Awaitable[Any]], args: Any) -> Any:
        try:
            return await handler(args)
        except Exception as error:
            if is_refusal(error) and not is_lost_connection(error):
                raise ToolFailed(str(error)) from error
            if not is_lost_connection(error):
                raise
            # A lost server should not end the run: the model can go on without the tool.
            logger.warning("tool %r was not called: %s", name, error)
            raise ToolFailed(self.engine.options.words.unreachable(name)) from error


class _KeepFound(AbstractCapability[Any]):
    """Keeps the tools found in one run or in its history, whatever is removed from the history.

    It comes after all other capabilities, so after history processors. The hook `prepare_model_request` would come
    later still, but makes pydantic-ai copy every definition for each request.
    """

    def __init__(
        self, engine: Engine, preloading: Preloading, before: Sequence[ModelMessage], gone: _GoneTools
    ) -> None:
        self._engine = engine
        self._gone = gone
        self._preloading = preloading
        self._before = list(before)
        """The history that the run began with; a history processor removes messages before the first request."""
        self._found: dict[str, None] = {}

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="innermost")

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        deferred = {tool.name for tool in parameters.function_tools if tool.defer_loading}
        names = self._engine.names.of(request_context.model)
        # Earlier calls may be those of a model that takes any name.
        messages = request_context.messages if names is None else names.in_history(request_context.messages)
        before = self._before if names is None else names.in_history(self._before)
        seen = chain(*map(found_or_called, (before, ctx.messages, messages)))
        self._found.update((name, None) for name in seen if name in deferred)
        history = _as_it_was(self._before, ctx.messages)
        self._preloading.read(history, parameters.function_tools)
        self._found.update((name, None) for name in self._preloading.loaded if name in deferred)
        found = [name for name in self._found if name in deferred]
        if (again := shown_again(ctx.messages, found)) is not None:
            ctx.messages.append(again)  # the history of the run, where pydantic-ai itself records such parts
        tools = parameters.function_tools
        if any(tool.name in self._gone and tool.tool_kind != "tool-search" for tool in tools):
            tools = [tool for tool in tools if tool.name not in self._gone or tool.tool_kind == "tool-search"]
        lists_deferred = request_context.model.tool_deferral_mode is not None
        if lists_deferred and len(deferred) > MAX_TOOLS:  # the API refuses more
            tools = [tool for tool in tools if not tool.defer_loading or tool.name in self._found]
        if self._preloading.loaded:
            tools, first = self._preloading.shown(tools, lists_deferred=lists_deferred), self._preloading.first
            messages = without_additions(messages, first)
            found = [name for name in found if name not in first]
        if (again := shown_again(messages, found)) is not None:
            messages = [*messages, again]
        cut = self._engine.cut_to_budget(tools)
        tools = tools if cut is None else cut
        if tools is not parameters.function_tools:
            parameters = replace(parameters, function_tools=tools)
        return replace(request_context, messages=messages, model_request_parameters=parameters)


def _as_it_was(before: Sequence[ModelMessage], now: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """The messages of `now`, and before them those of `before` that were removed."""
    is_whole = len(now) >= len(before) and all(map(operator.is_, before, now))
    return now if is_whole else [*before, *(message for message in now if message not in before)]


def _result(ctx: RunContext[Any], found: list[Any], message: str) -> Any:
    """The result of a search, with a message for the model.

    A result that finds nothing is neither `ToolFailed` nor `ModelRetry`, even for an invalid pattern: OpenAI accepts
    only a result as the answer to its own kind of search, and a second retry would end the run.
    """
    mode: str | None = getattr(innermost(ctx.model), "tool_deferral_mode", None)
    if not message:
        return {"discovered_tools": found}
    if mode == "with_tool_search" or (mode is not None and found):
        # The provider gets the tools in a form of its own, which has no place for a message.
        return ToolReturn({"discovered_tools": found}, content=message)
    return {"discovered_tools": found, "message": message}


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

    def __post_init__(self) -> None:
        self._made = {wanted: Remade(partial(replace, defer_loading=wanted)) for wanted in (False, True)}

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        loaded = self.always_loaded.union([name for name in self.by_use if name in tools][: self.keep])
        return {name: self._deferring(tool, name not in loaded) for name, tool in tools.items()}

    def _deferring(self, tool: ToolsetTool[Any], wanted: bool) -> ToolsetTool[Any]:
        given = tool.tool_def
        return tool if given.defer_loading is wanted else replace(tool, tool_def=self._made[wanted].of(given))


_SEARCH = "tool-search"
_ANY_ARGUMENTS = SchemaValidator(core_schema.any_schema())


@dataclass
class _GoneTools:
    """The tools of one run that are gone, and the search tool where it is."""

    tools: dict[str, ToolsetTool[Any]] = field(default_factory=dict[str, ToolsetTool[Any]])
    """Those that the model may still call, by name."""
    last: dict[str, ToolsetTool[Any]] = field(default_factory=dict[str, ToolsetTool[Any]])
    """The tools of the last step."""

    def __contains__(self, name: object) -> bool:
        return name in self.tools

    def update(self, now: dict[str, ToolsetTool[Any]], ctx: RunContext[Any]) -> None:
        """Take note of the tools of a step."""
        if not self.last and not self.tools:
            self.last = now
            return
        before = {**self.last, **self.tools}
        seen = {name for name, tool in before.items() if not tool.tool_def.defer_loading}
        seen.update(found_or_called(ctx.messages))
        self.tools = {name: before[name] for name in before if name in seen and name not in now}
        self.last = now


@dataclass
class _KeepsCallable(WrapperToolset[Any]):
    """A toolset in which tools that are gone can be called, and say so."""

    gone: _GoneTools
    explain: Callable[[str], str]
    """The answer to the call of a tool that is gone."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        self.gone.update(tools, ctx)
        return {**tools, **{name: self._kept(tool) for name, tool in self.gone.tools.items()}}

    def _kept(self, tool: ToolsetTool[Any]) -> ToolsetTool[Any]:
        if tool.tool_def.tool_kind == _SEARCH:
            return tool
        shown = replace(tool.tool_def, defer_loading=False, with_native=None)
        return replace(tool, toolset=self, tool_def=shown, args_validator=_ANY_ARGUMENTS, args_validator_func=None)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        if name in self.gone:
            raise ToolFailed(self.explain(name))
        return await super().call_tool(name, tool_args, ctx, tool)
