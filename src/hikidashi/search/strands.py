"""Tool search for strands: what a search finds is loaded into the running agent."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from threading import RLock
from typing import Any, cast

from ..errors import MissingExtra, ToolSearchError, ToolValidationError, Unsupported
from ..tool import Tool
from ._answer import SEARCH_TOOLS, Language, Recorder, found_names, wording
from ._desk import Strategy, asked, catalog_of, check_options, names_in, nearest
from .catalog import ToolCatalog

try:
    from strands.hooks import (
        AgentInitializedEvent,
        BeforeModelCallEvent,
        BeforeToolCallEvent,
        HookProvider,
        HookRegistry,
    )
    from strands.tools.registry import ToolRegistry
    from strands.types.events import ToolResultEvent
    from strands.types.tools import AgentTool, ToolGenerator, ToolSpec, ToolUse
    from strands.types.tools import ToolResult as StrandsResult
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

from ..convert._checks import object_schema, strings
from ..convert.strands import check_name, to_strands

__all__ = ["ToolSearchHook", "searchable"]

logger = logging.getLogger("hikidashi")

_STATE = "hikidashi_found_tools"
"""The key in the agent's state, which a session keeps even where its messages are summed up or cut."""


def searchable(
    tools: Iterable[Tool | AgentTool] | ToolCatalog,
    *,
    strategy: Strategy = "both",
    max_results: int = 5,
    always_loaded: Iterable[str] = (),
    about: str | None = None,
    language: Language = "en",
    record: Recorder | None = None,
) -> ToolSearchHook:
    """Tool search over `tools` for `strands.Agent(hooks=[searchable(tools)])`; leave them out of the agent's own tools.

    The agent gets `search_tools`. What it finds is in the agent's registry before the next model call, and stays: the
    model calls it by name, like any other tool. An agent that starts with `messages` of an earlier conversation has
    what was found in them; one that restores a session, or starts with another's `state`, has all that was found,
    even where messages were summed up or cut. A call of a tool that was not found is answered with the advice to
    search, and loads it.

    Args:
        tools: hikidashi or strands tools, mixed, or a catalogue of them.
        strategy: What a query is: words, a pattern, or either (a pattern between slashes).
        max_results: How many tools a search loads at most.
        always_loaded: Names of tools that the model sees from the start.
        about: What the tools are for, in a few words: all that the model knows of them before it searches.
        language: The language of what the model reads.
        record: Who hears of searches and calls.

    Raises:
        ToolValidationError: two names differ only in `-` and `_`, which strands takes for one, or strands cannot call
            one; a tool is called `search_tools` or is of another framework; `always_loaded` names one that is not
            there.
        Unsupported: the root of an input schema is not an object.
        ValueError: `strategy`, `max_results` or `language` is none of what it can be.
    """
    check_options(strategy, max_results)
    return ToolSearchHook(
        catalog_of(tools),
        strategy=strategy,
        max_results=max_results,
        always_loaded=tuple(names_in("always_loaded", always_loaded)),
        about=about,
        language=language,
        record=record,
    )


class ToolSearchHook(HookProvider):
    """Gives agents `search_tools` and loads what it finds: see `searchable`. One hook may serve many agents."""

    def __init__(
        self,
        catalog: ToolCatalog,
        *,
        strategy: Strategy,
        max_results: int,
        always_loaded: tuple[str, ...],
        about: str | None,
        language: Language,
        record: Recorder | None,
    ) -> None:
        self.catalog = catalog
        self._strategy: Strategy = strategy
        self._max_results = max_results
        self._always_loaded = always_loaded
        self._about = about
        self._words = wording(language)
        self._record = record
        self._loading = RLock()
        _check(catalog, always_loaded)

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Called by strands."""
        registry.add_callback(AgentInitializedEvent, self._equip)
        registry.add_callback(BeforeModelCallEvent, self._restore)
        registry.add_callback(BeforeToolCallEvent, self._before_call)

    def search(self, query: str, agent: Any) -> str:
        """What the model reads of a search; the tools found are in the agent's registry then.

        Raises:
            ToolSearchError: the query cannot be answered.
        """
        kind, entries = asked(self.catalog, query, strategy=self._strategy, limit=self._max_results)
        loaded = self._load((entry.name for entry in entries), agent)
        found = [entry for entry in entries if entry.name in loaded]
        if self._record is not None:
            self._record.searched(query, kind, [entry.name for entry in found])
        return self._words.loaded(found) if found else self._words.nothing(query)

    def _equip(self, event: AgentInitializedEvent[Any]) -> None:
        registry: ToolRegistry = event.agent.tool_registry
        description = self._words.search_description(self._about)
        registry.register_tool(_SearchTool(self, description, self._words[f"query {self._strategy}"]))
        for name in self._always_loaded:
            self._register(name, registry)

    def _restore(self, event: BeforeModelCallEvent) -> None:
        # Here and not when the agent is made: a session manager brings messages and state later than that.
        agent = cast("Any", event.agent)
        self._load([*_kept(agent), *_found_before(agent.messages)], agent)

    def _before_call(self, event: BeforeToolCallEvent[Any]) -> None:
        name = event.tool_use["name"]
        if event.selected_tool is not None:
            if self._record is not None and name in self.catalog:
                self._record.called(name)
        elif self._load([name], event.agent):
            event.cancel_tool = self._words.undiscovered_but_loaded(name)
        else:
            event.cancel_tool = self._words.unknown(name, nearest(self.catalog, name))

    def _load(self, names: Iterable[str], agent: Any) -> set[str]:
        """Put tools into the agent's registry, for good; those that are there then."""
        with self._loading:  # searches of one turn may run in threads of their own
            loaded = dict.fromkeys(name for name in names if self._register(name, agent.tool_registry))
            kept = _kept(agent)
            if not loaded.keys() <= set(kept):
                agent.state.set(_STATE, list(dict.fromkeys([*kept, *loaded])))
            return set(loaded)

    def _register(self, name: str, registry: ToolRegistry) -> bool:
        if name in registry.registry:
            return True
        tool = self.catalog.get(name)
        if tool is None:
            return False
        try:
            registry.register_tool(_for_strands(tool))
        except (ValueError, Unsupported) as error:  # put into the catalogue later, or too much like another name
            logger.warning("strands cannot load the tool %r: %s", name, error)
            return False
        return True


