"""The search behind pydantic-ai's `ToolSearch`: an index in step with the agent's tools, and which to reveal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from threading import RLock
from typing import Any

from ...errors import MissingExtra, ToolSearchError
from ..answers.budget import AnswerBudget, Shown
from ..answers.search_tools import Found, Strategy, search_catalog
from ..answers.texts import Recorder, Wording
from ..catalog import MAX_LIMIT, Ranker, ToolCatalog
from ..engine.entry import Entry, entry_of
from ..preload import MessageSearch, Preloader
from ..records.conversation import ConversationRecord

try:
    from pydantic_ai import RunContext
    from pydantic_ai.tools import ToolDefinition
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

from ...convert.wire import ALIASES, mapping, strings
from ._names import NamesOfApis

__all__ = ["SEARCH", "Engine", "Search", "UnanswerableError"]

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

    def __init__(
        self,
        strategy: Strategy,
        catalog: ToolCatalog | None,
        *,
        max_results: int,
        record: Recorder | None,
        words: Wording,
        budget: AnswerBudget,
    ) -> None:
        self.catalog = ToolCatalog(limit_tools=_UNLIMITED) if catalog is None else catalog
        self._given = catalog is not None
        self._strategy: Strategy = strategy
        self._max_results = max_results
        self._record = record
        self._words = words
        self._budget = budget
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
        limit = MAX_LIMIT if selected else max(self._max_results, 2 * len(found))
        ranked = chain.from_iterable(zip_longest(*(result.entries for result in found.values())))
        entries = list({entry.name: entry for entry in ranked if entry is not None}.values())
        shown = self._budget.shown(entries[:limit])
        shown = replace(shown, further=shown.further + sum(result.further for result in found.values()))
        running = SEARCH.get()
        if running is not None:
            running.notes.extend(self._notes(found, shown, refused))
        return [entry.name for entry in shown.whole]

    def preloader(self, tools: Sequence[ToolDefinition], count: int, most: int | None) -> Preloader:
        """A preloader for a conversation of an agent with `tools`."""
        with self._lock:
            self._update(tools)
            if self._messages is None or self._messages[0] is not self.catalog:
                self._messages = self.catalog, MessageSearch(self.catalog)
            return Preloader(self._messages[1], count, most=most)

    def within_budget(self, tools: Sequence[ToolDefinition]) -> list[str]:
        """The names of the tools that fit the budget together, in their order; others are left to a search."""
        return [entry.name for entry in self._budget.shown([entry_of(_row(tool)) for tool in tools]).whole]

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
            yield self._words["nearest loaded"].format(query=", ".join(unsure))
        else:
            for query, result in unsure.items():
                names = ", ".join(entry.name for entry in result.entries)
                yield self._words["nearest beside"].format(query=repr(query), names=names)
        nothing = [query for query, result in found.items() if not result.entries and not result.hidden]
        if nothing and (refused or len(nothing) < len(found)):
            yield self._words["nothing beside"].format(query=", ".join(map(repr, nothing)))
        yield from dict.fromkeys(refused)
        if shown.whole:
            yield from self._words.rest(shown)
        hidden = dict.fromkeys(name for result in found.values() for name in result.hidden)
        unknown = dict.fromkeys(name for result in found.values() for name in result.unknown)
        if hidden and not shown.whole:
            yield self._words.only_hidden(", ".join(found), hidden)
            hidden = {}
        yield from self._words.missing(hidden, unknown)

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
        if len(tool.description or "") + len(str(tool.parameters_json_schema)) <= self._budget.tokens:
            return None  # a token has a character or more
        entry = entry_of(_row(tool))
        short = self._budget.cut(entry)
        if short is entry:
            return None
        return replace(tool, description=short.description, parameters_json_schema=short.input_schema)

    def _found(self, query: str, offered: Collection[str]) -> Found:
        shared = len(self.catalog) > len(offered)
        limit = MAX_LIMIT if shared else self._max_results
        # Tools of other agents are left out below, and may rank first.
        found = search_catalog(self.catalog, query, strategy=self._strategy, limit=limit)
        if shared:
            found = self._of_agent(found, query, offered)
        running = SEARCH.get()
        record = self._record if running is None or running.conversation is None else running.conversation
        if record is not None:
            record.searched(query, found.kind, [self.names.original(entry.name) for entry in found.entries])
        return found

    def _of_agent(self, found: Found, query: str, offered: Collection[str]) -> Found:
        """The part of `found` that the agent has; searched again without the others where they fill all places."""
        own = [entry for entry in found.entries if entry.name in offered]
        if found.kind == "select":
            return replace(found, entries=tuple(own))
        if len(found.entries) == MAX_LIMIT and len(own) < self._max_results:
            alone = search_catalog(
                self._without_others(offered), query, strategy=self._strategy, limit=self._max_results
            )
            own = list({entry.name: entry for entry in chain(own, alone.entries)}.values())
        entries: tuple[Entry, ...] = tuple(own[: self._max_results])
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
