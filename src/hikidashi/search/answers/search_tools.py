"""The `search_tools` and `call_tool` pair: a model searches with the one and calls what was found with the other.

Both are neutral tools, so whatever a target does with tools it does with these; nothing of them grows with the
catalogue.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from ...errors import ToolSearchError, ToolValidationError
from ...tool import Tool, ToolAnnotations, ToolResult, text
from ..catalog import MAX_LIMIT, MAX_TOOLS, ToolCatalog
from ..engine.entry import Entry, entry_of
from ..mcp_servers.lost_connection import telling_lost_connections
from ..mcp_servers.unreachable import unreachable_of
from .budget import AnswerBudget, Shown, budget_of
from .texts import CALL_TOOL, SEARCH_TOOLS, Language, Recorder, wording

__all__ = [
    "Found",
    "Strategy",
    "ToolSearchHandler",
    "asked",
    "callable_tool",
    "catalog_of",
    "check_max_results",
    "check_options",
    "entry_named",
    "names_in",
    "nearest",
    "require_tool",
]

Strategy = Literal["words", "regex", "both"]
Kind = Literal["words", "nearest", "regex", "select"]

_SELECT = "select:"
_MAX_NEAR = 3


def check_options(strategy: str, max_results: int) -> None:
    """Refuse at once what would otherwise fail in the middle of a conversation.

    Raises:
        ValueError: one of them is none of what it can be.
    """
    if strategy not in get_args(Strategy):
        raise ValueError(f"`strategy` is {strategy!r}: use 'words', 'regex' or 'both'.")
    check_max_results(max_results)


def check_max_results(value: object, option: str = "max_results") -> int:
    """`value`, how many tools a search may give.

    Raises:
        ValueError: it is no whole number from 1 to 50; the message names `option`.
    """
    if type(value) is not int or not 1 <= value <= MAX_LIMIT:
        raise ValueError(f"`{option}` is {value!r}: use a whole number from 1 to {MAX_LIMIT}; 5 is usual.")
    return value


def names_in(option: str, names: Iterable[str]) -> list[str]:
    """The names given for `option`.

    Raises:
        ValueError: it is one string, whose letters would pass for names.
    """
    if isinstance(names, str):
        raise ValueError(f"`{option}` is {names!r}: use a list of names, such as [{names!r}].")
    return list(names)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found."""

    kind: Kind
    """How the query was meant; "nearest" are words that no tool surely fits."""
    entries: tuple[Entry, ...]
    further: int = 0
    """How many more match; no more than 50 are looked for."""
    hidden: tuple[str, ...] = ()
    """Tools that fit, and whose server does not answer."""

    @property
    def confident(self) -> bool:
        """Whether the tools are about the question."""
        return self.kind != "nearest"

    def shown(self, budget: AnswerBudget, cost: Callable[[Entry], int] | None = None) -> Shown:
        """What of it an answer shows: see `AnswerBudget.shown`."""
        shown = budget.shown(self.entries, cost)
        return replace(shown, further=shown.further + self.further)


def asked(catalog: ToolCatalog, query: str, *, strategy: Strategy, limit: int) -> Found:
    """The tools that `query` finds, and how it was meant.

    `select:a,b` always goes by name; with "both", `/…/` is a pattern and the rest are words.

    Raises:
        ToolSearchError: the query cannot be answered; its text is for the model.
    """
    query = query.strip()
    slashed = len(query) > 2 and query.startswith("/") and query.endswith("/")
    kind: Kind = "words"
    if query.startswith(_SELECT):
        kind = "select"
    elif strategy == "regex" or (strategy == "both" and slashed):
        kind, query = "regex", query[1:-1] if slashed else query
    hidden = unreachable_of(catalog).matching(query, regex=kind == "regex", limit=limit)
    try:
        # More than are shown, to say how many there are.
        matches = (catalog.search_regex if kind == "regex" else catalog.search)(query, limit=MAX_LIMIT)
    except ToolSearchError:
        if not hidden:
            raise
        return Found(kind, (), hidden=hidden)
    if matches and not matches[0].confident:
        kind = "nearest"
    shown = matches if kind == "select" else matches[:limit]
    return Found(kind, tuple(match.entry for match in shown), len(matches) - len(shown), hidden)


