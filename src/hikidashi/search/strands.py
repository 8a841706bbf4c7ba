"""Tool search for strands: found tools are loaded into the running agent.

An agent's state and messages say which tools were found, how, and for which messages of the user. A session keeps the
state even when messages are summarised or truncated; messages are all there is for an agent that starts with the
history of another.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from threading import RLock
from typing import Any, Literal, Unpack, get_args
from weakref import WeakKeyDictionary

from ..common.json import as_object
from ..convert.strands import to_strands
from ..convert.wire import WireNames, root_schema, strings
from ..errors import MissingExtra, ToolSearchError, ToolValidationError, Unsupported
from ..tool import Tool
from .answers import SEARCH_TOOLS, echo, found_names
from .catalog import ToolCatalog
from .engine.entry import Entry, entry_of
from .log import ConversationRecord, FoundBy
from .message import text_of
from .options import CheckedOptions, SearchOptions, search_options
from .preload import MessageSearch, Preloader, first_new_message
from .search_tools import (
    catalog_of,
    reporting_lost_connections,
    require_tool,
    search_with,
    similar_names,
    unreachable_of,
)

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
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

logger = logging.getLogger("hikidashi")


_LONGEST_NAME = 64
"""Strands runs names of up to 64 ASCII letters, digits, `_` and `-`; it lists others and refuses their calls."""


def to_strands_search(
    tools: Iterable[Tool | AgentTool] | ToolCatalog,
    **options: Unpack[SearchOptions],
) -> ToolSearchHook:
    """A hook for `strands.Agent(hooks=[to_strands_search(tools)])`; do not pass the same tools as `tools=`.

    The agent gets `search_tools`. Found tools are in the agent's registry before the next model call, and stay there:
    the model calls them by name, like any other tool. An agent that starts with the `messages` of an earlier
    conversation has the tools found in them; one that restores a session, or starts with another agent's `state`, has
    all that were found, even if messages were summarised or truncated. A call of a tool that was not found loads it,
    and tells the model to call it again. A hikidashi tool whose name strands cannot call gets a valid one: see
    `WireNames`.

    Args:
        tools: hikidashi or strands tools, mixed, or a catalogue of them.
        options: See `SearchOptions`.

    Raises:
        ToolValidationError: a tool is called `search_tools` or is of another framework; the name of a strands tool is
            invalid, or the same as another's to strands; `always_loaded` names a tool that does not exist.
        Unsupported: the root of an input schema is not an object.
        ValueError: an option is invalid.
    """
    return ToolSearchHook(catalog_of(tools), search_options(**options))


class ToolSearchHook(HookProvider):
    """Gives agents `search_tools` and loads the tools it finds: see `to_strands_search`. May serve many agents."""

    def __init__(self, catalog: ToolCatalog, options: CheckedOptions) -> None:
        self.catalog = catalog
        self._options = options
        self._words = options.words
        self._message_search = MessageSearch(catalog)
        self._read: WeakKeyDictionary[Any, list[dict[str, Any]]] = WeakKeyDictionary()
        """The last new messages of each agent: a model call that is tried again loads nothing more for them."""
        self._loading = RLock()
        self._names = WireNames(longest=_LONGEST_NAME, alike=_seen_by_strands)
        self._names.add([SEARCH_TOOLS, *_checked_names(catalog, options.always_loaded)])

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Called by strands."""
        registry.add_callback(AgentInitializedEvent, self._add_search_tool)
        registry.add_callback(BeforeModelCallEvent, self._restore)
        registry.add_callback(BeforeToolCallEvent, self._before_call)

    def search(self, query: str, agent: Any) -> str:
        """The answer to a search, for the model; found tools are loaded into the agent's registry.

        Raises:
            ToolSearchError: the query is invalid.
        """
        found = search_with(self._options, self.catalog, query, own=self._own)
        entries = tuple(self._in_strands(entry) for entry in found.entries)
        shown = replace(found, entries=entries).shown(self._options.budget)
        loaded = self._load((entry.name for entry in shown.whole), agent)
        shown = replace(shown, whole=tuple(entry for entry in shown.whole if entry.name in loaded))
        names = [self._own(entry.name) for entry in (*shown.whole, *shown.short)]
        self._record_of(agent).searched(query, found.kind, names)
        if not shown.whole and not shown.short:
            return self._words.only_hidden(query, found.hidden) if found.hidden else self._words.nothing(query)
        answer = self._words.loaded(query, shown, confident=found.confident)
        return "\n".join([answer, *self._words.missing(found.hidden, found.unknown)])

    def _in_strands(self, entry: Entry) -> Entry:
        """`entry` under the name of the tool in strands."""
        with self._loading:
            return replace(entry, name=self._names.of(entry.name))

    def _add_search_tool(self, event: AgentInitializedEvent[Any]) -> None:
        registry: ToolRegistry = event.agent.tool_registry
        description = self._options.search_description()
        registry.register_tool(_SearchTool(self, description, self._options.query_description))
        for name in self._options.always_loaded:
            self._register(self._names.of(name), registry)

    def _restore(self, event: BeforeModelCallEvent) -> None:
        # Not when the agent is made: a session manager restores messages and state after that.
        agent: Any = event.agent
        messages: list[dict[str, Any]] = agent.messages
        new_from = first_new_message(messages)
        is_known = _was_replayed(agent)
        self._load(_kept(agent), agent)
        # In the order of the conversation, so that one that is resumed has its tools in the same order.
        read = self._read.get(agent, [])
        history = zip(messages, _loaded_by_searches(messages), _called_in_messages(messages), strict=True)
        for index, (message, found, called) in enumerate(history):
            if found:
                self._load(found, agent)
            if not self._options.preloads or (is_known and index < new_from):
                continue
            if not any(message is one for one in read):
                self._preload_for(message, agent, is_new=index >= new_from)
            # What was called was loaded, even if the search would not find it again: tools change, and encoders.
            missing = [name for name in called if name not in agent.tool_registry.registry]
            if missing and not is_known:
                _keep_found_by(agent, self._load(missing, agent), "preload")
        self._read[agent] = messages[new_from:]

    def _preload_for(self, message: Mapping[str, Any], agent: Any, *, is_new: bool) -> None:
        """Load the best tools for a message of the user; a message of tool results loads none."""
        if message["role"] != "user" or any("toolResult" in block for block in message["content"]):
            return
        preloader = Preloader.of(self._options, self._message_search, self._options.always_loaded)
        preloader.remember(self._own(name) for name, way in _found_by_of(agent).items() if way == "preload")
        best = map(self.catalog.get, preloader.best(message, has={*map(self._own, _kept(agent))}))
        new = [self._in_strands(entry_of(tool)) for tool in best if tool is not None]
        loaded = self._load((entry.name for entry in self._options.budget.shown(new).whole), agent)
        preloaded = [entry.name for entry in new if entry.name in loaded]
        _keep_found_by(agent, preloaded, "preload")
        if is_new:
            self._record_of(agent).preloaded(text_of(message), [*map(self._own, preloaded)])

    def _record_of(self, agent: Any) -> ConversationRecord:
        recorder = self._options.record
        return ConversationRecord(recorder, name=None if recorder is None else _conversation_of(agent))

    def _own(self, name: str) -> str:
        """The name in the catalogue of a tool that strands calls `name`."""
        return self._names.original(name) or name

    def _before_call(self, event: BeforeToolCallEvent[Any]) -> None:
        name = event.tool_use["name"]
        if event.selected_tool is not None:
            if (own := self._own(name)) in self.catalog:
                record = self._record_of(event.agent)
                record.remember([own], self._found_by(name, event.agent))
                record.called(own)
        elif self._load([name], event.agent):
            _keep_found_by(event.agent, [name], "nothing")
            event.cancel_tool = self._words.undiscovered_but_loaded(name)
        elif self._own(name) in unreachable_of(self.catalog):
            event.cancel_tool = self._words.unreachable(name)
        else:
            near = map(self._names.of, similar_names(self.catalog, name))
            event.cancel_tool = self._words.unknown(name, near)

    def _found_by(self, name: str, agent: Any) -> FoundBy:
        if self._own(name) in self._options.always_loaded:
            return "listed"
        return _found_by_of(agent).get(name, "search" if name in _kept(agent) else "listed")

    def _load(self, names: Iterable[str], agent: Any) -> set[str]:
        """Load tools into the agent's registry for good; return the names that are loaded."""
        with self._loading:  # searches of one turn may run in different threads
            loaded = dict.fromkeys(name for name in names if self._register(name, agent.tool_registry))
            _keep(agent, loaded)
            return set(loaded)

    def _register(self, name: str, registry: ToolRegistry) -> bool:
        if name in registry.registry:
            return True
        tool = self.catalog.get(self._own(name))
        if tool is None:
            return False
        try:
            registry.register_tool(self._for_strands(tool, name))
        except (ValueError, Unsupported) as error:  # added to the catalogue later, or the same name to strands
            logger.warning("strands cannot load the tool %r: %s", name, error)
            return False
        return True

    def _for_strands(self, tool: Any, name: str) -> AgentTool:
        checked = _checked(tool)
        if not isinstance(checked, Tool):
            return checked
        entry = self._options.budget.cut(entry_of(checked))
        description = entry.description or ("" if name == checked.name else checked.name)
        callable_tool = reporting_lost_connections(checked.renamed(name), self._words)
        return to_strands([replace(callable_tool, description=description, input_schema=entry.input_schema)])[0]


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
        query = as_object(tool_use["input"]).get("query")
        status: Literal["success", "error"] = "success"
        try:
            if not isinstance(query, str):
                raise ToolSearchError("invalid_tool_input", f"`query` is {echo(query)}. {self._query}")
            text = self._hook.search(query, invocation_state["agent"])
        except ToolSearchError as error:
            status, text = "error", str(error)
        yield ToolResultEvent({"toolUseId": tool_use["toolUseId"], "status": status, "content": [{"text": text}]})


