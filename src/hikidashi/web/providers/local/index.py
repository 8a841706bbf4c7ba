"""`LocalIndex`: the documents of a user in one SQLite file, to be searched and read."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ....common.folders import data_folder
from ...filters import NO_FILTERS, SearchFilters
from ...text.words import Term, terms_of
from ._database import POSITIONS, is_current, map_errors, open_to_read
from ._narrowing import Condition, condition_of
from ._ranking import Ranked, ranked
from ._writer import IndexWriter

if TYPE_CHECKING:
    from ._semantic import SemanticRanker

__all__ = ["Found", "IndexTotals", "ListedDocument", "LocalIndex", "StoredDocument", "default_index_path"]

_DIGEST_BYTES = 16  # of a document's content; other values are no digests
_MOST_COPIES = 5


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
    has_every_word: bool
    """Whether all the words of the question are there."""
    day: str
    """When the document was published, else changed, else added: YYYY-MM-DD."""
    copies: tuple[str, ...] = ()
    """Other addresses of the same content, at most five."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredDocument:
    """A document as the index keeps it."""

    url: str
    title: str
    kind: str
    size: int
    added: str
    """When it was added or last changed, in ISO 8601 and UTC."""
    day: str
    """When it was published, else changed, else added: YYYY-MM-DD."""
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedDocument:
    """A document without its text."""

    url: str
    title: str
    kind: str
    size: int
    passages: int
    added: str
    day: str


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexTotals:
    """How much an index holds."""

    documents: int
    passages: int


def default_index_path() -> Path:
    """Where the index is unless the user says otherwise: `hikidashi/web.db` in the user's data folder."""
    return data_folder() / "web.db"


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

    def search(
        self,
        question: str,
        *,
        limit: int = 5,
        passages: bool = False,
        filters: SearchFilters = NO_FILTERS,
        semantic: SemanticRanker | None = None,
    ) -> list[Found]:
        """The best passage of each of the best `limit` documents; with `passages`, the best passages of any.

        Empty if nothing is relevant. No character of `question` has a special meaning. Of documents with the same
        content one is given, with the addresses of the others.

        Args:
            question: Words, or a sentence.
            limit: How many at most.
            passages: Whether one document may be given several times.
            filters: The days and domains of the documents to search in; other filters restrict nothing here.
            semantic: Ranks what has words of the question by its meaning, too.
        """
        terms = tuple(terms_of(question))
        if not terms:
            return []
        condition = condition_of(filters)
        with self._reading() as connection:
            found = (_row_of(connection, one, terms) for one in ranked(connection, terms, condition))
            rows = semantic.ranked(question, found) if semantic else found
            return [
                replace(one, copies=_copies(connection, one.url, digest, condition))
                for one, digest in _distinct(rows, limit, passages=passages)
            ]

    def document(self, url: str) -> StoredDocument | None:
        """The document at `url` with its whole text; None if it is not in the index."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT id, url, title, kind, size, added, day, front FROM document WHERE url = ?", (url,)
            ).fetchone()
            if row is None:
                return None
            number, url, title, kind, size, added, day, front = row
            bodies = connection.execute(
                "SELECT body FROM passage WHERE id BETWEEN ? AND ? ORDER BY id",
                (number * POSITIONS, (number + 1) * POSITIONS - 1),
            )
            text = front + "".join(body for (body,) in bodies)
        return StoredDocument(url=url, title=title, kind=kind, size=size, added=added, day=day, text=text)

    def documents(self, prefix: str = "") -> list[ListedDocument]:
        """The documents whose addresses begin with `prefix`, in the order of their addresses."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT url, title, kind, size, added, day, (SELECT count(*) FROM passage WHERE passage.id BETWEEN "
                "document.id * ? AND (document.id + 1) * ? - 1) FROM document WHERE substr(url, 1, ?) = ? ORDER BY url",
                (POSITIONS, POSITIONS, len(prefix), prefix),
            ).fetchall()
        return [
            ListedDocument(url=url, title=title, kind=kind, size=size, added=added, day=day, passages=passages)
            for url, title, kind, size, added, day, passages in rows
        ]

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
        if not is_current(connection):  # the next question may find the file brought up to date
            connection.close()
            return
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


def _row_of(connection: sqlite3.Connection, ranked: Ranked, terms: tuple[Term, ...]) -> tuple[Found, bytes]:
    """A passage that was found, and the digest of its document."""
    url, title, heading, body, day, digest = connection.execute(
        "SELECT url, title, heading, body, day, hash FROM passage, document WHERE passage.id = ? AND document.id = ?",
        (ranked.passage, ranked.passage // POSITIONS),
    ).fetchone()
    found = Found(
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
    rows: Iterable[tuple[Found, bytes]], limit: int, *, passages: bool
) -> Generator[tuple[Found, bytes], None, None]:
    """The first `limit` of `rows` that are not of a document given before, or with `passages` not the same passage."""
    seen: set[object] = set()
    for found, digest in rows:
        document = digest if len(digest) == _DIGEST_BYTES else found.url
        one = (document, found.heading, found.body) if passages else document
        if one not in seen:
            seen.add(one)
            yield found, digest
            if len(seen) == limit:
                return


def _copies(connection: sqlite3.Connection, url: str, digest: bytes, condition: Condition) -> tuple[str, ...]:
    """The other addresses of the content with this digest, among the documents of a condition."""
    if len(digest) != _DIGEST_BYTES:
        return ()
    rows = connection.execute(
        f"SELECT url FROM document WHERE hash = ? AND url <> ?{condition.of_document()} ORDER BY url LIMIT ?",
        (digest, url, *condition.values, _MOST_COPIES),
    )
    return tuple(other for (other,) in rows)
