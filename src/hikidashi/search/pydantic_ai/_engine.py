"""The search behind pydantic-ai's `ToolSearch`: it follows the tools of an agent, and says which of them to reveal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from itertools import chain, zip_longest
from threading import RLock
from typing import Any

from ...errors import MissingExtra, ToolSearchError
from ..answers.budget import AnswerBudget, Shown
from ..answers.search_tools import Found, Strategy, asked
from ..answers.texts import Recorder, Wording
from ..catalog import MAX_LIMIT, ToolCatalog
from ..engine.entry import Entry, entry_of

try:
    from pydantic_ai import RunContext
    from pydantic_ai.tools import ToolDefinition
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

from ...convert.checks import ALIASES, mapping, strings

__all__ = ["TOLD", "Engine", "UnanswerableError"]

_UNLIMITED = 2**62
TOLD: ContextVar[list[str] | None] = ContextVar("hikidashi_told_by_search", default=None)
"""What the running search says beside the names that it gives pydantic-ai."""


class UnanswerableError(Exception):
    """A search that cannot be answered; its text is for the model."""


class Engine:
    """The strategy: `(ctx, queries, tools) -> names`."""

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
        self._lock = RLock()
        self._ours: dict[str, ToolDefinition] = {}
        """The tools in the catalogue that came from an agent."""
        self._last: Sequence[ToolDefinition] = ()
        self._alone: tuple[list[Any], ToolCatalog] | None = None
        self._sizes: dict[str, tuple[str | None, Any, ToolDefinition | None]] = {}

    def __call__(self, _: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
        """The names of the tools to reveal, best first; what else there is to say goes into `TOLD`."""
        searched = [query for query in queries if query.strip()]
        with self._lock:  # another run may have other tools
            self._follow(tools)
            offered = {tool.name for tool in tools}
            found, refused = self._answered(searched, offered)
        selected = any(result.kind == "select" for result in found.values())
        limit = MAX_LIMIT if selected else max(self._max_results, 2 * len(found))
        ranked = chain.from_iterable(zip_longest(*(result.entries for result in found.values())))
        entries = list({entry.name: entry for entry in ranked if entry is not None}.values())
        shown = self._budget.shown(entries[:limit])
        shown = replace(shown, further=shown.further + sum(result.further for result in found.values()))
        told = TOLD.get()
        if told is not None:
            told += [*self._beside(found, shown, refused)]
        return [entry.name for entry in shown.whole]

    def _answered(self, queries: Sequence[str], offered: Collection[str]) -> tuple[dict[str, Found], list[str]]:
        """What each query finds, and why some cannot be answered; one of these does not take the others with it.

        Raises:
            UnanswerableError: none of them can be answered.
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

    def _beside(self, found: Mapping[str, Found], shown: Shown, refused: Collection[str]) -> Iterable[str]:
        """What the search says beside the names of the tools that it reveals."""
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
        if hidden:
            whole = self._words.hidden(hidden)
            yield whole if shown.whole else self._words.only_hidden(", ".join(found), hidden)

    def fitting(self, tools: Sequence[ToolDefinition]) -> list[ToolDefinition] | None:
        """`tools` with definitions no longer than the budget allows; None where all of them are as they are."""
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
        # Tools of others do not count, and they may have the best places.
        found = asked(self.catalog, query, strategy=self._strategy, limit=limit)
        if shared:
            found = self._of_agent(found, query, offered)
        if self._record is not None:
            self._record.searched(query, found.kind, [entry.name for entry in found.entries])
        return found

    def _of_agent(self, found: Found, query: str, offered: Collection[str]) -> Found:
        """What of `found` the agent has; tools of others do not keep it from its own."""
        own = [entry for entry in found.entries if entry.name in offered]
        if found.kind == "select":
            return replace(found, entries=tuple(own))
        if len(found.entries) == MAX_LIMIT and len(own) < self._max_results:
            alone = asked(self._without_others(offered), query, strategy=self._strategy, limit=self._max_results)
            own = list({entry.name: entry for entry in chain(own, alone.entries)}.values())
        entries: tuple[Entry, ...] = tuple(own[: self._max_results])
        return replace(found, entries=entries, further=len(own) - len(entries))

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
        if not self._given and not self._ours:  # all at once is faster than one by one
            self.catalog = ToolCatalog(map(_row, tools), limit_tools=_UNLIMITED)
            self._ours = {tool.name: tool for tool in tools}
        if len(tools) + len(self.catalog) > self.catalog.limit_tools:
            # The limit is that of a request to the API, which never holds these tools all at once.
            self.catalog.limit_tools = _UNLIMITED
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
