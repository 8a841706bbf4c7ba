"""Search over the tools of all servers, as a model reads it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types

from ..errors import ToolSearchError, ToolValidationError
from ..search.answers import DEFAULT_BUDGET, AnswerBudget, definition_line, short_line
from ..search.catalog import MAX_QUERY, ToolCatalog
from ..search.engine.entry import Entry
from ..search.search_tools import Found, entry_named, search_catalog
from .merged import Merged, Origin

SEARCH_TOOLS = "search_tools"
CALL_READ_TOOL = "call_read_tool"
CALL_TOOL = "call_tool"
READ_RESULT = "read_result"
OWN_TOOLS = (SEARCH_TOOLS, CALL_READ_TOOL, CALL_TOOL, READ_RESULT)

_SUMMARY_CHARACTERS = 1_500
_LONGEST_IN_CLAUDE_CODE = "anthropic/maxResultSizeChars"
_MOST_IN_CLAUDE_CODE = 500_000  # it takes no more
_NOTE_CHARACTERS = 20_000  # of the note at the end, and the JSON around the texts


def own_tools(summary: str, longest_result: int) -> list[types.Tool]:
    """The tools of the gateway itself; they do not depend on earlier searches.

    Args:
        summary: The servers behind the gateway, as `servers_summary` gives them.
        longest_result: Most characters of a result before it is cut.
    """
    # Otherwise Claude Code keeps a result of more than 25,000 tokens from the model, with the handle at its end.
    results = {_LONGEST_IN_CLAUDE_CODE: min(longest_result + _NOTE_CHARACTERS, _MOST_IN_CLAUDE_CODE)}
    query = {
        "type": "string",
        "description": "What you want to do, in a few words; or a tool's name; "
        "or a pattern between slashes; or `select:NAME,NAME` for whole definitions.",
    }
    name = {"type": "string", "description": f"The tool's name, as {SEARCH_TOOLS} shows it."}
    arguments = {
        "type": "object",
        "description": "Its arguments, as its input_schema says.",
        "additionalProperties": True,
    }
    call = {"type": "object", "properties": {"name": name, "arguments": arguments}, "required": ["name", "arguments"]}
    return [
        _own(
            SEARCH_TOOLS,
            "Search the tools",
            "Find tools. Most are not listed, so search before you say that something cannot be done. "
            f"{summary}".strip(),
            {"type": "object", "properties": {"query": query}, "required": ["query"]},
            types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        ),
        _own(
            CALL_READ_TOOL,
            "Call a tool that only reads",
            f"Call a tool that {SEARCH_TOOLS} shows with `call_with: {CALL_READ_TOOL}`: it only reads.",
            call,
            types.ToolAnnotations(read_only_hint=True),
            meta=results,
        ),
        _own(
            CALL_TOOL,
            "Call a tool",
            f"Call a tool that {SEARCH_TOOLS} shows with `call_with: {CALL_TOOL}`: it may change or delete something.",
            call,
            types.ToolAnnotations(read_only_hint=False, destructive_hint=True),
            meta=results,
        ),
        _own(
            READ_RESULT,
            "Read on",
            "Read the rest of a result that was cut: its last line says with which handle and offset.",
            {
                "type": "object",
                "properties": {"handle": {"type": "string"}, "offset": {"type": "integer", "minimum": 0}},
                "required": ["handle"],
            },
            types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
            meta=results,
        ),
    ]


def servers_summary(servers: Iterable[tuple[str, str | None, int | None]]) -> str:
    """One line about all servers, in a bounded number of characters, the same for the same servers.

    Args:
        servers: Name, description or instructions, and number of tools of each; None if they are not known yet.
    """
    listed = [(name, " ".join((description or "").split()), count) for name, description, count in servers]
    if not listed:
        return ""
    room = max(0, _SUMMARY_CHARACTERS // len(listed) - 40)
    parts: list[str] = []
    for name, description, count in listed:
        short = description if len(description) <= room else description[: max(room - 1, 0)].rstrip() + "…"
        known = "tools not known yet" if count is None else f"{count} tool" + "s" * (count != 1)
        parts.append(f"{name} ({known})" + (f": {short}" if short.strip("…") else ""))
    text = "Servers: " + "; ".join(parts) + "."
    return text if len(text) <= 2 * _SUMMARY_CHARACTERS else text[: 2 * _SUMMARY_CHARACTERS] + "…"


def _own(
    name: str,
    title: str,
    description: str,
    schema: dict[str, Any],
    annotations: types.ToolAnnotations,
    *,
    meta: Mapping[str, Any] | None = None,
) -> types.Tool:
    return types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema,
        annotations=annotations,
        # Otherwise Claude Code defers it, and only its own tool search would find it.
        _meta={"anthropic/alwaysLoad": True, **(meta or {})},
    )


_UNLIMITED = 2**62
_SELECT = "select:"
_MAX_RESULTS = 5
_MAX_NEAREST = 3
_MAX_NAMES = 30  # in the answer to an unknown name that is similar to none
_MAX_NOTES = 5
_LONGEST_REASON = 400
_A_MOMENT = 1.0  # seconds: enough for the model and a few tools
_PATIENCE = 10.0  # seconds: a question in another language has no word of the tools, and 1,000 take 2 to embed
_FEW = 100
_TURN = 1.0  # seconds after which a thread is asked for again: one that was abandoned ends then


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The result of a search."""

    text: str
    """The text for the model."""
    kind: str
    """How the query was read: `words`, `nearest`, `regex`, or `select` for names."""
    names: tuple[str, ...]
    """The tools that were found, best first."""
    whole: tuple[str, ...]
    """Those whose definition is in the text."""


