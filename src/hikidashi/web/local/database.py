"""The SQLite file of the index: its schema, its connections, its lock, and all of its SQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from ...common.sqlite import (
    Failure,
    closed_on_error,
    connect,
    errors_as,
    failure_of,
    make_database_private,
    read_header,
)
from ...common.unicode import well_formed
from ...errors import WebIndexError
from ..pages.address import host_of
from ..passages import Passage
from ..request import SearchFilters
from ..words import TOKENIZER, indexed

POSITIONS = 1 << 20
"""A passage's id is its document's id times this, plus its position."""

READER = 2
"""The version of the code that parses files and pages; documents of an earlier version are parsed again."""

# "hikd" identifies an index among SQLite files.
_APPLICATION_ID = 0x68696B64
_SCHEMA_VERSION = 2
_SCHEMA = f"""
CREATE TABLE document (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER,
    hash BLOB NOT NULL,
    added TEXT NOT NULL,
    published TEXT,
    day TEXT NOT NULL,
    host TEXT NOT NULL,
    about TEXT NOT NULL,
    front TEXT NOT NULL,
    reader INTEGER NOT NULL
);
CREATE INDEX document_hash ON document(hash);
CREATE TABLE passage (
    id INTEGER PRIMARY KEY,
    heading TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE total (documents INTEGER NOT NULL, passages INTEGER NOT NULL, letters INTEGER NOT NULL);
INSERT INTO total VALUES (0, 0, 0);
CREATE VIRTUAL TABLE words USING fts5(title, heading, body, content='', tokenize="{TOKENIZER}");
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_SCHEMA_VERSION};
"""
_BUSY_SECONDS = 5.0
_REASONS = {"damaged": "is damaged, or is not an index", "busy": "is being written by another process"}
_REMEDIES = {
    "damaged": "Move it away and run `hikidashi web index PATH` again.",
    "full": "Free some space and run the same command again; what was reported as indexed is kept.",
    "busy": "Wait until it has finished, and try again; searching works meanwhile.",
    "inaccessible": "Check the permissions, or give another path.",
    "other": "Check the disk, and try again.",
}


class NoIndex(WebIndexError):  # noqa: N818 - reads as what it says
    """There is no index at `path` yet."""


class AlreadyWriting(WebIndexError):  # noqa: N818 - reads as what it says
    """Another process is writing to the index."""


def open_to_read(path: Path) -> sqlite3.Connection:
    """A read-only connection; works while another process writes, and on a read-only disk.

    Raises:
        WebIndexError: there is no index, or the file is not one.
    """
    if not path.is_file():
        raise _no_index(path, "does not exist")
    with map_errors(path):
        try:
            connection, version = _opened(path, "ro")
        except sqlite3.OperationalError as error:
            # A write-ahead log needs a file beside the index; if none can be created, nothing writes either.
            if failure_of(error).kind != "inaccessible":
                raise
            connection, version = _opened(path, "ro", immutable=True)
        with closed_on_error(connection):
            if version == 0:
                raise _no_index(path, "is empty")
        return connection


def open_to_write(path: Path) -> sqlite3.Connection:
    """A read-write connection to the index at `path`; call it inside `writer_lock`.

    Creates the index if there is none.

    Raises:
        WebIndexError: the file is not an index, or cannot be written.
    """
    with map_errors(path, system=True):
        connection, version = _opened(path, "create")
        with closed_on_error(connection):
            if version == 0:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            for file in (path, _lock_file(path)):
                make_database_private(file)
            connection.execute("PRAGMA synchronous = FULL")  # a commit outlives a power cut too
        return connection


@contextmanager
def writer_lock(path: Path) -> Generator[None]:
    """Hold the writer's lock for the block; it is released with the process, however that ends.

    It is an SQLite lock on an empty file next to the index, so it works the same on every system.

    Raises:
        AlreadyWriting: another process holds it.
    """
    with map_errors(path, system=True), closed_on_error(connect(_lock_file(path), timeout=0)) as lock:
        lock.execute("PRAGMA locking_mode = EXCLUSIVE")
        lock.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        lock.close()


def map_errors(path: Path, *, system: bool = False) -> AbstractContextManager[None]:
    """Errors of SQLite, and with `system` those of the system, raised as a `WebIndexError` that says what to do."""

    def explained(failure: Failure) -> WebIndexError:
        kind = AlreadyWriting if failure.kind == "busy" else WebIndexError
        return kind(str(path), _REASONS.get(failure.kind, failure.reason), _REMEDIES[failure.kind])

    return errors_as(explained, system=system)


def _lock_file(path: Path) -> Path:
    return path.with_name(path.name + "-writer")


def _opened(path: Path, mode: Literal["create", "ro"], *, immutable: bool = False) -> tuple[sqlite3.Connection, int]:
    """A connection to the index, and its version; 0 is a file in which there is nothing yet."""
    with closed_on_error(connect(path, timeout=_BUSY_SECONDS, mode=mode, immutable=immutable)) as connection:
        header = read_header(connection)
        version = header.user_version
        if header.is_empty:
            return connection, 0
        if header.application_id != _APPLICATION_ID:
            raise WebIndexError(str(path), "is an SQLite file of another program", "Give the index another path.")
        if version != _SCHEMA_VERSION:
            reason = f"has version {version}, and this hikidashi reads version {_SCHEMA_VERSION}"
            raise WebIndexError(str(path), reason, "Install a newer hikidashi, or give another path.")
        connection.execute("SELECT passages FROM total").fetchone()  # opens the log, which may fail
    return connection, version


def _no_index(path: Path, why: str) -> NoIndex:
    return NoIndex(str(path), why, "Run `hikidashi web index PATH` to index your documents.")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on documents as SQL about the table `document`; empty for all documents."""

    sql: str = ""
    values: tuple[str, ...] = ()


