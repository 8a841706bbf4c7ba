"""Search over the tools of all servers, as a model reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import MissingExtra, ToolSearchError, ToolValidationError
from ..search.answers.budget import DEFAULT_BUDGET, AnswerBudget, definition_line, short_line
from ..search.answers.search_tools import search_catalog
from ..search.catalog import ToolCatalog
from ..search.engine.entry import Entry
from ._merged import Merged
from .own_tools import CALL_READ_TOOL, CALL_TOOL, SEARCH_TOOLS

try:
    import mcp_types as types
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["Finder"]

_UNLIMITED = 2**62
_MAX_RESULTS = 5


class Finder:
    """Searches the tools of all servers.

    Args:
        budget: Maximum number of tokens of an answer.
    """

    def __init__(self, budget: AnswerBudget = DEFAULT_BUDGET) -> None:
        self.catalog = ToolCatalog(limit_tools=_UNLIMITED)
        self._budget = budget
        self._known: dict[str, types.Tool] = {}
        self._read_only: frozenset[str] = frozenset()

    def update(self, merged: Merged, read_only: frozenset[str]) -> None:
        """Replace the catalogue by `merged`; only changed tools are indexed."""
        self._read_only = read_only
        for name, tool in list(self._known.items()):
            if merged.tools.get(name) != tool:
                self.catalog.remove(name)
                del self._known[name]
        new = [(name, tool) for name, tool in merged.tools.items() if name not in self._known]
        for name, tool in new:
            try:
                self.catalog.add(_definition_of(tool))
            except (ToolSearchError, ToolValidationError):  # without a usable name: listed, but not searchable
                continue
            self._known[name] = tool

    def search(self, query: str, *, limit: int = _MAX_RESULTS, down: Mapping[str, str]) -> str:
        """The answer of a search, as text for the model.

        Args:
            query: Words, a name, a pattern or `select:`.
            limit: Maximum number of tools in the answer.
            down: The servers that cannot be reached, with the reason.

        Raises:
            ToolSearchError: the query is invalid.
        """
        found = search_catalog(self.catalog, query, strategy="both", limit=limit)
        lines: list[str] = []
        if found.entries:
            shown = found.shown(self._budget)
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
        for server, why in down.items():
            lines.append(
                f"Note: the server {server!r} cannot be reached now, so its tools may fail or be missing: {why}"
            )
        return "\n".join(lines)

    def nearest(self, name: str) -> str:
        """The answer to a call of an unknown tool: the most similar tools with their definitions."""
        try:
            matches = [match.entry for match in self.catalog.search(name, limit=3)]
        except ToolSearchError:
            matches = []
        unknown = f"There is no tool {name!r}."
        if not matches:
            return f"{unknown} Find one with {SEARCH_TOOLS}."
        shown = self._budget.shown(matches)
        return "\n".join([f"{unknown} Nearest:", *map(self._definition, shown.whole), *map(short_line, shown.short)])

    def definition(self, name: str) -> str:
        """The definition of a tool, as in the answer of a search."""
        tool = self.catalog.get(name)
        matches = [] if tool is None else self.catalog.search(f"select:{name}", limit=1)
        return self._definition(self._budget.cut(matches[0].entry)) if matches else ""

    def call_with(self, name: str) -> str:
        """The name of the gateway's tool that calls the tool `name`."""
        return CALL_READ_TOOL if name in self._read_only else CALL_TOOL

    def _definition(self, entry: Entry) -> str:
        line = json.loads(definition_line(entry))
        return json.dumps(
            {"name": line["name"], "call_with": self.call_with(entry.name), **line},
            ensure_ascii=False,
            separators=(",", ":"),
        )


def _definition_of(tool: types.Tool) -> dict[str, Any]:
    """The searchable part of a tool: a definition without a function, since the server runs it."""
    return {
        "name": tool.name,
        "description": "\n".join(filter(None, (tool.title, tool.description))),
        "input_schema": tool.input_schema,
    }
