"""hikidashi as an engine of the benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hikidashi.search import ToolCatalog
from hikidashi.search.engine.embeddings import default_embedder

from .data import Definition

# The API's limits are not what is measured: some questions are long, and 100,000 tools are ten times its limit.
_NO_LIMIT = 10_000_000


class Lexical:
    """A `ToolCatalog` that ranks by words, its limits raised."""

    def __init__(self, tools: Sequence[Definition]) -> None:
        self._catalog = ToolCatalog(tools, **self._options())

    def _options(self) -> dict[str, Any]:
        return {"ranker": "lexical", "limit_tools": _NO_LIMIT, "limit_query": _NO_LIMIT}

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best tools, best first."""
        return [match.name for match in self._catalog.search(query, limit=limit)]

    def is_confident(self, query: str) -> bool:
        """Whether what a search for `query` shows is about the question."""
        return any(match.confident for match in self._catalog.search(query, limit=1))

    def search_regex(self, pattern: str, limit: int) -> list[str]:
        """The names of the first tools that match."""
        return [match.name for match in self._catalog.search_regex(pattern, limit=limit)]

    def add(self, tool: Definition) -> None:
        """Make `tool` findable."""
        self._catalog.add(tool)

    def save(self, path: Path) -> None:
        """Write it to `path`."""
        self._catalog.save(path)

    def load(self, path: Path, tools: Sequence[Definition] | None = None) -> Lexical:
        """What was saved at `path`, ready to search, with the tools themselves where they are given."""
        loaded = object.__new__(type(self))
        loaded._catalog = ToolCatalog.load(path, tools=tools, **self._options())
        return loaded


class Unaided(Lexical):
    """The same without the glossaries that come with hikidashi."""

    def _options(self) -> dict[str, Any]:
        return super()._options() | {"glossary": False}


class Hybrid(Lexical):
    """The same by words and by meaning, with the model that comes with the extra `semantic`."""

    def __init__(self, tools: Sequence[Definition]) -> None:
        super().__init__(tools)
        self._catalog.ready()

    def _options(self) -> dict[str, Any]:
        # Without an id no vectors are kept on disk, where a second run would find them.
        return super()._options() | {"ranker": "hybrid", "embed": replace(default_embedder(), id="")}
