"""The search behind pydantic-ai's `ToolSearch`: an index in step with the agent's tools, and what to reveal.

Besides: what the history of a run says of its tools, what is preloaded, and the names that the API of a model accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import chain, takewhile, zip_longest
from threading import RLock
from typing import Any

from ..common.json import is_sequence
from ..convert.wire import ALIASES, WireNames, mapping, strings
from ..errors import MissingExtra, ToolSearchError
from .answers import Shown
from .catalog import MAX_LIMIT, Ranker, ToolCatalog
from .engine.entry import Entry, entry_of
from .log import ConversationRecord
from .message import text_of
from .options import CheckedOptions
from .preload import MessageSearch, Preloader
from .search_tools import Found, search_with

try:
    from pydantic_ai import RunContext
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelRequestPart,
        ModelResponse,
        NativeToolSearchReturnPart,
        ToolAvailabilityDeltaPart,
        ToolCallPart,
        ToolReturnPart,
        ToolSearchReturnPart,
        UserPromptPart,
        post_compaction_window,
    )
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

_UNLIMITED = 2**62


@dataclass(frozen=True, slots=True)
class Search:
    """What belongs to a running search of a model; pydantic-ai's interface has room for queries and names only."""

    notes: list[str]
    """Notes for the model."""
    conversation: ConversationRecord | None
    """The records of its conversation."""


SEARCH: ContextVar[Search | None] = ContextVar("hikidashi_search", default=None)


class UnanswerableError(Exception):
    """Every query of a search is invalid; the message is for the model."""


