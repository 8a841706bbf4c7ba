"""`LocalIndex`: a full-text index of the user's documents in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...common.files import data_folder
from ..request import NO_FILTERS, SearchFilters
from ..words import Term, terms_of
from .database import (
    NO_CONDITION,
    Condition,
    IndexReader,
    IndexTotals,
    IndexWriter,
    ListedDocument,
    StoredDocument,
    condition_of,
    open_to_read,
    reading,
)
from .ranking import Ranked, ranked

if TYPE_CHECKING:
    from .semantic import SemanticRanker

_MOST_COPIES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundPassage:
    """A passage found by a search."""

    url: str
    title: str
    heading: str
    body: str
    score: float
    """From 0 to 1; see `_ranking`."""
    terms: tuple[Term, ...]
    """The terms of the query."""
    has_every_word: bool
    """Whether it has all words of the query."""
    day: str
    """Date of publication, else of modification, else of addition: YYYY-MM-DD."""
    copies: tuple[str, ...] = ()
    """Other addresses of the same content, at most five."""


def default_index_path() -> Path:
    """The default path of the index: `hikidashi/web.db` in the user's data folder."""
    return data_folder() / "web.db"


class LocalIndex:
    """A full-text index in the file `path`, safe for use by several threads and processes.

    The file is opened at the first search. Searches run while another process adds documents, and see each document
    completely or not at all. Every failure is a `WebIndexError`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = default_index_path() if path is None else Path(path)
        self._idle: list[tuple[tuple[int, int], sqlite3.Connection]] = []
        self._lock = threading.Lock()

    def totals(self) -> IndexTotals:
        """The number of documents and passages."""
        with self._reading() as reader:
            documents, passages, _ = reader.totals()
        return IndexTotals(documents=documents, passages=passages)

    def search(
        self,
        question: str,
        *,
        limit: int = 5,
        passages: bool = False,
        filters: SearchFilters = NO_FILTERS,
        semantic: SemanticRanker | None = None,
    ) -> list[FoundPassage]:
        """The best passage of each of the best `limit` documents; with `passages`, the best passages of all.

        Empty if nothing is relevant. `question` has no query syntax. Of documents with the same content, one is
        returned with the addresses of the others.

        Args:
            question: Words, or a sentence.
            limit: How many at most.
            passages: Whether a document may occur several times.
            filters: Dates and domains of the documents to search; other filters are ignored here.
            semantic: Reranks the results by embedding similarity.

        Raises:
            ValueError: `question` is not text, or `limit` not a whole number of at least 1.
        """
        if not isinstance(question, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"`question` is {question!r:.100}: it must be text.")
        if not isinstance(limit, int) or limit < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"`limit` is {limit!r:.100}: use a whole number from 1 on.")
        terms = tuple(terms_of(question))
        if not terms:
            return []
        with self._reading(condition_of(filters)) as reader:
            found = (_found(reader, one, terms) for one in ranked(reader, terms))
            rows = semantic.ranked(question, found) if semantic else found
            return [
                replace(one, copies=reader.copies(one.url, digest, _MOST_COPIES))
                for one, digest in _distinct(rows, limit, passages=passages)
            ]

    def document(self, url: str) -> StoredDocument | None:
        """The document at `url` with its full text; None if it is not in the index."""
        with self._reading() as reader:
            return reader.document(url)

    def documents(self, prefix: str = "") -> list[ListedDocument]:
        """The documents whose addresses start with `prefix`, by address."""
        with self._reading() as reader:
            return reader.documents(prefix)

    def urls(self, prefix: str = "") -> list[str]:
        """The addresses of the documents that start with `prefix`, sorted."""
        with self._reading() as reader:
            return [url for url in reader.urls() if url.startswith(prefix)]

    @contextmanager
    def writing(self) -> Generator[IndexWriter]:
        """The exclusive writer; creates the file if there is none.

        Raises:
            WebIndexError: another process is writing, or the file cannot be written.
        """
        with IndexWriter(self.path) as writer:
            yield writer

    def close(self) -> None:
        """Close the files; a later search opens them again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    @contextmanager
    def _reading(self, condition: Condition = NO_CONDITION) -> Generator[IndexReader]:
        """A connection for exclusive use, returned to the pool unless an error occurs."""
        connection, file = self._take()
        try:
            with reading(connection, self.path, condition) as reader:
                yield reader
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append((file, connection))

    def _take(self) -> tuple[sqlite3.Connection, tuple[int, int]]:
        try:
            status = self.path.stat()
            file = (status.st_dev, status.st_ino)
        except OSError:
            file = (0, 0)
        stale: list[sqlite3.Connection] = []
        taken: sqlite3.Connection | None = None
        with self._lock:
            while self._idle and taken is None:
                known, connection = self._idle.pop()
                if known == file:  # the file may have been replaced
                    taken = connection
                else:
                    stale.append(connection)
        for connection in stale:
            connection.close()
        return taken or open_to_read(self.path), file


def _found(reader: IndexReader, ranked: Ranked, terms: tuple[Term, ...]) -> tuple[FoundPassage, bytes]:
    """A found passage, and the digest of its document."""
    url, title, heading, body, day, digest = reader.passage(ranked.passage)
    found = FoundPassage(
        url=url,
        title=title,
        heading=heading,
        body=body,
        score=ranked.score,
        terms=terms,
        has_every_word=ranked.complete,
        day=day,
    )
    return found, digest


def _distinct(
    rows: Iterable[tuple[FoundPassage, bytes]], limit: int, *, passages: bool
) -> Generator[tuple[FoundPassage, bytes], None, None]:
    """The first `limit` of `rows` with distinct documents, or with `passages` distinct passages."""
    seen: set[object] = set()
    for found, digest in rows:
        one = (digest, found.heading, found.body) if passages else digest
        if one not in seen:
            seen.add(one)
            yield found, digest
            if len(seen) == limit:
                return