def entry_named(catalog: ToolCatalog, name: str) -> Entry | None:
    """The tool of exactly this name."""
    tool = catalog.get(name)
    return None if tool is None else entry_of(tool)


def require_tool(catalog: ToolCatalog, name: str) -> Any:
    """The tool that `always_loaded` names.

    Raises:
        ToolValidationError: the catalogue does not have it.
    """
    tool = catalog.get(name)
    if tool is None:
        raise ToolValidationError(f"`always_loaded` names {name!r}, which the catalogue does not have.", name)
    return tool


def nearest(catalog: ToolCatalog, name: str) -> list[str]:
    """The names of tools that somebody who wrote `name` may have meant."""
    try:
        return [match.name for match in catalog.search(name, limit=_MAX_NEAR) if match.confident]
    except ToolSearchError:  # it is empty, or longer than a query may be
        return []


def catalog_of(tools: Iterable[Any] | ToolCatalog) -> ToolCatalog:
    """The catalogue of `tools`; one that is there already is used as it is, and may change later."""
    if isinstance(tools, ToolCatalog):
        return tools
    listed = list(tools)
    return ToolCatalog(listed, limit_tools=max(MAX_TOOLS, len(listed)))


class ToolSearchHandler:
    """Answers `search_tools` and `call_tool` for one catalogue of callable tools.

    It remembers nothing itself: who has found what is given with each call.

    Raises:
        ToolValidationError: a tool cannot be called, or has the name of one of the handler's own.
        ValueError: `strategy`, `max_results`, `language` or `budget` is none of what it can be.
    """

    def __init__(
        self,
        tools: Iterable[Tool] | ToolCatalog,
        *,
        strategy: Strategy,
        max_results: int,
        about: str | None,
        language: Language,
        record: Recorder | None,
        budget: AnswerBudget | int,
    ) -> None:
        check_options(strategy, max_results)
        self._budget = budget_of(budget)
        self.catalog = catalog_of(tools)
        self._strategy: Strategy = strategy
        self._max_results = max_results
        self._about = about
        self._words = wording(language)
        self._record = record
        for tool in self.catalog:
            callable_tool(tool)
        for name in (SEARCH_TOOLS, CALL_TOOL):
            if name in self.catalog:
                raise ToolValidationError(
                    f"A tool is called {name!r}, which is what the model searches or calls with. "
                    "Rename it with `tool.renamed(...)`.",
                    name,
                )

    def tool(self, name: str) -> Tool | None:
        """The catalogue's tool of this name."""
        tool = self.catalog.get(name)
        return None if tool is None else callable_tool(tool)

    def listed(self, tool: Tool) -> Tool:
        """`tool` with a definition no longer than the budget allows, as a list of tools shows it."""
        entry = entry_of(tool)
        cut = self._budget.cut(entry)
        return tool if cut is entry else replace(tool, description=cut.description, input_schema=cut.input_schema)

    def always_loaded(self, names: Iterable[str]) -> list[Tool]:
        """The catalogue's tools of these names, to be called directly; `record` hears of it.

        Raises:
            ToolValidationError: the catalogue does not have one of them.
        """
        found: list[Tool] = []
        for name in names_in("always_loaded", names):
            tool = callable_tool(require_tool(self.catalog, name))
            told = telling_lost_connections(tool, self._words)
            found.append(told if self._record is None else _heard(told, self._record))
        return found

    def search_tool(self, search: Callable[[dict[str, Any]], ToolResult]) -> Tool:
        """`search_tools`, answered by `search`."""

        async def call(arguments: dict[str, Any]) -> ToolResult:
            return search(arguments)

        query = {"type": "string", "description": self._words[f"query {self._strategy}"]}
        return Tool(
            name=SEARCH_TOOLS,
            description=self._words.search_description(self._about),
            input_schema={"type": "object", "properties": {"query": query}, "required": ["query"]},
            call=call,
            annotations=ToolAnnotations(read_only=True),
        )

    def call_tool(self, call: Callable[[dict[str, Any]], Awaitable[ToolResult]]) -> Tool:
        """`call_tool`, answered by `call`."""
        properties = {
            "name": {"type": "string", "description": self._words["call name"]},
            "arguments": {"type": "object", "description": self._words["call arguments"]},
        }
        return Tool(
            name=CALL_TOOL,
            description=self._words["call"],
            input_schema={"type": "object", "properties": properties, "required": ["name", "arguments"]},
            call=call,
        )

    def search(self, arguments: dict[str, Any], found: dict[str, None]) -> ToolResult:
        """The tools that fit; their names are added to `found`."""
        query = arguments.get("query")
        if not isinstance(query, str):
            return ToolResult.error(f"`query` is {query!r}. {self._words[f'query {self._strategy}']}")
        try:
            result = asked(self.catalog, query, strategy=self._strategy, limit=self._max_results)
        except ToolSearchError as error:
            return ToolResult.error(str(error))
        shown = result.shown(self._budget)
        if self._record is not None:
            self._record.searched(query, result.kind, [entry.name for entry in result.entries])
        found.update((entry.name, None) for entry in shown.whole)
        return ToolResult.of(self._said(query, result, shown))

    def _said(self, query: str, result: Found, shown: Shown) -> str:
        if not result.entries:
            return self._words.only_hidden(query, result.hidden) if result.hidden else self._words.nothing(query)
        said = self._words.definitions(query, shown, confident=result.confident)
        return f"{said}\n{self._words.hidden(result.hidden)}" if result.hidden else said

    async def call(self, arguments: dict[str, Any], found: dict[str, None] | None) -> ToolResult:
        """What the tool answers; one that is not in `found` is not called, shown and added instead.

        Where nobody can remember (`None`), it is called, and shown beside an error.
        """
        name = arguments.get("name")
        if not isinstance(name, str):
            return ToolResult.error(self._words.no_name(name))
        entry = entry_named(self.catalog, name)
        if entry is None and name in unreachable_of(self.catalog):
            return ToolResult.error(self._words.unreachable(name))
        if entry is None:
            return ToolResult.error(self._words.unknown(name, nearest(self.catalog, name)))
        if found is not None and entry.name not in found:
            found[entry.name] = None
            return ToolResult.error(self._words.undiscovered(entry, self._budget))
        given = _object(arguments.get("arguments"))
        if given is None:
            return ToolResult.error(f"`arguments` is {arguments['arguments']!r}. {self._words['call arguments']}")
        if self._record is not None:
            self._record.called(entry.name)
        result = await telling_lost_connections(callable_tool(entry.tool), self._words).call(given)
        if result.is_error and found is None:
            return replace(result, content=(*result.blocks, text(self._words.definition(entry, self._budget))))
        return result


def _object(value: object) -> dict[str, Any] | None:
    """The object that `value` is, or is the JSON text of, as some models send it; none at all is an empty one."""
    if value is None:
        return {}
    if isinstance(value, str):
        with suppress(ValueError):
            value = json.loads(value)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _heard(tool: Tool, record: Recorder) -> Tool:
    async def call(arguments: dict[str, Any]) -> ToolResult:
        record.called(tool.name)
        return await tool.call(arguments)

    return replace(tool, call=call)


def callable_tool(tool: Any) -> Tool:
    """`tool`, which can be called.

    Raises:
        ToolValidationError: it is no hikidashi tool.
    """
    if not isinstance(tool, Tool):
        kind = f"{type(tool).__module__.partition('.')[0]} {type(tool).__name__}"
        raise ToolValidationError(
            f"A catalogue that is searched and called must hold hikidashi tools, and it holds a {kind}. "
            "Bring it in with `from_mcp`, `from_pydantic_ai`, `from_strands` or `from_function`."
        )
    return tool
