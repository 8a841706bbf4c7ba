"""What a search engine is here, and which ones there are. Each peer runs its own code, in its own documented way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from .data import Definition

OURS = "hikidashi"
"""The default: by words and by meaning."""
WORDS = "hikidashi, words only"
STATIC = "static vectors"


class Searcher(Protocol):
    """A catalogue that can be searched."""

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best tools, best first."""
        ...


@runtime_checkable
class Judging(Protocol):
    """A catalogue that says whether it is sure of what it found."""

    def is_confident(self, query: str) -> bool:
        """Whether what a search for `query` shows is about the question."""
        ...


@runtime_checkable
class Growing(Protocol):
    """A catalogue that takes one more tool without starting over."""

    def add(self, tool: Definition) -> None:
        """Make `tool` findable."""
        ...


@runtime_checkable
class Kept(Protocol):
    """A catalogue that outlives the process."""

    def save(self, path: Path) -> None:
        """Write it to `path`."""
        ...

    def load(self, path: Path) -> Searcher:
        """What was saved at `path`, ready to search."""
        ...


@runtime_checkable
class Late(Protocol):
    """A catalogue that can be searched at once, and better when work in the background is done."""

    def ready(self) -> None:
        """Wait for that."""
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to search tools."""

    name: str
    module: str
    """What must be importable."""
    install: str
    """What to install when it is not."""
    build: Callable[[Sequence[Any]], Searcher]
    how: str
    prepare: Callable[[Sequence[Definition]], Sequence[Any]] = list
    """Makes the tool objects of a framework, which its users have anyway: no part of building the index."""
    largest: int | None = None
    """The most tools that its speed is measured with; `None` for any number."""
    is_slow: bool = False
    """Whether a search takes so long that its accuracy is measured on a part of the questions."""

    def searching(self, tools: Sequence[Definition]) -> Searcher:
        """The engine over a catalogue, ready to be asked."""
        searcher = self.build(self.prepare(tools))
        if isinstance(searcher, Late):
            searcher.ready()
        return searcher

    @property
    def missing(self) -> str | None:
        """What to run to get it, or `None` when it is here."""
        return None if find_spec(self.module) else f"not installed: pip install {self.install}"


def engines() -> dict[str, Engine]:
    """Every engine that accuracy is measured of, ours first."""
    from . import ours, peers

    every = [
        Engine(
            OURS,
            "hikidashi_encoder",
            "hikidashi",
            ours.Hybrid,
            "ToolCatalog as it is every tool embedded",
            largest=10_000,  # 100,000 tools take ten minutes to embed
        ),
        Engine(WORDS, "hikidashi.search", "hikidashi", ours.Lexical, 'ToolCatalog(ranker="lexical")'),
        Engine(
            "bm25s",
            "bm25s",
            "bm25s PyStemmer numba",
            peers.Bm25s,
            "names split, English stop words, Snowball stemmer, compiled by numba where that is installed",
        ),
        Engine(
            "rank-bm25",
            "rank_bm25",
            "rank-bm25",
            peers.RankBm25,
            "BM25Okapi over words, names split",
            is_slow=True,
        ),
        Engine(
            STATIC,
            "wordllama",
            "wordllama",
            peers.StaticVectors,
            "wordllama, 256 numbers: cosine similarity of question and tool",
        ),
        Engine(
            "FastMCP",
            "uncalled_for",  # comes with the full `fastmcp`; `fastmcp-slim` cannot import its server
            "fastmcp",
            peers.FastMcp,
            "BM25SearchTransform, its search alone, without the server around it",
            peers.fastmcp_tools,
            is_slow=True,
        ),
        Engine(
            "pydantic-ai",
            "pydantic_ai",
            "pydantic-ai-slim",
            peers.PydanticAi,
            'ToolSearch(strategy="keywords")',
            peers.pydantic_ai_tools,
            is_slow=True,
        ),
    ]
    return {engine.name: engine for engine in every}


def all_engines() -> dict[str, Engine]:
    """The engines of `engines`, and the full-text indexes that are not made for tools but are known to be fast."""
    from . import peers

    indexes = [
        Engine("tantivy", "tantivy", "tantivy", peers.Tantivy, "its English tokenizer, in memory"),
        Engine("SQLite FTS5", "sqlite3", "python with sqlite3", peers.Fts5, "porter tokenizer, bm25(), in memory"),
    ]
    return engines() | {engine.name: engine for engine in indexes}