def _seen_by_strands(name: str) -> str:
    """The form of a name in which strands compares names."""
    return name.replace("-", "_")


def _checked_names(catalog: ToolCatalog, always_loaded: Iterable[str]) -> list[str]:
    """The names of the catalogue's tools, all of them valid in strands; names that cannot change come first."""
    fixed: dict[str, str] = {SEARCH_TOOLS: SEARCH_TOOLS}
    others: list[str] = []
    for tool in catalog:
        checked = _checked(tool)
        if isinstance(checked, Tool) and _seen_by_strands(checked.name) != SEARCH_TOOLS:
            others.append(checked.name)
            continue
        name = checked.name if isinstance(checked, Tool) else checked.tool_name
        other = fixed.setdefault(_seen_by_strands(name), name)
        if other != name or name == SEARCH_TOOLS:
            raise ToolValidationError(f"strands treats the names {other!r} and {name!r} as the same. Rename one.", name)
    for name in always_loaded:
        require_tool(catalog, name)
    return [*fixed.values(), *others]


def _checked(tool: Any) -> Tool | AgentTool:
    """`tool`; raise unless strands can load and call it."""
    if not isinstance(tool, Tool | AgentTool):
        raise ToolValidationError(
            f"strands cannot run a {type(tool).__name__}. Bring it in with `from_mcp`, `from_pydantic_ai` or "
            "`from_function`."
        )
    if isinstance(tool, Tool):
        root_schema(tool.input_schema, tool_name=tool.name, target="strands", for_claude=False)
        return tool
    if WireNames(longest=_LONGEST_NAME).of(tool.tool_name) != tool.tool_name:
        raise ToolValidationError(
            f"strands cannot call a tool named {tool.tool_name!r}: it takes ASCII letters, digits, `_` and `-`, and "
            f"{_LONGEST_NAME} of them. Rename it.",
            tool.tool_name,
        )
    return tool


