"""Full-text indexes to compare with: each is built from (title, text) pairs and gives the numbers of the best ten."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from hikidashi.web.local import LocalIndex
from hikidashi.web.local.database import NewDocument
from hikidashi.web.passages import Passage

__all__ = ["OURS", "Engine", "engines", "fts5_ranking"]

OURS = "ours"
_LIMIT = 10
_WORD = re.compile(r"\w+")


class Engine(Protocol):
    """An index in a folder of its own."""

    def build(self, passages: Sequence[tuple[str, str]]) -> None:
        """Takes the passages in, and makes them safe on the disk."""
        ...

    def search(self, question: str) -> list[int]:
        """The numbers of the best ten passages, whose texts were read too."""
        ...

    def close(self) -> None:
        """Gives the files back."""
        ...


def engines() -> dict[str, Callable[[Path], Engine]]:
    """What is installed here, ours first."""
    found: dict[str, Callable[[Path], Engine]] = {
        OURS: _Ours,
        "FTS5 unicode61": lambda folder: _Fts5(folder, "unicode61"),
        "FTS5 porter": lambda folder: _Fts5(folder, "porter unicode61"),
        "FTS5 trigram": lambda folder: _Fts5(folder, "trigram"),
    }
    if find_spec("tantivy"):
        found["tantivy en_stem"] = lambda folder: _Tantivy(folder, "en_stem")
        found["tantivy 2-grams"] = lambda folder: _Tantivy(folder, "pairs")
    return found


class _Ours:
    def __init__(self, folder: Path) -> None:
        self._index = LocalIndex(folder / "web.db")

    def build(self, passages: Sequence[tuple[str, str]]) -> None:
        with self._index.writing() as writer:
            for number, (title, text) in enumerate(passages):
                writer.put(
                    NewDocument(
                        url=f"passage:{number}",
                        title=title,
                        kind="text",
                        size=len(text),
                        mtime_ns=0,
                        hash=str(number).encode(),
                        passages=[Passage("", text)],
                    )
                )
                if number % 500 == 0:
                    writer.commit()
            writer.commit()

    def search(self, question: str) -> list[int]:
        return [int(found.url.partition(":")[2]) for found in self._index.search(question, limit=_LIMIT)]

    def close(self) -> None:
        self._index.close()


class _Fts5:
    """SQLite's own tokenizers; a question is any of its words, or for `trigram` any of their threes of letters."""

    def __init__(self, folder: Path, tokenizer: str) -> None:
        self._trigram = tokenizer == "trigram"
        self._connection = sqlite3.connect(folder / "peer.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(f"CREATE VIRTUAL TABLE words USING fts5(title, body, tokenize='{tokenizer}')")

    def build(self, passages: Sequence[tuple[str, str]]) -> None:
        for start in range(0, len(passages), 500):
            self._connection.execute("BEGIN")
            self._connection.executemany(
                "INSERT INTO words(rowid, title, body) VALUES (?, ?, ?)",
                ((number, *passages[number]) for number in range(start, min(start + 500, len(passages)))),
            )
            self._connection.execute("COMMIT")
        self._connection.execute("INSERT INTO words(words) VALUES ('optimize')")

    def search(self, question: str) -> list[int]:
        words = _WORD.findall(question)
        if self._trigram:
            words = _grams(words, 3)
        if not words:
            return []
        rows = self._connection.execute(
            "SELECT rowid, title, body FROM words WHERE words MATCH ? AND rank MATCH 'bm25(4.0, 1.0)' "
            "ORDER BY rank LIMIT ?",
            (" OR ".join(f'"{word}"' for word in dict.fromkeys(words)), _LIMIT),
        )
        return [number for number, _, _ in rows]

    def close(self) -> None:
        self._connection.close()


class _Tantivy:
    """The Rust engine, with its English stemmer, or with pairs of letters."""

    def __init__(self, folder: Path, tokenizer: str) -> None:
        self._tantivy: Any = import_module("tantivy")
        self._pairs = tokenizer == "pairs"
        builder = self._tantivy.SchemaBuilder()
        builder.add_integer_field("number", stored=True)
        builder.add_text_field("title", stored=True, tokenizer_name=tokenizer)
        builder.add_text_field("body", stored=True, tokenizer_name=tokenizer)
        self._index = self._tantivy.Index(builder.build(), path=str(folder))
        if tokenizer == "pairs":
            grams = self._tantivy.Tokenizer.ngram(2, 2, False)
            lowered = self._tantivy.TextAnalyzerBuilder(grams).filter(self._tantivy.Filter.lowercase())
            self._index.register_tokenizer("pairs", lowered.build())

    def build(self, passages: Sequence[tuple[str, str]]) -> None:
        writer = self._index.writer(num_threads=1)
        for number, (title, body) in enumerate(passages):
            writer.add_document(self._tantivy.Document(number=number, title=title, body=body))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def search(self, question: str) -> list[int]:
        words = _WORD.findall(question)
        if self._pairs:
            words = _grams(words, 2)
        query, _ = self._index.parse_query_lenient(" ".join(words), ["title", "body"])
        searcher = self._index.searcher()
        found = [searcher.doc(address) for _, address in searcher.search(query, _LIMIT).hits]
        return [document["number"][0] for document in found]

    def close(self) -> None:
        """Nothing: the index goes with its object."""


def _grams(words: Sequence[str], size: int) -> list[str]:
    return [word[start : start + size] for word in words for start in range(len(word) - size + 1)]


def fts5_ranking(
    rows: Sequence[tuple[str, str, str]], tokenizer: str, limit: int
) -> Callable[[str], list[tuple[str, str]]]:
    """A search of plain bm25() over (name, title, text), which gives names and texts; the index is in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(f"CREATE VIRTUAL TABLE words USING fts5(name UNINDEXED, title, body, tokenize='{tokenizer}')")
    connection.executemany("INSERT INTO words VALUES (?, ?, ?)", rows)

    def search(question: str) -> list[tuple[str, str]]:
        words = _WORD.findall(question)
        words = _grams(words, 3) if tokenizer == "trigram" else words
        if not words:
            return []
        asked = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        return connection.execute(
            "SELECT name, body FROM words WHERE words MATCH ? AND rank MATCH 'bm25(0.0, 4.0, 1.0)' "
            "ORDER BY rank LIMIT ?",
            (asked, limit),
        ).fetchall()

    return search