class Engine:
    """The `strategy` of a `ToolSearch`: `(ctx, queries, tools) -> names`."""

    def __init__(self, catalog: ToolCatalog | None, options: CheckedOptions) -> None:
        self.catalog = ToolCatalog(limit_tools=_UNLIMITED) if catalog is None else catalog
        self._given = catalog is not None
        self.options = options
        self.names = NamesOfApis()
        self._lock = RLock()
        self._added: dict[str, ToolDefinition] = {}
        """The tools in the catalogue that were added from an agent."""
        self._last: Sequence[ToolDefinition] = ()
        self._own_tools: tuple[list[Any], ToolCatalog] | None = None
        self._messages: tuple[ToolCatalog, MessageSearch] | None = None
        self._sizes: dict[str, tuple[str | None, Any, ToolDefinition | None]] = {}

    def __call__(self, _: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
        """The names of the tools to reveal, best first; explanations go into `SEARCH`."""
        searched = [query for query in queries if query.strip()]
        with self._lock:  # another run may have other tools
            self._update(tools)
            offered = {tool.name for tool in tools}
            found, refused = self._answered(searched, offered)
        selected = any(result.kind == "select" for result in found.values())
        limit = MAX_LIMIT if selected else max(self.options.max_results, 2 * len(found))
        ranked = chain.from_iterable(zip_longest(*(result.entries for result in found.values())))
        entries = list({entry.name: entry for entry in ranked if entry is not None}.values())
        shown = self.options.budget.shown(entries[:limit])
        shown = replace(shown, further=shown.further + sum(result.further for result in found.values()))
        running = SEARCH.get()
        if running is not None:
            running.notes.extend(self._notes(found, shown, refused))
        return [entry.name for entry in shown.whole]

    def preloader(self, tools: Sequence[ToolDefinition]) -> Preloader:
        """A preloader for a conversation of an agent with `tools`."""
        with self._lock:
            self._update(tools)
            if self._messages is None or self._messages[0] is not self.catalog:
                self._messages = self.catalog, MessageSearch(self.catalog)
            return Preloader.of(self.options, self._messages[1])

    def within_budget(self, tools: Sequence[ToolDefinition]) -> list[str]:
        """The names of the tools that fit the budget together, in their order; others are left to a search."""
        return [entry.name for entry in self.options.budget.shown([entry_of(_row(tool)) for tool in tools]).whole]

    def _answered(self, queries: Sequence[str], offered: Collection[str]) -> tuple[dict[str, Found], list[str]]:
        """What each query finds, and the errors of invalid queries.

        Raises:
            UnanswerableError: all of them are invalid.
        """
        found: dict[str, Found] = {}
        refused: list[str] = []
        for query in queries:
            try:
                found[query] = self._found(query, offered)
            except ToolSearchError as error:
                refused.append(str(error))
        if refused and not found:
            raise UnanswerableError("\n".join(dict.fromkeys(refused)))
        return found, refused

    def _notes(self, found: Mapping[str, Found], shown: Shown, refused: Collection[str]) -> Iterable[str]:
        """Notes for the model about a search, beside the revealed tools."""
        unsure = {query: result for query, result in found.items() if not result.confident}
        if unsure and len(unsure) == len(found):
            yield self.options.words["nearest loaded"].format(query=", ".join(unsure))
        else:
            for query, result in unsure.items():
                names = ", ".join(entry.name for entry in result.entries)
                yield self.options.words["nearest beside"].format(query=repr(query), names=names)
        nothing = [query for query, result in found.items() if not result.entries and not result.hidden]
        if nothing and (refused or len(nothing) < len(found)):
            yield self.options.words["nothing beside"].format(query=", ".join(map(repr, nothing)))
        yield from dict.fromkeys(refused)
        if shown.whole:
            yield from self.options.words.rest(shown)
        hidden = dict.fromkeys(name for result in found.values() for name in result.hidden)
        unknown = dict.fromkeys(name for result in found.values() for name in result.unknown)
        if hidden and not shown.whole:
            yield self.options.words.only_hidden(", ".join(found), hidden)
            hidden = {}
        yield from self.options.words.missing(hidden, unknown)

    def cut_to_budget(self, tools: Sequence[ToolDefinition]) -> list[ToolDefinition] | None:
        """`tools` with definitions cut to the budget; None where none has to be cut."""
        cut: dict[str, ToolDefinition] = {}
        for tool in tools:
            known = self._sizes.get(tool.name)
            if known is None or known[0] is not tool.description or known[1] is not tool.parameters_json_schema:
                known = tool.description, tool.parameters_json_schema, self._cut(tool)
                self._sizes[tool.name] = known
            if known[2] is not None:
                cut[tool.name] = known[2]
        if not cut:
            return None
        return [
            replace(tool, description=short.description, parameters_json_schema=short.parameters_json_schema)
            if (short := cut.get(tool.name)) is not None
            else tool
            for tool in tools
        ]

    def _cut(self, tool: ToolDefinition) -> ToolDefinition | None:
        if len(tool.description or "") + len(str(tool.parameters_json_schema)) <= self.options.budget.tokens:
            return None  # a token has a character or more
        entry = entry_of(_row(tool))
        short = self.options.budget.cut(entry)
        if short is entry:
            return None
        return replace(tool, description=short.description, parameters_json_schema=short.input_schema)

    def _found(self, query: str, offered: Collection[str]) -> Found:
        shared = len(self.catalog) > len(offered)
        limit = MAX_LIMIT if shared else self.options.max_results
        # Tools of other agents are left out below, and may rank first.
        found = search_with(self.options, self.catalog, query, limit=limit)
        if shared:
            found = self._of_agent(found, query, offered)
        running = SEARCH.get()
        record = self.options.record if running is None or running.conversation is None else running.conversation
        if record is not None:
            record.searched(query, found.kind, [self.names.original(entry.name) for entry in found.entries])
        return found

    def _of_agent(self, found: Found, query: str, offered: Collection[str]) -> Found:
        """The part of `found` that the agent has; searched again without the others where they fill all places."""
        own = [entry for entry in found.entries if entry.name in offered]
        if found.kind == "select":
            return replace(found, entries=tuple(own))
        if len(found.entries) == MAX_LIMIT and len(own) < self.options.max_results:
            alone = search_with(self.options, self._without_others(offered), query)
            own = list({entry.name: entry for entry in chain(own, alone.entries)}.values())
        entries: tuple[Entry, ...] = tuple(own[: self.options.max_results])
        return replace(found, entries=entries, further=len(own) - len(entries))

    def _without_others(self, offered: Collection[str]) -> ToolCatalog:
        """A catalogue of the agent's own tools, built when tools of others fill all places."""
        tools = [self.catalog.get(name) for name in sorted(offered)]
        if self._own_tools is None or self._own_tools[0] != tools:
            ranker: Ranker = "lexical" if self.catalog.ranker == "lexical" else "auto"
            self._own_tools = tools, ToolCatalog(tools, ranker=ranker, limit_tools=len(tools))
        return self._own_tools[1]

    def _update(self, tools: Sequence[ToolDefinition]) -> None:
        """Have `tools` in the catalogue; only what differs is changed."""
        if tools is self._last:
            return
        if not self._given and not self._added:  # all at once is faster than one by one
            self.catalog = ToolCatalog(map(_row, tools), limit_tools=_UNLIMITED)
            self._added = {tool.name: tool for tool in tools}
        # The limit is that of a request to the API, which never holds these tools all at once.
        self.catalog.raise_limit(len(tools) + len(self.catalog))
        for name in self._added.keys() - {tool.name for tool in tools}:
            self._remove(name)
        for tool in tools:
            if tool.name in self.catalog:
                known = self._added.get(tool.name)
                if known is None or _same(known, tool):
                    continue  # unchanged, or in the catalogue before, with the description given there
                self._remove(tool.name)
            self.catalog.add(_row(tool))
            self._added[tool.name] = tool
        self._last = tools

    def _remove(self, name: str) -> None:
        del self._added[name]
        if name in self.catalog:  # its owner may have removed it already
            self.catalog.remove(name)


def _same(known: ToolDefinition, tool: ToolDefinition) -> bool:
    """Whether the index would be the same; pydantic-ai makes new definitions of the same schemas in each step."""
    return (
        known.description == tool.description
        and (
            known.parameters_json_schema is tool.parameters_json_schema
            or known.parameters_json_schema == tool.parameters_json_schema
        )
        and known.metadata == tool.metadata
    )


def _row(tool: ToolDefinition) -> dict[str, Any]:
    """A definition as a catalogue row; aliases are where `to_pydantic_ai` puts them."""
    metadata = tool.metadata or {}
    return {
        "name": tool.name,
        "description": tool.description or "",
        "input_schema": tool.parameters_json_schema,
        "aliases": strings(mapping(metadata.get("meta")).get(ALIASES)),
        "metadata": metadata,
    }


class Remade:
    """Definitions made from others by `make`, and made again only where these change.

    pydantic-ai asks for the definitions in each step, and compares them with those before.
    """

    def __init__(self, make: Callable[[ToolDefinition], ToolDefinition]) -> None:
        self._make = make
        self._made: dict[str, tuple[ToolDefinition, ToolDefinition]] = {}

    def of(self, tool: ToolDefinition) -> ToolDefinition:
        """What is made from `tool`."""
        known = self._made.get(tool.name)
        if known is None or (known[0] is not tool and known[0] != tool):
            known = self._made[tool.name] = tool, self._make(tool)
        return known[1]

    def before(self, name: str) -> ToolDefinition:
        """The definition from which the last one was made for the tool `name`."""
        return self._made[name][0]


class Preloading:
    """The tools that are preloaded in one run, and how all tools of its conversation were found.

    Args:
        engine: The search of the agent.
        conversation: The records of the conversation.
    """

    def __init__(self, engine: Engine, conversation: ConversationRecord) -> None:
        self._engine = engine
        self._conversation = conversation
        self._preloader: Preloader | None = None
        self._read: list[object] = []
        self._loaded: dict[str, None] = {}
        self.first: set[str] = set()
        """The tools for messages before the first answer of a model, which are not deferred."""
        self._visible = Remade(lambda tool: replace(tool, defer_loading=False, with_native=None))

    @property
    def loaded(self) -> tuple[str, ...]:
        """The names of the preloaded tools, in the order in which they were loaded."""
        return tuple(self._loaded)

    def read(self, history: Sequence[ModelMessage], tools: Sequence[ToolDefinition]) -> None:
        """Load the tools for the messages of users in `history` that were not read before, among deferred `tools`."""
        searched: dict[str, ToolDefinition] | None = None
        original = self._engine.names.original
        for happened in happened_in(history):
            self._conversation.remember(map(original, happened.found), "search")
            content = happened.message
            if not self._engine.options.preloads or content is None or content in self._read:
                continue
            if searched is None:
                # `with_native` marks deferred tools that may be searched: those of an unloaded capability may not.
                searched = {tool.name: tool for tool in tools if tool.defer_loading and tool.with_native}
            if not searched:
                return
            if self._preloader is None:
                self._preloader = self._engine.preloader([*searched.values()])
            self._read.append(content)
            names = [name for name in happened.added if name in searched]
            if not names:  # the history does not say what the message has loaded
                best = self._preloader.best(content, among=searched)
                names = self._engine.within_budget([searched[name] for name in best])
            self._preloader.remember(names)
            self._loaded.update(dict.fromkeys(names))
            if happened.is_first:
                self.first.update(names)
            if happened.is_new:
                self._conversation.preloaded(text_of(content), [*map(original, names)])
            else:
                self._conversation.remember(map(original, names), "preload")

    def shown(self, tools: Sequence[ToolDefinition], *, lists_deferred: bool) -> list[ToolDefinition]:
        """`tools` with the preloaded ones last, in the order in which they were loaded; the first are not deferred.

        Args:
            tools: The tools of a request.
            lists_deferred: Whether the request lists deferred tools too. Then later ones stay where they are listed.
        """
        last = {name for name in self.loaded if name in self.first or not lists_deferred}
        named = {tool.name: tool for tool in tools if tool.name in last}
        ordered = (named[name] for name in self.loaded if name in named)
        shown = (self._visible.of(tool) if tool.name in self.first else tool for tool in ordered)
        return [*(tool for tool in tools if tool.name not in named), *shown]


@dataclass(frozen=True, slots=True)
class _Happened:
    """What a part of a history says about tools: that a search found some, or what the user wrote."""

    found: Sequence[str] = ()
    """The names of the tools that a search found."""
    message: object = None
    """The content of a user's message."""
    added: Sequence[str] = ()
    """The names of the tools that were added between the message and the answer of the model."""
    is_first: bool = False
    """Whether it was before the first answer of a model."""
    is_new: bool = False
    """Whether it was after the last answer of a model."""


def happened_in(history: Sequence[ModelMessage]) -> Iterator[_Happened]:
    """Searches and messages of the user, in the order of the conversation."""
    answers = [place for place, message in enumerate(history) if isinstance(message, ModelResponse)]
    first, last = (answers[0], answers[-1]) if answers else (len(history), -1)
    for place, message in enumerate(history):
        # Beside the results of tools, user prompts are what the tools returned.
        has_results = any(isinstance(part, ToolReturnPart) for part in message.parts)
        for part in message.parts:
            if isinstance(part, ToolSearchReturnPart | NativeToolSearchReturnPart):
                yield _Happened(found=list(_found_in(part)))
            elif isinstance(part, UserPromptPart) and not has_results:
                added = [] if place > last else list(_added_before_answer(history, place))
                yield _Happened(message=part.content, added=added, is_first=place < first, is_new=place > last)


def found_or_called(messages: Iterable[ModelMessage]) -> Iterator[str]:
    """The names of tools that were found in `messages`, or called with success."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart) and part.outcome == "success":
                yield part.tool_name
            yield from _found_in(part)


def shown_again(messages: Sequence[ModelMessage], found: Iterable[str]) -> ModelRequest | None:
    """The message to append so that the model sees all tools in `found`; None if it sees them, or cannot be told."""
    if not messages or not isinstance(messages[-1], ModelRequest):
        return None
    parts = (part for message in post_compaction_window(messages) for part in message.parts)
    seen = {name for part in parts for name in _found_in(part)}
    lost = [name for name in found if name not in seen]
    return ModelRequest(parts=[ToolAvailabilityDeltaPart(tools_added=lost)]) if lost else None


def without_additions(messages: Sequence[ModelMessage], names: Container[str]) -> list[ModelMessage]:
    """`messages` that do not say of tools in `names` that they were added; a request that says no more is left out."""
    kept: list[ModelMessage] = []
    for message in messages:
        if not any(name in names for part in message.parts for name in _added_in(part)):
            kept.append(message)
        elif isinstance(message, ModelRequest):
            parts = [rest for part in message.parts if (rest := _without(part, names)) is not None]
            kept += [replace(message, parts=parts)] if parts else []
    return kept


def _added_before_answer(history: Sequence[ModelMessage], place: int) -> Iterator[str]:
    for message in takewhile(lambda message: not isinstance(message, ModelResponse), history[place:]):
        for part in message.parts:
            yield from _added_in(part)


def _without(part: ModelRequestPart, names: Container[str]) -> ModelRequestPart | None:
    if not isinstance(part, ToolAvailabilityDeltaPart):
        return part
    added = [name for name in part.tools_added if name not in names]
    return replace(part, tools_added=added) if added else None


def _added_in(part: object) -> Iterable[str]:
    return part.tools_added if isinstance(part, ToolAvailabilityDeltaPart) else ()


def _found_in(part: object) -> Iterable[str]:
    match part:
        case ToolSearchReturnPart() | NativeToolSearchReturnPart():
            return [match["name"] for match in part.discovered_tools]
        case ToolAvailabilityDeltaPart():
            return part.tools_added
        case _:
            return ()


_LONGEST = 64
_LONGEST_ANTHROPIC = 128
_ANY_NAME = ("pydantic_ai.models.function", "pydantic_ai.models.test")


class _ApiNames:
    """The names that one kind of API accepts, for the tools that were offered to it."""

    def __init__(self, longest: int) -> None:
        self.wire = WireNames(longest=longest)
        self._made = Remade(lambda tool: _renamed(tool, self.wire.of(tool.name)))

    def offered(self, tool: ToolDefinition) -> ToolDefinition:
        """`tool` under a name that the API accepts; `tool` itself if it has one."""
        return tool if self.wire.of(tool.name) == tool.name else self._made.of(tool)

    def own(self, name: str) -> ToolDefinition:
        """The definition of an offered tool under its own `name`."""
        return self._made.before(name)

    def in_history(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """`messages` with such names in the calls and results of tools; `messages` itself if nothing changes."""
        changed = False
        named: list[ModelMessage] = []
        for message in messages:
            parts = [self._part(part) for part in message.parts]
            if any(new is not old for new, old in zip(parts, message.parts, strict=True)):
                changed = True
                message = _with(message, parts=parts)  # noqa: PLW2901
            named.append(message)
        return named if changed else messages

    def _part(self, part: Any) -> Any:
        match part:
            case ToolSearchReturnPart() | NativeToolSearchReturnPart():
                matches = part.discovered_tools
                named = [{**match, "name": self.wire.of(match["name"])} for match in matches]
                return part if named == matches else replace(part, content={**part.content, "discovered_tools": named})
            case ToolAvailabilityDeltaPart():
                added = [*map(self.wire.of, part.tools_added)]
                return part if added == list(part.tools_added) else replace(part, tools_added=added)
            case ToolCallPart() | ToolReturnPart() if (name := self.wire.of(part.tool_name)) != part.tool_name:
                return _with(part, tool_name=name)
            case _:
                return part


def _with(message_or_part: Any, **changes: Any) -> Any:
    return replace(message_or_part, **changes)


class NamesOfApis:
    """The names of the tools of one agent for the models that it is run with."""

    def __init__(self) -> None:
        self._by_length: dict[int, _ApiNames] = {}

    def of(self, model: Any) -> _ApiNames | None:
        """The names for `model`; None if it takes any name."""
        longest = min(map(_longest, _models(model)), default=None)
        if longest is None:
            return None
        return self._by_length.setdefault(longest, _ApiNames(longest))

    def original(self, name: str) -> str:
        """The tool's own name."""
        for names in self._by_length.values():
            if (own := names.wire.original(name)) is not None:
                return own
        return name


@dataclass
class NamedForApi(WrapperToolset[Any]):
    """A toolset whose tools have names that the API of the model accepts; calls reach the tools under their own."""

    names: NamesOfApis

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools under names for the model of this run."""
        tools = await super().get_tools(ctx)
        names = self.names.of(ctx.model)
        if names is None:
            return tools
        names.wire.add(tools)
        return {names.wire.of(name): self._named(tool, names) for name, tool in tools.items()}

    def _named(self, tool: ToolsetTool[Any], names: _ApiNames) -> ToolsetTool[Any]:
        offered = names.offered(tool.tool_def)
        return tool if offered is tool.tool_def else replace(tool, toolset=self, tool_def=offered)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call a tool by either name."""
        names = self.names.of(ctx.model)
        own = None if names is None else names.wire.original(name)
        if names is not None and own is not None and own != name:
            name, ctx = own, replace(ctx, tool_name=own)
            tool = replace(tool, tool_def=names.own(own))
        return await super().call_tool(name, tool_args, ctx, tool)


def innermost(model: Any) -> Any:
    """The model that is asked, behind those that instrument it or limit its concurrency."""
    while isinstance(model, WrapperModel):
        inner: Any = model.wrapped
        model = inner
    return model


def _models(model: Any) -> list[Any]:
    """The models behind `model` whose API checks names."""
    model = innermost(model)
    inner = getattr(model, "models", None)
    if is_sequence(inner):  # one of them answers: `FallbackModel`
        return [checked for one in inner for checked in _models(one)]
    kind = type(model).__module__
    return [model] if kind.startswith("pydantic_ai.models.") and not kind.startswith(_ANY_NAME) else []


def _longest(model: Any) -> int:
    is_anthropic = type(model).__module__ == "pydantic_ai.models.anthropic" and model.system == "anthropic"
    return _LONGEST_ANTHROPIC if is_anthropic else _LONGEST


def _renamed(tool: ToolDefinition, name: str) -> ToolDefinition:
    """`tool` under another name, found by its own name too."""
    metadata: Mapping[str, Any] = tool.metadata or {}
    meta = mapping(metadata.get("meta"))
    aliases = [*strings(meta.get(ALIASES)), tool.name]
    return replace(
        tool,
        name=name,
        description=tool.description or tool.name,
        metadata={**metadata, "meta": {**meta, ALIASES: aliases}},
    )