_FOUND = "hikidashi_found_tools"
_FOUND_BY = "hikidashi_found_by"
_CONVERSATION = "hikidashi_conversation"


def _kept(agent: Any) -> list[str]:
    """The names of the tools in the agent's state, in the order in which they were loaded."""
    return strings(agent.state.get(_FOUND))


def _keep(agent: Any, names: Iterable[str]) -> None:
    """Add `names` to the tools in the agent's state."""
    before = _kept(agent)
    after = list(dict.fromkeys([*before, *names]))
    if after != before:
        agent.state.set(_FOUND, after)


def _found_by_of(agent: Any) -> dict[str, FoundBy]:
    """How tools were found, where it was not a search."""
    return {name: way for name, way in as_object(agent.state.get(_FOUND_BY)).items() if way in get_args(FoundBy)}


def _keep_found_by(agent: Any, names: Iterable[str], found_by: FoundBy) -> None:
    """Add to the agent's state how `names` were found, unless it says so already."""
    before = _found_by_of(agent)
    after = {**dict.fromkeys(names, found_by), **before}
    if after != before or not _was_replayed(agent):
        agent.state.set(_FOUND_BY, {**before, **after})


def _was_replayed(agent: Any) -> bool:
    """Whether the state says what earlier messages loaded."""
    return isinstance(agent.state.get(_FOUND_BY), Mapping)


def _conversation_of(agent: Any) -> str:
    """A name for the agent's conversation, the same when its session is restored."""
    name = agent.state.get(_CONVERSATION)
    if not isinstance(name, str) or not name:
        name = secrets.token_hex(6)
        agent.state.set(_CONVERSATION, name)
    return name


def _loaded_by_searches(messages: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """For each message, the names of the tools that searches in it found."""
    searches: set[str] = set()
    for message in messages:
        names: list[str] = []
        for block in message["content"]:
            if use := block.get("toolUse"):
                if use["name"] == SEARCH_TOOLS:
                    searches.add(use["toolUseId"])
            elif (result := block.get("toolResult")) and result["toolUseId"] in searches:
                for content in result["content"]:
                    names += found_names(content.get("text", ""))
        yield names


def _called_in_messages(messages: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """For each message, the names of the tools whose results in it are no errors."""
    calls: dict[str, str] = {}
    for message in messages:
        names: list[str] = []
        for block in message["content"]:
            if use := block.get("toolUse"):
                calls[use["toolUseId"]] = use["name"]
            elif (result := block.get("toolResult")) and result.get("status") != "error":
                names += [calls[result["toolUseId"]]] if result["toolUseId"] in calls else []
        yield names
