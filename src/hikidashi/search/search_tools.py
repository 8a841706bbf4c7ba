"""Search as a model asks for it: `search_catalog`, and the `search_tools` and `call_tool` pair.

A model searches with the one and calls what was found with the other. Both are neutral tools, so any target can
convert them, and their size does not depend on the catalogue.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, Literal
from weakref import WeakKeyDictionary

from ..common.json import is_object
from ..convert.wire import listed
from ..errors import ToolSearchError, ToolValidationError
from ..servers.failure import is_lost_connection
from ..tool import Tool, ToolAnnotations, ToolResult, text
from .answers import CALL_TOOL, SEARCH_TOOLS, AnswerBudget, Shown, Wording, echo
from .catalog import MAX_LIMIT, MAX_TOOLS, ToolCatalog
from .engine.entry import Entry, entry_of
from .engine.rows import names_listed
from .log import PRELOAD, Recorder, record_call
from .options import CheckedOptions, Strategy

logger = logging.getLogger("hikidashi")


Kind = Literal["words", "nearest", "regex", "select"]

_SELECT = "select:"
_MAX_SIMILAR = 3


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search."""

    kind: Kind
    """How the query was read; "nearest" means words for which no match is certain."""
    entries: tuple[Entry, ...]
    further: int = 0
    """Number of further matches; counted up to 50 in all."""
    hidden: tuple[str, ...] = ()
    """Names of matching tools whose server does not answer."""
    unknown: tuple[str, ...] = ()
    """Names that were selected, and that no tool has."""

    @property
    def confident(self) -> bool:
        """Whether the tools match the query with certainty."""
        return self.kind != "nearest"

    def shown(self, budget: AnswerBudget) -> Shown:
        """The tools that an answer shows: see `AnswerBudget.shown`."""
        shown = budget.shown(self.entries)
        return replace(shown, further=shown.further + self.further)


def search_catalog(
    catalog: ToolCatalog,
    query: str,
    *,
    strategy: Strategy,
    limit: int,
    own: Callable[[str], str] = str,
    by_meaning: bool = True,
) -> Found:
    """Search `catalog` as a model asks.

    `select:a,b` always selects by name; with "both", `/…/` is a regular expression and anything else is words.

    Args:
        catalog: The tools.
        query: What the model asks.
        strategy: How `query` is read.
        limit: Maximum number of tools, except of those selected by name.
        own: The name in the catalogue of a tool that the model knows by another.
        by_meaning: False ranks by words alone.

    Raises:
        ToolSearchError: the query is invalid; the message is for the model.
    """
    query = query.strip()
    slashed = len(query) > 2 and query.startswith("/") and query.endswith("/")
    kind: Kind = "words"
    names: list[str] = []
    if query.startswith(_SELECT):
        kind = "select"
        asked = names_listed(query.removeprefix(_SELECT), catalog)
        names = [name if name in catalog else own(name) for name in asked]
        query = _SELECT + ",".join(names) if names != asked else query
    elif strategy == "regex" or (strategy == "both" and slashed):
        kind, query = "regex", query[1:-1] if slashed else query
    hidden = unreachable_of(catalog).matching(query, regex=kind == "regex", limit=limit)
    try:
        # More than are shown, to count them.
        if kind == "regex":
            matches = catalog.search_regex(query, limit=MAX_LIMIT)
        else:
            # A subclass may know `query` and `limit` alone.
            alone = {} if by_meaning else {"by_meaning": False}
            matches = catalog.search(query, limit=MAX_LIMIT, **alone)
    except ToolSearchError:
        if not hidden:
            raise
        return Found(kind, (), hidden=hidden)
    if matches and not matches[0].confident:
        kind = "nearest"
    shown = matches if kind == "select" else matches[:limit]
    known = [name for name in names if name in catalog]
    unknown = tuple(name for name in names if name not in catalog and name not in hidden)
    further = max(len(matches), len(known)) - len(shown)
    return Found(kind, tuple(match.entry for match in shown), further, hidden, unknown)


def search_with(
    options: CheckedOptions,
    catalog: ToolCatalog,
    query: str,
    *,
    limit: int | None = None,
    own: Callable[[str], str] = str,
) -> Found:
    """`search_catalog` with the `options` of a search; `limit` in place of their `max_results`."""
    most = options.max_results if limit is None else limit
    return search_catalog(catalog, query, strategy=options.strategy, limit=most, own=own)


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
        raise ToolValidationError(
            f"`always_loaded` names {name!r}, which the catalogue does not have. Check the spelling.", name
        )
    return tool


