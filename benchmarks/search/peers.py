"""The peers, each through its own code. Tool objects of a framework are made before anything is measured."""

# These libraries come without types, or with private names where the search itself lives.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportMissingImports=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Coroutine, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast
from weakref import finalize

from .data import Definition, searchable_text

# Names are most of what tells tools apart, and as one word with underscores they would match nothing: the peers that
# leave words to their user get them as FastMCP makes them. It lifts bm25s on six public sets by up to 14 points.
_WORD = r"(?u)[^\W_]{2,}"
_words = re.compile(_WORD).findall


class RankBm25:
    """rank-bm25: words in lower case, names split; what it leaves to its user, as simply as can be."""

    def __init__(self, tools: Sequence[Definition]) -> None:
        from rank_bm25 import BM25Okapi

        self._names = [tool["name"] for tool in tools]
        self._index = BM25Okapi([_words(searchable_text(tool).lower()) for tool in tools])

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best tools, best first."""
        scores = self._index.get_scores(_words(query.lower()))
        best = scores.argsort(kind="stable")[::-1][:limit]
        return [self._names[at] for at in best if scores[at] > 0]


class Bm25s:
    """bm25s with English stop words, names split, stemmed where PyStemmer is there, compiled where numba is."""

    def __init__(self, tools: Sequence[Definition]) -> None:
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.ERROR)  # it would tell of every index it builds
        self._names = [tool["name"] for tool in tools]
        self._stemmer = _stemmer()
        self._index = bm25s.BM25(backend="auto")
        self._index.index(self._tokens([searchable_text(tool) for tool in tools]), show_progress=False)

    def _tokens(self, texts: list[str] | str, **how: Any) -> Any:
        import bm25s

        return bm25s.tokenize(texts, token_pattern=_WORD, stemmer=self._stemmer, show_progress=False, **how)

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best tools, best first."""
        limit = min(limit, len(self._names))
        found, scores = self._index.retrieve(self._tokens(query, return_ids=False), k=limit, show_progress=False)
        return [self._names[at] for at, score in zip(found[0], scores[0], strict=True) if score > 0]

    def save(self, path: Path) -> None:
        """Write it to `path`."""
        self._index.save(path, show_progress=False)

    def load(self, path: Path) -> Bm25s:
        """What was saved at `path`, ready to search."""
        import bm25s

        loaded = object.__new__(Bm25s)
        loaded._names, loaded._stemmer = self._names, self._stemmer
        loaded._index = bm25s.BM25.load(path, show_progress=False)
        return loaded


