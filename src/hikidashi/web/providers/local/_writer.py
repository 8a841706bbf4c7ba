"""The writer of an index: whole documents, in transactions."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from ....common.unicode import well_formed
from ...pages.address import host_of
from ...text.split import Passage
from ...text.words import indexed
from ._database import POSITIONS, READER, map_errors, open_to_write, writer_lock

__all__ = ["IndexWriter", "Known", "NewDocument"]

# After so many new passages FTS5 is optimized, which takes about a second and speeds up queries.
_WORTH_OPTIMISING = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class NewDocument:
    """A document to add to the index."""

    url: str
    title: str
    kind: str
    size: int
    mtime_ns: int | None
    """Modification time of the file; None for a web page."""
    hash: bytes
    passages: Sequence[Passage]
    published: str | None = None
    """Publication date from its metadata, as YYYY-MM-DD."""
    about: str = ""
    """Description and tags from its front matter."""
    front: str = ""
    """The front matter itself, which is not part of the passages."""


@dataclass(frozen=True, slots=True)
class Known:
    """The stored values that show whether a document has changed."""

    size: int
    mtime_ns: int | None
    hash: bytes


class IndexWriter:
    """Adds, replaces and removes documents.

    Changes since the last `commit` are atomic: after a power failure or `kill -9` the index is in the state of the last
    `commit`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held = ExitStack()
        self._added = 0
        self._change = (0, 0, 0)

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.enter_context(writer_lock(self._path))
            self._connection = open_to_write(self._path)
            opened.callback(self._connection.close)
            self._held = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._held, map_errors(self._path):  # closing rolls back what was not committed
            if self._added >= _WORTH_OPTIMISING and kind is None and not self._connection.in_transaction:
                self._connection.execute("INSERT INTO words(words) VALUES ('optimize')")

    def known(self, url: str) -> Known | None:
        """The stored values of the document at `url`; None if it is missing or was parsed by an earlier version."""
        with map_errors(self._path):
            row = self._connection.execute(
                "SELECT size, mtime_ns, hash FROM document WHERE url = ? AND reader = ?", (url, READER)
            ).fetchone()
        return None if row is None else Known(*row)

    def urls_below(self, prefix: str) -> list[str]:
        """The addresses in the index that begin with `prefix`."""
        with map_errors(self._path):
            rows = self._connection.execute(
                "SELECT url FROM document WHERE substr(url, 1, ?) = ? ORDER BY url", (len(prefix), prefix)
            ).fetchall()
        return [url for (url,) in rows]

    def put(self, document: NewDocument) -> None:
        """Adds `document`, in place of the one that had its address."""
        title, about = well_formed(document.title), well_formed(document.about)
        now = datetime.now(UTC)
        row = {
            "url": document.url,
            "title": title,
            "kind": document.kind,
            "size": document.size,
            "mtime_ns": document.mtime_ns,
            "hash": document.hash,
            "added": now.isoformat(timespec="seconds"),
            "published": document.published,
            "day": document.published or _day_of(document.mtime_ns) or now.date().isoformat(),
            "host": host_of(document.url),
            "about": about,
            "front": well_formed(document.front),
            "reader": READER,
        }
        with self._changing():
            self._forget(document.url)
            added = self._connection.execute(
                f"INSERT INTO document({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
            )
            first = (added.lastrowid or 0) * POSITIONS
            rows = [
                (first + position, well_formed(passage.heading), well_formed(passage.body))
                for position, passage in enumerate(document.passages)
            ]
            self._connection.executemany("INSERT INTO passage VALUES (?, ?, ?)", rows)
            self._connection.executemany(
                "INSERT INTO words(rowid, title, heading, body) VALUES (?, ?, ?, ?)", _words(title, about, rows)
            )
            self._count(1, len(rows), sum(len(body) for _, _, body in rows))
        self._added += len(rows)

    def touched(self, url: str, *, size: int, mtime_ns: int) -> None:
        """Record the new modification time of a file with unchanged content."""
        with self._changing():
            self._connection.execute(
                "UPDATE document SET day = coalesce(published, ?, day), size = ?, mtime_ns = ? WHERE url = ?",
                (_day_of(mtime_ns), size, mtime_ns, url),
            )

    def remove(self, url: str) -> bool:
        """Remove the document at `url`; False if there was none."""
        with self._changing():
            return self._forget(url)

    def commit(self) -> None:
        """Commit all changes, which makes them durable and visible to readers."""
        if not self._connection.in_transaction:
            return
        with self._changing():
            # Once per commit: a statement that may fail halfway makes FTS5 flush its pending terms.
            self._connection.execute(
                "UPDATE total SET documents = documents + ?, passages = passages + ?, letters = letters + ?",
                self._change,
            )
            self._connection.execute("COMMIT")
            self._change = (0, 0, 0)

    def _forget(self, url: str) -> bool:
        found = self._connection.execute("SELECT id, title, about FROM document WHERE url = ?", (url,)).fetchone()
        if found is None:
            return False
        number, title, about = found
        passage_ids = (number * POSITIONS, (number + 1) * POSITIONS - 1)
        rows = self._connection.execute(
            "SELECT id, heading, body FROM passage WHERE id BETWEEN ? AND ?", passage_ids
        ).fetchall()
        # A contentless FTS5 table needs the original text to delete a row.
        self._connection.executemany(
            "INSERT INTO words(words, rowid, title, heading, body) VALUES ('delete', ?, ?, ?, ?)",
            _words(title, about, rows),
        )
        self._connection.execute("DELETE FROM passage WHERE id BETWEEN ? AND ?", passage_ids)
        self._connection.execute("DELETE FROM document WHERE id = ?", (number,))
        self._count(-1, -len(rows), -sum(len(body) for _, _, body in rows))
        return True

    def _count(self, documents: int, passages: int, letters: int) -> None:
        before = self._change
        self._change = (before[0] + documents, before[1] + passages, before[2] + letters)

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Begin a transaction unless one is open; roll it back on an error."""
        with map_errors(self._path):
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._change = (0, 0, 0)
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _words(
    title: str, about: str, rows: Sequence[tuple[int, str, str]]
) -> Generator[tuple[int, str, str, str], None, None]:
    """The FTS5 row of each passage; description and tags are indexed as headings."""
    title_words, about_words = indexed(title), indexed(about)
    for row, heading, body in rows:
        yield row, title_words, f"{indexed(heading)}\n{about_words}", indexed(body)


def _day_of(mtime_ns: int | None) -> str | None:
    """The modification date of a file in UTC; None if there is none or it is out of range."""
    try:
        return None if mtime_ns is None else datetime.fromtimestamp(mtime_ns / 1e9, UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return None