def similar_names(catalog: ToolCatalog, name: str) -> list[str]:
    """The names of tools similar to `name`."""
    try:
        return [match.name for match in catalog.search(name, limit=_MAX_SIMILAR) if match.confident]
    except ToolSearchError:  # the catalogue is empty, or the name longer than a query may be
        return []


def catalog_of(tools: Iterable[Any] | ToolCatalog) -> ToolCatalog:
    """A catalogue of `tools`; a catalogue is returned as it is, and may change later."""
    if isinstance(tools, ToolCatalog):
        return tools
    given = listed(tools)
    return ToolCatalog(given, limit_tools=max(MAX_TOOLS, len(given)))


FoundTools = dict[str, None]
"""The names of the tools that one conversation has found, in order."""


class ToolSearchHandler:
    """Answers `search_tools` and `call_tool` for one catalogue of callable tools.

    It is stateless: the tools that a conversation has found are passed to each call.

    Raises:
        ToolValidationError: a tool cannot be called, or is named `search_tools` or `call_tool`; `always_loaded` names
            one that the catalogue does not have.
    """

    def __init__(self, tools: Iterable[Tool] | ToolCatalog, options: CheckedOptions) -> None:
        self._options = options
        self._words = options.words
        self._record = options.record
        self.catalog = catalog_of(tools)
        for tool in self.catalog:
            callable_tool(tool)
        for name in (SEARCH_TOOLS, CALL_TOOL):
            if name in self.catalog:
                raise ToolValidationError(
                    f"A tool is named {name!r}, which is reserved for tool search. Rename it with `tool.renamed(...)`.",
                    name,
                )
        self.always_loaded = [self._always_loaded(name) for name in options.always_loaded]
        """The tools that are listed from the start."""

    def tool(self, name: str) -> Tool | None:
        """The tool named `name`, if the catalogue has it."""
        tool = self.catalog.get(name)
        return None if tool is None else callable_tool(tool)

    def listed(self, tool: Tool) -> Tool:
        """`tool` with a definition cut to the budget, for `tools/list`."""
        entry = entry_of(tool)
        cut = self._options.budget.cut(entry)
        return tool if cut is entry else replace(tool, description=cut.description, input_schema=cut.input_schema)

    def _always_loaded(self, name: str) -> Tool:
        """The tool `name`, to be called directly; its calls are recorded."""
        tool = reporting_lost_connections(callable_tool(require_tool(self.catalog, name)), self._words)
        return tool if self._record is None else _recorded(tool, self._record)

    def search_tool(self, search: Callable[[dict[str, Any]], ToolResult]) -> Tool:
        """The tool `search_tools`, which calls `search`."""

        async def call(arguments: dict[str, Any]) -> ToolResult:
            return search(arguments)

        query = {"type": "string", "description": self._options.query_description}
        return Tool(
            name=SEARCH_TOOLS,
            description=self._options.search_description(),
            input_schema={"type": "object", "properties": {"query": query}, "required": ["query"]},
            call=call,
            annotations=ToolAnnotations(read_only=True),
        )

    def call_tool(self, call: Callable[[dict[str, Any]], Awaitable[ToolResult]]) -> Tool:
        """The tool `call_tool`, which calls `call`."""
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

    def search(self, arguments: dict[str, Any], found: FoundTools) -> ToolResult:
        """Answer `search_tools`; the names of tools shown in full are added to `found`."""
        query = arguments.get("query")
        if not isinstance(query, str):
            return ToolResult.error(f"`query` is {echo(query)}. {self._options.query_description}")
        try:
            result = search_with(self._options, self.catalog, query)
        except ToolSearchError as error:
            return ToolResult.error(str(error))
        shown = result.shown(self._options.budget)
        if self._record is not None:
            self._record.searched(query, result.kind, [entry.name for entry in result.entries])
        found.update((entry.name, None) for entry in shown.whole)
        return ToolResult.of(self._answer(query, result, shown))

    def preloaded(self, message: str, names: Iterable[str], found: FoundTools) -> str:
        """The definitions of the tools `names` for the user's `message`, which are added to `found`; empty for none."""
        entries = [entry for name in names if (entry := entry_named(self.catalog, name)) is not None]
        shown = self._options.budget.shown(entries)
        loaded = [entry.name for entry in shown.whole]
        if not loaded:
            return ""
        found.update(dict.fromkeys(loaded))
        if self._record is not None:
            self._record.searched(message, PRELOAD, loaded)
        return self._words.preloaded(shown)

    def _answer(self, query: str, result: Found, shown: Shown) -> str:
        if not result.entries:
            return self._words.only_hidden(query, result.hidden) if result.hidden else self._words.nothing(query)
        answer = self._words.definitions(query, shown, confident=result.confident)
        return "\n".join([answer, *self._words.missing(result.hidden, result.unknown)])

    async def call(self, arguments: dict[str, Any], found: FoundTools | None) -> ToolResult:
        """Answer `call_tool`; a tool that is not in `found` is not called, but shown and added to `found`.

        Without a session (`found` is None) it is called, and its definition is added to an error.
        """
        name = arguments.get("name")
        if not isinstance(name, str):
            return ToolResult.error(self._words.no_name(name))
        entry = entry_named(self.catalog, name)
        if entry is None and name in unreachable_of(self.catalog):
            return ToolResult.error(self._words.unreachable(name))
        if entry is None:
            return ToolResult.error(self._words.unknown(name, similar_names(self.catalog, name)))
        if found is not None and entry.name not in found:
            found[entry.name] = None
            return ToolResult.error(self._words.undiscovered(entry, self._options.budget))
        given = _object(arguments.get("arguments"))
        if given is None:
            return ToolResult.error(f"`arguments` is {echo(arguments['arguments'])}. {self._words['call arguments']}")
        if self._record is not None:
            self._record.called(entry.name)
        result = await reporting_lost_connections(callable_tool(entry.tool), self._words).call(given)
        if result.is_error and found is None:
            return replace(result, content=(*result.blocks, text(self._words.definition(entry, self._options.budget))))
        return result