class StaticVectors:
    """wordllama: the mean of static vectors of words, the nearest tools first."""

    def __init__(self, tools: Sequence[Definition]) -> None:
        self._names = [tool["name"] for tool in tools]
        self._model = _wordllama()
        self._vectors = self._embedded([" ".join(_words(searchable_text(tool))) for tool in tools])

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best tools, best first."""
        similarities = self._vectors @ self._embedded([query])[0]
        best = similarities.argsort(kind="stable")[::-1][:limit]
        return [self._names[at] for at in best if similarities[at] > 0]

    def _embedded(self, texts: list[str]) -> Any:
        return self._model.embed(texts, norm=True)


@cache
def _wordllama() -> Any:
    wordllama: Any = import_module("wordllama")
    # By default it looks for the weights beside the package and then downloads them; they are inside the package.
    folder = Path(wordllama.__file__).parent
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    finally:  # it configures the root logger
        root.handlers[:] = handlers
        root.setLevel(level)


class FastMcp:
    """FastMCP's BM25 transform: what its `search_tools` runs on every call, over the tools of the server."""

    def __init__(self, tools: Sequence[Any]) -> None:
        from fastmcp.server.transforms.search.bm25 import BM25SearchTransform

        self._tools = list(tools)
        self._transform = BM25SearchTransform(max_results=10)
        self.search("anything", 1)

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best tools, best first."""
        found = at_once(self._transform._search(self._tools, query))
        return [tool.name for tool in found][:limit]

    def add(self, tool: Definition) -> None:
        """Make `tool` findable: a server has one more, and the next search sees that."""
        self._tools += fastmcp_tools([tool])


class PydanticAi:
    """pydantic-ai's own local search: words of the query that occur in name or description, counted."""

    def __init__(self, tools: Sequence[Any]) -> None:
        from pydantic_ai.toolsets._tool_search import keywords_search_fn

        self._tools = list(tools)
        self._search = keywords_search_fn

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best tools, best first."""
        no_context = cast("Any", None)  # it takes a run context and does not look at it
        return self._search(no_context, [query], self._tools)[:limit]

    def add(self, tool: Definition) -> None:
        """Make `tool` findable: there is no index, every search reads all tools."""
        self._tools += pydantic_ai_tools([tool])


class Tantivy:
    """tantivy with its English stemmer, in memory."""

    def __init__(self, tools: Sequence[Definition]) -> None:
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("name", stored=True, tokenizer_name="raw")
        schema.add_text_field("text", stored=False, tokenizer_name="en_stem")
        self._index = tantivy.Index(schema.build())
        self._write(tools)

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best tools, best first."""
        # `calendar: next event` would ask for a field called calendar.
        parsed, _ = self._index.parse_query_lenient(" ".join(re.findall(r"\w+", query)), ["text"])
        searcher = self._index.searcher()
        return [searcher.doc(address)["name"][0] for _, address in searcher.search(parsed, limit).hits]

    def add(self, tool: Definition) -> None:
        """Make `tool` findable."""
        self._write([tool])

    def _write(self, tools: Sequence[Definition]) -> None:
        import tantivy

        writer = self._index.writer(num_threads=1)
        for tool in tools:
            writer.add_document(tantivy.Document(name=tool["name"], text=searchable_text(tool)))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()


class Fts5:
    """SQLite's full-text index with its Porter stemmer, any word of the query."""

    def __init__(self, tools: Sequence[Definition]) -> None:
        self._open(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE tools USING fts5(name UNINDEXED, text, tokenize='porter unicode61')")
        self._db.executemany(
            "INSERT INTO tools VALUES (?, ?)", [(tool["name"], searchable_text(tool)) for tool in tools]
        )
        self._db.commit()

    def _open(self, place: str) -> None:
        self._db = sqlite3.connect(place)
        finalize(self, self._db.close)

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best tools, best first."""
        words = re.findall(r"\w+", query)
        if not words:
            return []
        any_word = " OR ".join(f'"{word}"' for word in words)
        rows = self._db.execute(
            "SELECT name FROM tools WHERE tools MATCH ? ORDER BY rank LIMIT ?",
            (any_word, limit),
        )
        return [name for (name,) in rows]

    def add(self, tool: Definition) -> None:
        """Make `tool` findable."""
        self._db.execute("INSERT INTO tools VALUES (?, ?)", (tool["name"], searchable_text(tool)))
        self._db.commit()

    def save(self, path: Path) -> None:
        """Write it to `path`."""
        with sqlite3.connect(path) as file:
            self._db.backup(file)
        file.close()

    def load(self, path: Path) -> Fts5:
        """What was saved at `path`, ready to search."""
        loaded = object.__new__(Fts5)
        loaded._open(str(path))
        return loaded


def fastmcp_tools(tools: Sequence[Definition]) -> list[Any]:
    """The tools as FastMCP holds them."""
    from fastmcp.tools.base import Tool

    logging.getLogger("mcp").setLevel(logging.ERROR)  # it would write six lines for each name in Chinese
    return [
        Tool(name=tool["name"], description=tool.get("description"), parameters=tool["input_schema"]) for tool in tools
    ]


def pydantic_ai_tools(tools: Sequence[Definition]) -> list[Any]:
    """The tools as pydantic-ai holds them."""
    from pydantic_ai.tools import ToolDefinition

    return [ToolDefinition(name=tool["name"], description=tool.get("description")) for tool in tools]


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits, without an event loop."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError(f"`{work}` waited for something.")


def _stemmer() -> Any:
    try:
        import Stemmer
    except ImportError:
        return None
    return Stemmer.Stemmer("english")