class _SearchTool(AgentTool):
    """`search_tools`, as strands sees it."""

    def __init__(self, hook: ToolSearchHook, description: str, query: str) -> None:
        super().__init__()
        self._hook = hook
        self._query = query
        schema = {"type": "object", "properties": {"query": {"type": "string", "description": query}}}
        self._spec: ToolSpec = {
            "name": SEARCH_TOOLS,
            "description": description,
            "inputSchema": {"json": {**schema, "required": ["query"]}},
        }

    @property
    def tool_name(self) -> str:
        return SEARCH_TOOLS

    @property
    def tool_spec(self) -> ToolSpec:
        return self._spec

    @property
    def tool_type(self) -> str:
        return "python"

    async def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> ToolGenerator:
        query = cast("Mapping[str, Any]", tool_use["input"] or {}).get("query")
        status = "success"
        try:
            if not isinstance(query, str):
                raise ToolSearchError("invalid_tool_input", f"`query` is {query!r}. {self._query}")
            said = self._hook.search(query, invocation_state["agent"])
        except ToolSearchError as error:
            status, said = "error", str(error)
        answer = {"toolUseId": tool_use["toolUseId"], "status": status, "content": [{"text": said}]}
        yield ToolResultEvent(cast("StrandsResult", answer))


def _check(catalog: ToolCatalog, always_loaded: Iterable[str]) -> None:
    seen: dict[str, str] = {SEARCH_TOOLS: SEARCH_TOOLS}
    for name in catalog.names:
        other = seen.setdefault(name.replace("-", "_"), name)
        if other != name or name == SEARCH_TOOLS:
            raise ToolValidationError(
                f"strands takes the tools {other!r} and {name!r} for one. Rename one with `tool.renamed(...)`.", name
            )
    for tool in catalog:
        _checked(tool)
    for name in always_loaded:
        if name not in catalog:
            raise ToolValidationError(f"`always_loaded` names {name!r}, which the catalogue does not have.", name)


def _checked(tool: Any) -> Tool | AgentTool:
    """`tool`, which strands can load and call."""
    if not isinstance(tool, Tool | AgentTool):
        raise ToolValidationError(
            f"strands cannot run a {type(tool).__name__}. Bring it in with `from_mcp`, `from_pydantic_ai` or "
            "`from_function`."
        )
    name = tool.name if isinstance(tool, Tool) else tool.tool_name
    check_name(name)
    if isinstance(tool, Tool):
        object_schema(tool, "strands")
    return tool


def _for_strands(tool: Any) -> AgentTool:
    checked = _checked(tool)
    return to_strands([checked])[0] if isinstance(checked, Tool) else checked


def _kept(agent: Any) -> list[str]:
    """The names of tools that the agent's state says were found."""
    return strings(agent.state.get(_STATE))


def _found_before(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The names that searches in `messages` found."""
    searches: set[str] = set()
    for message in messages:
        for block in message["content"]:
            if use := block.get("toolUse"):
                if use["name"] == SEARCH_TOOLS:
                    searches.add(use["toolUseId"])
            elif (result := block.get("toolResult")) and result["toolUseId"] in searches:
                for content in result["content"]:
                    yield from found_names(content.get("text", ""))
