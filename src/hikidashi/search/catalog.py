"""ToolCatalog: all the tools an agent could have, and the few it needs now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from threading import RLock
from typing import Any

from ..errors import ToolSearchError, ToolValidationError
from .bm25 import FIELD_WEIGHTS, Index
from .entry import Entry, entry_of
from .fuzzy import Speller
from .gate import relevant
from .glossary import Glossary
from .match import ToolMatch, field_texts
from .query import query_terms
from .regex import Pattern, searchable_text
from .text import Analyzer, name_key

__all__ = ["MAX_LIMIT", "MAX_QUERY", "MAX_TOOLS", "ToolCatalog"]

MAX_TOOLS = 10_000
MAX_QUERY = 500
MAX_LIMIT = 50
_SELECT = "select:"


class ToolCatalog:
    """Tools to search by words, by pattern or by name.

    Any thread may search while one adds or removes: each sees the catalogue before or after a change, never
    in between. A search takes well below a millisecond, so async code calls it as it is.

    Args:
        tools: Anthropic, OpenAI or MCP dicts, tools of hikidashi, pydantic-ai, strands or MCP, mixed as they come.
        limit_tools: How many tools the catalogue takes; the API's own limit unless raised.
        limit_query: How many characters a query may have; the API's own limit unless raised.
        glossary: Words of your own and the English words tools use for them, or a file of them (tab-separated),
            looked up before the ones that come with hikidashi.

    Raises:
        ToolValidationError: a tool has no name, a schema that is no object, or the name of another tool.
        ToolSearchError: there are more tools than `limit_tools`.
    """

    def __init__(
        self,
        tools: Iterable[Any] = (),
        *,
        limit_tools: int = MAX_TOOLS,
        limit_query: int = MAX_QUERY,
        glossary: Mapping[str, str | Iterable[str]] | str | Path | None = None,
    ) -> None:
        self.limit_tools = limit_tools
        self.limit_query = limit_query
        self._glossary = None if glossary is None else Glossary.of(glossary)
        self._lock = RLock()
        self._index = Index()
        self._analyzer = Analyzer()
        self._numbers: dict[str, int] = {}
        self._entries: list[Entry | None] = []
        self._texts: dict[int, str] = {}
        self._keys: dict[str, list[str]] | None = None
        self._speller: tuple[int, Speller] | None = None
        for position, tool in enumerate(tools):
            self._insert(entry_of(tool, position))

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[Any]:
        """The tools, in the order they were added."""
        with self._lock:
            return iter([self._entry(number).tool for number in self._numbers.values()])

    @property
    def names(self) -> list[str]:
        """The names of all tools, in the order they were added."""
        with self._lock:
            return list(self._numbers)

    def add(self, tool: Any) -> None:
        """Put one more tool into the catalogue; the others stay as they are.

        Raises:
            ToolValidationError: it has no name, a schema that is no object, or the name of another tool.
            ToolSearchError: the catalogue is full.
        """
        entry = entry_of(tool)
        with self._lock:
            self._insert(entry)

    def remove(self, name: str) -> None:
        """Take a tool out of the catalogue.

        Raises:
            ToolSearchError: no tool has this name.
        """
        with self._lock:
            if name not in self._numbers:
                raise self._no_such_tool([name])
            number = self._numbers.pop(name)
            self._index.remove(number, (term for _, terms in self._terms(self._entry(number)) for term in terms))
            self._entries[number] = None
            self._texts.pop(number, None)
            if self._keys is not None:
                self._keys[name_key(name)].remove(name)
            if len(self._entries) > 2 * len(self._numbers) + 64:
                self._renumber()

    def search(self, query: str, *, limit: int = 5) -> list[ToolMatch]:
        """The tools that fit `query` best, best first; an empty list when none does.

        A tool whose name is the query, however spelled (`getUser`, `get user`), comes first. `select:a,b` gives
        the tools of these names in this order, whatever `limit` says; names no tool has are left out, unless that
        leaves nothing.

        Raises:
            ToolSearchError: the query is empty or too long, `limit` is out of range, the catalogue is empty, or
                `select:` names no tool there is.
        """
        self._check(query, "query", self.limit_query, "invalid_tool_input", limit)
        if query.lstrip().startswith(_SELECT):
            return self._select(query.lstrip().removeprefix(_SELECT))
        with self._lock:
            terms, missing = query_terms(query, self._index.postings, self._nearest, self._glossary)
            hits = self._index.top([(term.term, term.weight) for term in terms], limit)
            hits = relevant(self._index, hits, terms, missing)
            exact = self._named(query)
            matches = [self._match(number, score, terms) for number, score in hits if number not in exact]
            if exact:
                ceiling = max((score for _, score in hits), default=0.0) + 1.0
                matches = [self._match(number, ceiling, terms) for number in exact] + matches
            return matches[:limit]

    def search_regex(self, pattern: str, *, limit: int = 5) -> list[ToolMatch]:
        r"""The tools whose name, description or arguments match `pattern`, in catalogue order, an exact name first.

        Python's syntax, always case-insensitive, in time that grows only with the text: no look-around, no
        back-references. Each name, description and argument is a line of its own: `^get_` and `_data$` find names.

        Raises:
            ToolSearchError: the pattern is empty, too long, broken, or asks for what this engine does not do;
                `limit` is out of range, or the catalogue is empty.
        """
        self._check(pattern, "pattern", None, "pattern_too_long", limit)
        compiled = Pattern(pattern)
        with self._lock:
            numbers = list(self._numbers.items())
            first = [(name, number) for name, number in numbers if name.casefold() == pattern.casefold()]
            texts = [(number, self._text(number)) for _, number in first + numbers]
        found = compiled.first_matches(texts, limit)
        with self._lock:
            return [
                ToolMatch(entry.name, 1.0, entry, reason=compiled.places(entry))
                for number in found
                if (entry := self._entries[number]) is not None
            ]
