"""hikidashi as an engine of the benchmark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hikidashi.search import Embedder, ToolCatalog, ToolMatch
from hikidashi.search.engine.embeddings import default_embedder

from .data import Definition

VECTORS = "HIKIDASHI_BENCHMARK_VECTORS"
"""The environment variable with the file that keeps vectors, for the processes of one run; none are kept without it."""

# The API's limits are not what is measured: some questions are long, and 100,000 tools are ten times its limit.
_NO_LIMIT = 10_000_000


class Lexical:
    """A `ToolCatalog` that ranks by words, its limits raised."""

    def __init__(self, tools: Sequence[Definition]) -> None:
        self.catalog = ToolCatalog(tools, **self._options())
        self._last: tuple[str, list[ToolMatch]] = ("", [])

    def _options(self) -> dict[str, Any]:
        return {"ranker": "lexical", "limit_tools": _NO_LIMIT, "limit_query": _NO_LIMIT}

    def ready(self) -> None:
        """Wait until every tool can be found as it will be from then on."""
        self.catalog.ready()

    def wait_for_index(self) -> None:
        """Wait until the index is built, as a search would."""
        self.catalog.search("anything", by_meaning=False)

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best tools, best first."""
        matches = self.catalog.search(query, limit=limit)
        self._last = (query, matches)
        return [match.name for match in matches]

    def is_confident(self, query: str) -> bool:
        """Whether what a search for `query` shows is about the question."""
        last, matches = self._last
        matches = matches if query == last else self.catalog.search(query, limit=1)
        return any(match.confident for match in matches[:1])

    def search_regex(self, pattern: str, limit: int) -> list[str]:
        """The names of the first tools that match."""
        return [match.name for match in self.catalog.search_regex(pattern, limit=limit)]

    def add(self, tool: Definition) -> None:
        """Make `tool` findable."""
        self.catalog.add(tool)

    def save(self, path: Path) -> None:
        """Write it to `path`."""
        self.catalog.save(path)

    def load(self, path: Path, tools: Sequence[Definition] | None = None) -> Lexical:
        """What was saved at `path`, ready to search, with the tools themselves where they are given."""
        loaded = object.__new__(type(self))
        loaded.catalog = ToolCatalog.load(path, tools=tools, **self._options())
        loaded._last = ("", [])
        return loaded


class Hybrid(Lexical):
    """A `ToolCatalog` as a user gets it who installs hikidashi: by words and by meaning, its limits raised."""

    def _options(self) -> dict[str, Any]:
        return super()._options() | {"ranker": "hybrid", "embed": embedder()}


def embedder() -> Embedder:
    """The model of hikidashi-encoder; its vectors are kept for this run alone, or not at all."""
    kept = os.environ.get(VECTORS)
    return replace(default_embedder(), cache=Path(kept)) if kept else replace(default_embedder(), id="")
