"""`LocalIndex`: the documents of a user in one SQLite file, to be searched and read."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .database import POSITIONS, map_errors, open_to_read
from .ranking import EVERY_WORD, Ranked, best_documents, best_passages
from .words import Term, terms_of
from .writer import IndexWriter

__all__ = ["Found", "IndexTotals", "LocalIndex", "StoredDocument", "default_index_path"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A passage that answers a question."""

    url: str
    title: str
    heading: str
    body: str
    score: float
    """From 0 to 1; see `ranking`."""
    terms: tuple[Term, ...]
    """The words it was looked for by."""

    @property
    def has_every_word(self) -> bool:
        """Whether all the words of the question are there."""
        return self.score >= EVERY_WORD


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredDocument:
    """A document as the index keeps it."""

    url: str
    title: str
    kind: str
    size: int
    added: str
    """When it was added or last changed, in ISO 8601 and UTC."""
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexTotals:
    """How much an index holds."""

    documents: int
    passages: int


def default_index_path() -> Path:
    """Where the index is unless the user says otherwise: `hikidashi/web.db` in the user's data folder."""
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "hikidashi" / "web.db"


class LocalIndex:
    """Documents to search and read, in the file `path`; usable from several threads and processes at once.

    Nothing is opened before the first question. Questions are answered while another process adds documents, and
    see each document whole or not at all. Every failure is a `WebIndexError`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = default_index_path() if path is None else Path(path)
        self._idle: list[tuple[tuple[int, int], sqlite3.Connection]] = []
        self._lock = threading.Lock()

    def totals(self) -> IndexTotals:
        """How many documents and passages there are."""
        with self._reading() as connection:
            documents, passages = connection.execute("SELECT documents, passages FROM total").fetchone()
        return IndexTotals(documents=documents, passages=passages)

    def search(self, question: str, *, limit: int = 5, passages: bool = False) -> list[Found]:
        """The best passage of each of the best `limit` documents; with `passages`, the best passages of any.

        Empty if nothing is relevant. No character of `question` has a special meaning.
        """
        terms = terms_of(question)
        best = best_passages if passages else best_documents
        with self._reading() as connection:
            ranked = best(connection, terms, limit) if terms else []
            return [_found(connection, one, tuple(terms)) for one in ranked]

    def document(self, url: str) -> StoredDocument | None:
        """The document at `url` with its whole text; None if it is not in the index."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT id, url, title, kind, size, added FROM document WHERE url = ?", (url,)
            ).fetchone()
            if row is None:
                return None
            number, url, title, kind, size, added = row
            bodies = connection.execute(
                "SELECT body FROM passage WHERE id BETWEEN ? AND ? ORDER BY id",
                (number * POSITIONS, (number + 1) * POSITIONS - 1),
            )
            text = "".join(body for (body,) in bodies)
        return StoredDocument(url=url, title=title, kind=kind, size=size, added=added, text=text)

    def urls(self, prefix: str = "") -> list[str]:
        """The addresses of the documents, those that begin with `prefix`, in order."""
        with self._reading() as connection:
            rows = connection.execute("SELECT url FROM document ORDER BY url").fetchall()
        return [url for (url,) in rows if url.startswith(prefix)]

    @contextmanager
    def writing(self) -> Generator[IndexWriter]:
        """A writer, the only one at this moment; the file is made if there is none.

        Raises:
            WebIndexError: another process is writing, or the file cannot be written.
        """
        with IndexWriter(self.path) as writer:
            yield writer

    def close(self) -> None:
        """Closes the files; a later question opens them again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        """A connection nobody else uses; kept for the next question if this one ends well."""
        connection, file = self._take()
        try:
            with map_errors(self.path):
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
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
                if known == file:  # another index may have taken the place of the one that was open
                    taken = connection
                else:
                    stale.append(connection)
        for connection in stale:
            connection.close()
        return taken or open_to_read(self.path), file


def _found(connection: sqlite3.Connection, ranked: Ranked, terms: tuple[Term, ...]) -> Found:
    url, title, heading, body = connection.execute(
        "SELECT url, title, heading, body FROM passage, document WHERE passage.id = ? AND document.id = ?",
        (ranked.passage, ranked.passage // POSITIONS),
    ).fetchone()
    return Found(url=url, title=title, heading=heading, body=body, score=ranked.score, terms=terms)