NO_CONDITION = Condition()


def condition_of(filters: SearchFilters) -> Condition:
    """The condition for the dates and domains of `filters`; a file has no domain."""
    clauses: list[str] = []
    values: list[str] = []
    first, last = filters.days()
    for day, operator in ((first, ">="), (last, "<=")):
        if day is not None:
            clauses.append(f"day {operator} ?")
            values.append(day)
    for domains, negation in ((filters.include_domains, ""), (filters.exclude_domains, "NOT ")):
        if domains:
            # One parameter for any number of domains; `LIKE` would treat an underscore as a wildcard.
            clauses.append(
                f"{negation}EXISTS (SELECT 1 FROM json_each(?) AS domain WHERE host = domain.value "
                "OR substr(host, -length(domain.value) - 1) = '.' || domain.value)"
            )
            values.append(json.dumps(domains))
    return Condition(" AND ".join(clauses), tuple(values))


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredDocument:
    """A document in the index."""

    url: str
    title: str
    kind: str
    size: int
    added: str
    """When it was added or updated, in ISO 8601 and UTC."""
    day: str
    """Date of publication, else of modification, else of addition: YYYY-MM-DD."""
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
    """The size of an index."""

    documents: int
    passages: int


class IndexReader:
    """What one transaction reads from an index, of the documents that meet a condition."""

    def __init__(self, connection: sqlite3.Connection, condition: Condition = NO_CONDITION) -> None:
        self._connection = connection
        self._condition = condition

    def totals(self) -> tuple[int, int, int]:
        """The number of documents, of passages, and of letters."""
        documents, passages, letters = self._connection.execute("SELECT * FROM total").fetchone()
        return documents, passages, letters

    def document(self, url: str) -> StoredDocument | None:
        """The document at `url` with its full text."""
        row = self._connection.execute(
            "SELECT id, url, title, kind, size, added, day, front FROM document WHERE url = ?", (url,)
        ).fetchone()
        if row is None:
            return None
        number, url, title, kind, size, added, day, front = row
        bodies = self._connection.execute(
            "SELECT body FROM passage WHERE id BETWEEN ? AND ? ORDER BY id", _passages_of(number)
        )
        text = front + "".join(body for (body,) in bodies)
        return StoredDocument(url=url, title=title, kind=kind, size=size, added=added, day=day, text=text)

    def documents(self, prefix: str) -> list[ListedDocument]:
        """The documents whose addresses start with `prefix`, by address."""
        rows = self._connection.execute(
            "SELECT url, title, kind, size, added, day, (SELECT count(*) FROM passage WHERE passage.id BETWEEN "
            "document.id * ? AND (document.id + 1) * ? - 1) FROM document WHERE substr(url, 1, ?) = ? ORDER BY url",
            (POSITIONS, POSITIONS, len(prefix), prefix),
        )
        return [
            ListedDocument(url=url, title=title, kind=kind, size=size, added=added, day=day, passages=passages)
            for url, title, kind, size, added, day, passages in rows
        ]

    def urls(self) -> list[str]:
        """The addresses of all documents, sorted."""
        return [url for (url,) in self._connection.execute("SELECT url FROM document ORDER BY url")]

    def passage(self, passage: int) -> tuple[str, str, str, str, str, bytes]:
        """Address, title, headings, text, day and digest of a passage and its document."""
        return self._connection.execute(
            "SELECT url, title, heading, body, day, hash FROM passage, document "
            "WHERE passage.id = ? AND document.id = ?",
            (passage, passage // POSITIONS),
        ).fetchone()

    def copies(self, url: str, digest: bytes, most: int) -> tuple[str, ...]:
        """Other addresses of the content with this digest that meet the condition."""
        narrowed = f" AND {self._condition.sql}" if self._condition.sql else ""
        rows = self._connection.execute(
            f"SELECT url FROM document WHERE hash = ? AND url <> ?{narrowed} ORDER BY url LIMIT ?",
            (digest, url, *self._condition.values, most),
        )
        return tuple(other for (other,) in rows)

    def texts(self, passages: Collection[int]) -> Iterator[tuple[int, str, str, str]]:
        """Id, title, headings and text of each passage in lower case, in one query."""
        rows = self._connection.execute(
            "SELECT passage.id, title, heading, about, body FROM passage JOIN document ON document.id = passage.id / ? "
            f"WHERE passage.id IN ({', '.join('?' * len(passages))})",
            (POSITIONS, *passages),
        )
        for passage, title, heading, about, body in rows:
            yield passage, title.lower(), f"{heading}\n{about}".lower(), body.lower()

    def count(self, expression: str) -> int:
        """The number of passages that match an FTS5 expression, whatever the condition."""
        (number,) = self._connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (expression,)).fetchone()
        return number

    def matching(self, expression: str, limit: int, *, weights: tuple[float, float, float] | None = None) -> list[int]:
        """Up to `limit` passages that match an FTS5 expression: any, or with weights of the fields the best by bm25."""
        rank, order = "", ""
        if weights is not None:
            rank, order = " AND rank MATCH 'bm25({}, {}, {})'".format(*weights), " ORDER BY rank"
        narrowed = ""
        if self._condition.sql:
            narrowed = f" AND words.rowid / {POSITIONS} IN (SELECT id FROM document WHERE {self._condition.sql})"
        rows = self._connection.execute(
            f"SELECT words.rowid FROM words WHERE words MATCH ?{rank}{narrowed}{order} LIMIT ?",
            (expression, *self._condition.values, limit),
        )
        return [passage for (passage,) in rows]


@contextmanager
def reading(connection: sqlite3.Connection, path: Path, condition: Condition = NO_CONDITION) -> Generator[IndexReader]:
    """A read transaction: all of it sees the same state."""
    with map_errors(path):
        connection.execute("BEGIN")
        yield IndexReader(connection, condition)
        connection.execute("COMMIT")


def _passages_of(document: int) -> tuple[int, int]:
    """The first and the last id that a passage of the document can have."""
    return document * POSITIONS, (document + 1) * POSITIONS - 1


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
class StoredState:
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

    def known(self, url: str) -> StoredState | None:
        """The stored values of the document at `url`; None if it is missing or was parsed by an earlier version."""
        with map_errors(self._path):
            row = self._connection.execute(
                "SELECT size, mtime_ns, hash FROM document WHERE url = ? AND reader = ?", (url, READER)
            ).fetchone()
        return None if row is None else StoredState(*row)

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
        passage_ids = _passages_of(number)
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
