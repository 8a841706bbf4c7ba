"""`search_tools` and the tools that call what it found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import MissingExtra, ToolSearchError, ToolValidationError
from ..search.answers.budget import DEFAULT_BUDGET, AnswerBudget, definition_line, short_line
from ..search.answers.search_tools import search_catalog
from ..search.catalog import ToolCatalog
from ..search.engine.entry import Entry
from ._merged import Merged

try:
    import mcp_types as types
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["CALL_READ_TOOL", "CALL_TOOL", "OWN_TOOLS", "READ_RESULT", "SEARCH_TOOLS", "Finder"]

SEARCH_TOOLS = "search_tools"
CALL_READ_TOOL = "call_read_tool"
CALL_TOOL = "call_tool"
READ_RESULT = "read_result"
OWN_TOOLS = (SEARCH_TOOLS, CALL_READ_TOOL, CALL_TOOL, READ_RESULT)

_UNLIMITED = 2**62
_MAX_RESULTS = 5
_LONGEST_ABOUT = 1_500  # characters about the servers in a description


class Finder:
    """Searches what the servers offer.

    Args:
        budget: The most tokens that an answer costs.
    """

    def __init__(self, budget: AnswerBudget = DEFAULT_BUDGET) -> None:
        self.catalog = ToolCatalog(limit_tools=_UNLIMITED)
        self._budget = budget
        self._known: dict[str, types.Tool] = {}
        self._read_only: frozenset[str] = frozenset()

    def update(self, merged: Merged, read_only: frozenset[str]) -> None:
        """Search `merged` from now on; only what changed is indexed."""
        self._read_only = read_only
        for name, tool in list(self._known.items()):
            if merged.tools.get(name) != tool:
                self.catalog.remove(name)
                del self._known[name]
        new = [(name, tool) for name, tool in merged.tools.items() if name not in self._known]
        for name, tool in new:
            try:
                self.catalog.add(_searched(tool))
            except (ToolSearchError, ToolValidationError):  # it has no usable name: it is listed, and not searched
                continue
            self._known[name] = tool

    def search(self, query: str, *, limit: int = _MAX_RESULTS, down: Mapping[str, str]) -> str:
        """What a model reads of a search.

        Args:
            query: What it looks for.
            limit: How many tools it is shown at most.
            down: The servers that cannot be reached, and why.

        Raises:
            ToolSearchError: the query cannot be answered.
        """
        found = search_catalog(self.catalog, query, strategy="both", limit=limit)
        lines: list[str] = []
        if found.entries:
            shown = found.shown(self._budget)
            count = len(shown.whole) + len(shown.short) + shown.further
            sure = f"{count} tools match" if count != 1 else "1 tool matches"
            head = sure if found.confident else "No tool surely fits. Nearest, perhaps not what you need"
            lines.append(f"{head}. Call one with the tool that `call_with` names:")
            lines += map(self._definition, shown.whole)
            if shown.short:
                lines.append("More, in short; search for `select:NAME` to see one whole:")
                lines += map(short_line, shown.short)
            if shown.further:
                lines.append(f"{shown.further} more match: search with more words to narrow it down.")
        else:
            lines.append(f"No tool matches {query!r}. Try other words, or a pattern such as /name/.")
        for server, why in down.items():
            lines.append(
                f"Note: the server {server!r} cannot be reached now, so its tools may fail or be missing: {why}"
            )
        return "\n".join(lines)

    def nearest(self, name: str) -> str:
        """What a model reads that called a tool which is not there."""
        try:
            matches = [match.entry for match in self.catalog.search(name, limit=3)]
        except ToolSearchError:
            matches = []
        said = f"There is no tool {name!r}."
        if not matches:
            return f"{said} Find one with {SEARCH_TOOLS}."
        shown = self._budget.shown(matches)
        return "\n".join([f"{said} Nearest:", *map(self._definition, shown.whole), *map(short_line, shown.short)])

    def definition(self, name: str) -> str:
        """The definition of a tool as a search shows it."""
        tool = self.catalog.get(name)
        matches = [] if tool is None else self.catalog.search(f"select:{name}", limit=1)
        return self._definition(self._budget.cut(matches[0].entry)) if matches else ""

    def call_with(self, name: str) -> str:
        """Which tool calls the tool `name`."""
        return CALL_READ_TOOL if name in self._read_only else CALL_TOOL

    def _definition(self, entry: Entry) -> str:
        line = json.loads(definition_line(entry))
        return json.dumps(
            {"name": line["name"], "call_with": self.call_with(entry.name), **line},
            ensure_ascii=False,
            separators=(",", ":"),
        )


def own_tools(about: str) -> list[types.Tool]:
    """The tools of the gateway itself; nothing of them depends on what was searched before."""
    query = {
        "type": "string",
        "description": "What you want to do, in a few words of any language; or a tool's name; "
        "or a pattern between slashes; or `select:NAME,NAME` for whole definitions.",
    }
    named = {"type": "string", "description": f"The tool's name, as {SEARCH_TOOLS} shows it."}
    given = {"type": "object", "description": "Its arguments, as its input_schema says.", "additionalProperties": True}
    call = {"type": "object", "properties": {"name": named, "arguments": given}, "required": ["name", "arguments"]}
    return [
        _own(
            SEARCH_TOOLS,
            "Search the tools",
            f"Find tools. Most are not listed, so search before you say that something cannot be done. {about}".strip(),
            {"type": "object", "properties": {"query": query}, "required": ["query"]},
            types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        ),
        _own(
            CALL_READ_TOOL,
            "Call a tool that only reads",
            f"Call a tool that {SEARCH_TOOLS} shows with `call_with: {CALL_READ_TOOL}`: it only reads.",
            call,
            types.ToolAnnotations(read_only_hint=True),
        ),
        _own(
            CALL_TOOL,
            "Call a tool",
            f"Call a tool that {SEARCH_TOOLS} shows with `call_with: {CALL_TOOL}`: it may change or delete something.",
            call,
            types.ToolAnnotations(read_only_hint=False, destructive_hint=True),
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
        ),
    ]


def about_servers(servers: Iterable[tuple[str, str | None, int]]) -> str:
    """What the servers are for, in a bounded number of characters, the same for the same servers.

    Args:
        servers: Name, description or instructions, and number of tools of each.
    """
    listed = [(name, " ".join((said or "").split()), count) for name, said, count in servers]
    if not listed:
        return ""
    room = max(0, _LONGEST_ABOUT // len(listed) - 40)
    parts: list[str] = []
    for name, said, count in listed:
        short = said if len(said) <= room else said[: max(room - 1, 0)].rstrip() + "…"
        parts.append(f"{name} ({count} tools)" + (f": {short}" if short.strip("…") else ""))
    text = "Servers: " + "; ".join(parts) + "."
    return text if len(text) <= 2 * _LONGEST_ABOUT else text[: 2 * _LONGEST_ABOUT] + "…"


def _own(
    name: str, title: str, description: str, schema: dict[str, Any], annotations: types.ToolAnnotations
) -> types.Tool:
    return types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema,
        annotations=annotations,
        # Claude Code would hide it behind a search of its own.
        _meta={"anthropic/alwaysLoad": True},
    )


def _searched(tool: types.Tool) -> dict[str, Any]:
    """What is searched of a tool. It cannot be called from the catalogue: the gateway carries calls to the server."""
    return {
        "name": tool.name,
        "description": "\n".join(filter(None, (tool.title, tool.description))),
        "input_schema": tool.input_schema,
    }