class Finder:
    """Searches the tools of all servers.

    Args:
        budget: Maximum number of tokens of an answer.
    """

    def __init__(self, budget: AnswerBudget = DEFAULT_BUDGET) -> None:
        self.catalog = ToolCatalog(limit_tools=_UNLIMITED)
        self._budget = budget
        self._is_wanted = False
        self._to_embed = anyio.Event()
        self._embedded = anyio.Event()
        self._missing = 0
        """How many tools have no vector, as far as is known."""
        self._failure: Exception | None = None
        self._known: dict[str, tuple[types.Tool, Origin]] = {}
        self._by_own_name: Mapping[str, Sequence[str]] = {}
        self._servers: Mapping[str, str] = {}
        self._read_only: frozenset[str] = frozenset()

    def update(self, merged: Merged, read_only: frozenset[str]) -> None:
        """Replace the catalogue by `merged`; only changed tools are indexed."""
        self._read_only = read_only
        self._servers = {name: place.server for name, place in merged.tool_places.items()}
        by_own_name: defaultdict[str, list[str]] = defaultdict(list)
        for name, place in merged.tool_places.items():
            by_own_name[place.name.casefold()].append(name)
        self._by_own_name = by_own_name
        for name, known in list(self._known.items()):
            if name not in merged.tools or known != (merged.tools[name], merged.tool_places[name]):
                self.catalog.remove(name)
                del self._known[name]
        for name, tool in merged.tools.items():
            if name in self._known:
                continue
            place = merged.tool_places[name]
            try:
                self.catalog.add(_definition_of(tool, place.name))
            except (ToolSearchError, ToolValidationError):  # without a usable name: listed, but not searchable
                continue
            self._known[name] = tool, place
            self._missing += 1
        if self._is_wanted:
            self.embed()

    async def run(self) -> None:
        """Embed new tools in a thread, which loads the model first, once `embed` was called; until cancelled."""
        while True:
            await self._to_embed.wait()
            self._to_embed, self._failure = anyio.Event(), None
            try:
                while not await anyio.to_thread.run_sync(
                    self.catalog.ready, _TURN, self._note_progress, abandon_on_cancel=True
                ):
                    pass
            except Exception as error:  # a model that was asked for: the next search tells it
                self._failure = error
            else:
                self._missing = 0
            self._embedded.set()
            self._embedded = anyio.Event()

    def embed(self) -> None:
        """Have `run` embed the tools that have no vector, from now on also those that are added."""
        self._is_wanted = True
        if not self.catalog.is_ready:
            self._to_embed.set()

    def _note_progress(self, done: int, total: int) -> None:
        self._missing = total - done

    async def prepare(self, query: str) -> None:
        """Embed new tools, and wait for it if they are few or words find nothing; else searches are by words meanwhile.

        Args:
            query: What is searched for; one that is ranked by words in any case waits for nothing.

        Raises:
            ToolSearchError: the model was asked for, and cannot be used.
        """
        if self.catalog.is_ready or not len(self.catalog):
            return
        self.embed()
        if self.catalog.ranks_by_meaning(query):
            is_found = any(match.confident for match in self.catalog.search(query, limit=1, by_meaning=False))
            patience = _PATIENCE if not is_found else _A_MOMENT
            if not is_found or self._missing <= _FEW:
                with anyio.move_on_after(patience):
                    await self._embedded.wait()
        if self._failure is not None:
            raise self._failure

    def search(self, query: str, *, limit: int = _MAX_RESULTS, down: Mapping[str, str]) -> SearchAnswer:
        """Search for tools.

        Args:
            query: Words, a name, a pattern or `select:`.
            limit: Maximum number of tools in the answer.
            down: The servers that cannot be reached, with the reason; an empty one for a server that is still starting.

        Raises:
            ToolSearchError: the query is invalid.
        """
        if not len(self.catalog):
            lines = ["No tool is known."]
            return SearchAnswer("\n".join([*lines, *self._notes((), down)]), "words", (), ())
        found = self._found(query, limit)
        shown = found.shown(self._budget)
        names = tuple(entry.name for entry in found.entries)
        lines: list[str] = []
        if found.entries:
            count = len(shown.whole) + len(shown.short) + shown.further
            certain = f"{count} tools match" if count != 1 else "1 tool matches"
            head = certain if found.confident else "No tool surely fits. Nearest, perhaps not what you need"
            lines.append(f"{head}. Call one with the tool that `call_with` names:")
            lines += map(self._definition, shown.whole)
            if shown.short:
                lines.append("More, in short; search for `select:NAME` to see one whole:")
                lines += map(short_line, shown.short)
            if shown.further:
                lines.append(f"{shown.further} more match: search with more words to narrow it down.")
        else:
            lines.append(f"No tool matches {query!r}. Try other words, or a pattern such as /name/.")
        lines += self._notes(names, down)
        return SearchAnswer("\n".join(lines), found.kind, names, tuple(entry.name for entry in shown.whole))

    def nearest(self, name: str, *, searching: bool, down: Mapping[str, str]) -> str:
        """The answer to a call of an unknown tool: the most similar tools with their definitions."""
        return "\n".join([*self._nearest(name, searching=searching), *self._notes((), down)])

    def _nearest(self, name: str, *, searching: bool) -> list[str]:
        try:
            entries = self._found(name[:MAX_QUERY], _MAX_NEAREST).entries
        except ToolSearchError:
            entries = ()
        unknown = f"There is no tool {name[:MAX_QUERY]!r}."
        if not entries and searching:
            return [f"{unknown} Find one with {SEARCH_TOOLS}."]
        if not entries:
            listed = ", ".join(sorted(self._servers)[:_MAX_NAMES])
            return [f"{unknown} There are: {listed}." if listed else f"{unknown} No tool is known."]
        shown = self._budget.shown(entries)
        return [f"{unknown} Nearest:", *map(self._definition, shown.whole), *map(short_line, shown.short)]

    def definition(self, name: str) -> str:
        """The definition of a tool, as in the answer of a search."""
        entry = entry_named(self.catalog, name)
        return "" if entry is None else self._definition(self._budget.cut(entry))

    def call_with(self, name: str) -> str:
        """The name of the gateway's tool that calls the tool `name`."""
        return CALL_READ_TOOL if name in self._read_only else CALL_TOOL

    def _found(self, query: str, limit: int) -> Found:
        """What the catalogue finds; a tool whose name at its server is the query comes first."""
        name = query.strip()
        if name.startswith(_SELECT):
            names = [one.strip() for one in name.removeprefix(_SELECT).split(",")]
            name = query = _SELECT + ",".join(shown for one in names for shown in self._named(one) or (one,))
        by_meaning = self.catalog.is_ready  # else the search itself would load the model, in the event loop
        found = search_catalog(self.catalog, query, strategy="both", limit=limit, by_meaning=by_meaning)
        exact = self._named(name)
        named = [entry for one in exact if (entry := entry_named(self.catalog, one)) is not None]
        if not named:
            return self._with_part_of_name(name, found, limit)
        others = [entry for entry in found.entries if entry.name not in exact] if found.confident else []
        entries = [*named, *others]
        further = found.further + max(0, len(entries) - limit) if found.confident else 0
        return replace(found, kind="select", entries=tuple(entries[: max(limit, len(named))]), further=further)

    def _with_part_of_name(self, part: str, found: Found, limit: int) -> Found:
        """`found`, with a tool whose name contains `part` in it: that may be a stop word, or the middle of a word."""
        folded = part.casefold()
        certain = found.entries if found.confident else ()
        if (
            found.kind not in {"words", "nearest"}
            or len(folded.split()) != 1
            or any(folded in entry.name.casefold() for entry in certain)
        ):
            return found
        known = {entry.name for entry in certain}
        names = [
            shown
            for shown, (_, place) in self._known.items()
            if (folded in shown.casefold() or folded in place.name.casefold()) and shown not in known
        ]
        entries = [entry for shown in names[:limit] if (entry := entry_named(self.catalog, shown)) is not None]
        if not entries:
            return found
        shown = (*certain[: limit - 1], *entries)[:limit]
        total = len(certain) + len(names) + (found.further if certain else 0)
        return replace(found, kind="words", entries=shown, further=total - len(shown))

    def _named(self, name: str) -> Sequence[str]:
        """The tools of exactly this name, under which they are offered or at their servers."""
        return (name,) if name in self._servers else self._by_own_name.get(name.casefold(), ())

    def _definition(self, entry: Entry) -> str:
        line = json.loads(definition_line(entry))
        return json.dumps(
            {"name": line["name"], "call_with": self.call_with(entry.name), **line},
            ensure_ascii=False,
            separators=(",", ":"),
        )

    def _notes(self, names: Iterable[str], down: Mapping[str, str]) -> list[str]:
        """Notes on servers that cannot be reached, if one of their tools was found or their tools are not known."""
        if not down:
            return []
        starting = [server for server, reason in down.items() if not reason]
        down = {server: reason for server, reason in down.items() if reason}
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name in names:
            found[self._servers.get(name, "")].append(name)
        listed = set(self._servers.values())
        affected = [server for server in down if server in found]
        unknown = [server for server in down if server not in listed]
        notes: list[str] = []
        for server in (*affected, *unknown)[:_MAX_NOTES]:
            tools = f"calls of {', '.join(found[server])}" if server in found else "its tools"
            notes.append(
                f"Note: the server {server!r} cannot be reached now, so {tools} may fail or be missing: "
                f"{down[server][:_LONGEST_REASON]}"
            )
        if (more := len(affected) + len(unknown) - len(notes)) > 0:
            notes.append(f"Note: {more} more servers cannot be reached now, so their tools may be missing.")
        if starting:
            named = ", ".join(map(repr, starting[:_MAX_NAMES])) + (", …" if len(starting) > _MAX_NAMES else "")
            notes.append(f"Note: still starting, its tools are not known yet: {named}. Search again in a moment.")
        return notes


def _definition_of(tool: types.Tool, own_name: str) -> dict[str, Any]:
    """The searchable part of a tool: a definition without a function, since the server runs it."""
    definition: dict[str, Any] = {
        "name": tool.name,
        "description": "\n".join(filter(None, (tool.title, tool.description))),
        "input_schema": tool.input_schema,
    }
    if not tool.name.endswith(own_name):  # it was shortened, or has characters that the APIs do not take
        definition["aliases"] = [own_name]
    return definition