def _object(value: object) -> dict[str, Any] | None:
    """`value` as an object: some models send it as JSON text; None is an empty object."""
    if value is None:
        return {}
    if isinstance(value, str):
        with suppress(ValueError):
            value = json.loads(value)
    return value if is_object(value) else None


def _recorded(tool: Tool, record: Recorder) -> Tool:
    async def call(arguments: dict[str, Any]) -> ToolResult:
        record_call(record, tool.name, "listed")
        return await tool.call(arguments)

    return replace(tool, call=call)


def callable_tool(tool: Any) -> Tool:
    """`tool`, which can be called.

    Raises:
        ToolValidationError: it is not a hikidashi tool.
    """
    if not isinstance(tool, Tool):
        kind = f"{type(tool).__module__.partition('.')[0]} {type(tool).__name__}"
        raise ToolValidationError(
            f"A catalogue that is searched and called must hold hikidashi tools, and it holds a {kind}. "
            "Bring it in with `from_mcp`, `from_pydantic_ai`, `from_strands` or `from_function`."
        )
    return tool


class Unreachable:
    """The tools of lost servers, by server."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._by_server: dict[str, ToolCatalog] = {}

    def lost(self, server: str, tools: Iterable[Any]) -> None:
        """Remember the tools of a server that was lost."""
        catalog = ToolCatalog(tools, limit_tools=2**62)
        with self._lock:
            self._by_server[server] = catalog

    def back(self, server: str) -> None:
        """Forget a server that answers again or is no longer followed."""
        with self._lock:
            self._by_server.pop(server, None)

    def __contains__(self, name: object) -> bool:
        return any(name in catalog for catalog in self._catalogs())

    def matching(self, query: str, *, regex: bool, limit: int) -> tuple[str, ...]:
        """The names of lost tools that match `query`."""
        names: list[str] = []
        for catalog in self._catalogs():
            try:
                matches = (catalog.search_regex if regex else catalog.search)(query, limit=min(limit, MAX_LIMIT))
            except ToolSearchError:  # an invalid query, or a server without tools
                continue
            names += [match.name for match in matches if match.confident]
        return tuple(names[:limit])

    def _catalogs(self) -> list[ToolCatalog]:
        with self._lock:
            return list(self._by_server.values())


_OF_CATALOG: WeakKeyDictionary[ToolCatalog, Unreachable] = WeakKeyDictionary()

_LOCK = RLock()


def unreachable_of(catalog: ToolCatalog) -> Unreachable:
    """The lost tools of `catalog`."""
    with _LOCK:
        return _OF_CATALOG.setdefault(catalog, Unreachable())


def reporting_lost_connections(tool: Tool, words: Wording) -> Tool:
    """`tool` with an error result for the model in place of an exception when its server is lost."""

    async def call(arguments: dict[str, Any]) -> ToolResult:
        try:
            return await tool.call(arguments)
        except Exception as error:
            if not is_lost_connection(error):
                raise
            logger.warning("tool %r was not called: %s", tool.name, error)
            return ToolResult.error(words.unreachable(tool.name))

    return replace(tool, call=call)
