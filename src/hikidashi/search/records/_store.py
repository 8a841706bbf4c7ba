"""The SQLite file of a search log: writing, reading, and deleting old records."""

from __future__ import annotations

import os
import sqlite3
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...errors import SearchLogError

__all__ = ["Appender", "Called", "RecordedSearch", "Searched", "Store"]

_APPLICATION = 0x48494B49  # "HIKI": marks a search log
_VERSION = 1
_LONGEST_QUERY = 2_000
_SECONDS_PER_DAY = 86_400
_PRUNE_EVERY = 1_000  # records
_MOST_RECORDS = 2**62  # SQLite integers have 64 bits
_WAIT_FOR_OTHERS = 10.0  # seconds to wait for a commit of another process

_TABLES = """
CREATE TABLE sessions (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE tools (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE searches (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    query TEXT,
    seconds REAL
);
CREATE TABLE found (
    search INTEGER NOT NULL REFERENCES searches ON DELETE CASCADE,
    rank INTEGER NOT NULL,
    tool INTEGER NOT NULL,
    session INTEGER NOT NULL,
    PRIMARY KEY (search, rank)
) WITHOUT ROWID;
CREATE INDEX newest_search_by_tool ON found (session, tool, search);
CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    at REAL NOT NULL,
    tool INTEGER NOT NULL,
    search INTEGER REFERENCES searches ON DELETE SET NULL
);
CREATE INDEX calls_by_search ON calls (search);
CREATE INDEX calls_by_age ON calls (at);
CREATE INDEX searches_by_age ON searches (at);
"""


class Searched(NamedTuple):
    """A search, to be written."""

    at: float
    session: str
    kind: str
    query: str | None
    names: tuple[str, ...]
    seconds: float | None


class Called(NamedTuple):
    """A call, to be written."""

    at: float
    session: str
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedSearch:
    """A search in the log."""

    at: float
    """Seconds since 1970."""
    session: str
    kind: str
    """`words`, `regex` or `select`."""
    query: str | None
    """None with `keep_queries=False`."""
    names: tuple[str, ...]
    """The tools it found, best first."""
    seconds: float | None
    """Duration, if measured."""
    called: tuple[str, ...]
    """The calls that followed from it, in order; a tool appears once per call."""


class Store:
    """One search log file, which other processes may write to.

    Raises:
        SearchLogError: the file is damaged, belongs to another program or a newer hikidashi, or cannot be opened.
    """

    def __init__(self, path: Path, *, max_age_days: float, max_records: int, must_exist: bool = False) -> None:
        self.path = path
        if not max_age_days > 0:
            raise SearchLogError(str(path), f"cannot keep records for {max_age_days!r} days", "Use more than 0.")
        if max_records < 1:
            raise SearchLogError(str(path), f"cannot keep {max_records!r} records", "Use 1 or more.")
        if must_exist and not path.exists():
            raise SearchLogError(str(path), "does not exist", "Record searches into it first, or check the path.")
        self._max_age = max_age_days * _SECONDS_PER_DAY
        self._max_records = min(max_records, _MOST_RECORDS)
        self._file = path.absolute()  # stays the same when the working directory changes
        with self.mapped_errors(), closing(self.connect()) as connection:
            (fault,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if fault != "ok":
                raise sqlite3.DatabaseError(fault)

    def connect(self) -> sqlite3.Connection:
        """A connection to the file, which is created if missing; each thread needs its own."""
        if not self._file.exists():
            self._file.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._file, os.O_CREAT | os.O_RDWR, 0o600))  # queries are private
        # As a URI, `:memory:` is a file name too, and `mode=rw` keeps SQLite from creating the file with other rights.
        address = f"{self._file.as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=_WAIT_FOR_OTHERS, isolation_level=None)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            if self._is_new(connection):
                _create(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the file; None if it does not exist."""
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @contextmanager
    def mapped_errors(self) -> Generator[None]:
        """Raise errors of SQLite and the system as `SearchLogError`."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self.error(error) from error

    def error(self, error: Exception) -> SearchLogError:
        """`error` of SQLite or the system as a `SearchLogError`, with the file name and a remedy."""
        if isinstance(error, SearchLogError):
            return error
        code = getattr(error, "sqlite_errorname", "")
        if isinstance(error, OSError) or code.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
            remedy = "Check that it is a file, and that it and its folder can be written."
            return SearchLogError(str(self.path), f"cannot be opened ({error})", remedy)
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return SearchLogError(str(self.path), f"is locked ({error})", "End the program that holds it, or wait.")
        if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            return SearchLogError(str(self.path), f"cannot be written ({error})", "Make room on the disk.")
        return SearchLogError(
            str(self.path),
            f"is damaged, or no SQLite file ({error})",
            "It was left as it is: move it away, or name another file.",
        )

    def write(self, connection: sqlite3.Connection, events: Iterable[Searched | Called]) -> None:
        """Write `events`, all or none."""
        with _transaction(connection):
            for event in events:
                if isinstance(event, Searched):
                    _write_search(connection, event)
                else:
                    _write_call(connection, event)

    def prune(self, connection: sqlite3.Connection) -> None:
        """Delete records beyond the maximum age or number."""
        oldest = time.time() - self._max_age
        deleted = 0
        with _transaction(connection):
            for table in ("calls", "searches"):
                deleted += connection.execute(
                    f"DELETE FROM {table} WHERE at < ? OR id <= (SELECT max(id) FROM {table}) - ?",
                    (oldest, self._max_records),
                ).rowcount
            if not deleted:
                return
            connection.execute(
                "DELETE FROM sessions WHERE id NOT IN (SELECT session FROM searches UNION SELECT session FROM calls)"
            )
        connection.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after one page

    def searches(self) -> list[RecordedSearch]:
        """All searches, oldest first."""
        with self.mapped_errors(), closing(self.connect()) as connection:
            connection.execute("BEGIN")
            # Names are joined here: in SQLite it takes twice as long for half a million rows.
            tools: dict[int, str] = dict(connection.execute("SELECT id, name FROM tools"))
            sessions: dict[int, str] = dict(connection.execute("SELECT id, name FROM sessions"))
            found = _by_search(connection.execute("SELECT search, tool FROM found ORDER BY search, rank"), tools)
            called = _by_search(
                connection.execute("SELECT search, tool FROM calls WHERE search IS NOT NULL ORDER BY id"), tools
            )
            rows = connection.execute("SELECT id, at, session, kind, query, seconds FROM searches ORDER BY id")
            return [
                RecordedSearch(
                    at=at,
                    session=sessions[session],
                    kind=kind,
                    query=query,
                    names=tuple(found.get(search, ())),
                    seconds=seconds,
                    called=tuple(called.get(search, ())),
                )
                for search, at, session, kind, query, seconds in rows
            ]

    def usage(self) -> dict[str, int]:
        """Number of calls of each tool, the most called first."""
        with self.mapped_errors(), closing(self.connect()) as connection:
            rows = connection.execute(
                "SELECT tools.name, count(*) FROM calls JOIN tools ON tools.id = calls.tool "
                "GROUP BY tools.name ORDER BY count(*) DESC, tools.name"
            )
            return dict(rows.fetchall())

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application == _APPLICATION and version > _VERSION:
            raise SearchLogError(
                str(self.path),
                f"was written by a newer hikidashi (format {version}, this one knows {_VERSION})",
                "Upgrade hikidashi, or name another file.",
            )
        if application != _APPLICATION and (tables or application or version):
            raise SearchLogError(str(self.path), "is a SQLite file of another program", "Name another file.")
        return application != _APPLICATION


class Appender:
    """Writes records; a file that was removed or replaced is opened again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._not_pruned = _PRUNE_EVERY  # a log is pruned when it is first written to

    def write(self, events: Sequence[Searched | Called]) -> None:
        """Write `events`, all or none."""
        if self._opened != self._store.identity():
            self.close()
        if self._connection is None:
            self._connection = self._store.connect()
            self._opened = self._store.identity()
        self._store.write(self._connection, events)
        self._not_pruned += len(events)

    def prune(self) -> None:
        """Delete old records, every `_PRUNE_EVERY` records."""
        if self._connection is not None and self._not_pruned >= _PRUNE_EVERY:
            self._store.prune(self._connection)
            self._not_pruned = 0

    def close(self) -> None:
        """Close the file; writing opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # must come before the first table
    deadline = time.monotonic() + _WAIT_FOR_OTHERS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError:  # SQLite does not wait here for another process that does the same
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    with _transaction(connection):
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != _APPLICATION:  # another process may have created them
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Generator[None]:
    connection.execute("BEGIN IMMEDIATE")  # a transaction that begins with a read may fail when it writes
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _write_search(connection: sqlite3.Connection, event: Searched) -> None:
    session = _id_of(connection, "sessions", event.session)
    query = None if event.query is None else _storable(event.query)[:_LONGEST_QUERY]
    search = connection.execute(
        "INSERT INTO searches (session, at, kind, query, seconds) VALUES (?, ?, ?, ?, ?)",
        (session, event.at, event.kind, query, event.seconds),
    ).lastrowid
    connection.executemany(
        "INSERT INTO found (search, rank, tool, session) VALUES (?, ?, ?, ?)",
        [(search, rank, _id_of(connection, "tools", name), session) for rank, name in enumerate(event.names, 1)],
    )


def _write_call(connection: sqlite3.Connection, event: Called) -> None:
    session, tool = _id_of(connection, "sessions", event.session), _id_of(connection, "tools", event.name)
    connection.execute(
        "INSERT INTO calls (session, at, tool, search) VALUES "
        "(:session, :at, :tool, (SELECT max(search) FROM found WHERE session = :session AND tool = :tool))",
        {"session": session, "at": event.at, "tool": tool},
    )


def _id_of(connection: sqlite3.Connection, table: str, name: str) -> int:
    name = _storable(name)
    found = connection.execute(f"SELECT id FROM {table} WHERE name = ?", (name,)).fetchone()
    if found is not None:
        return found[0]
    (number,) = connection.execute(f"INSERT INTO {table} (name) VALUES (?) RETURNING id", (name,)).fetchone()
    return number


def _by_search(rows: Iterable[tuple[int, int]], names: dict[int, str]) -> dict[int, list[str]]:
    found: defaultdict[int, list[str]] = defaultdict(list)
    for search, tool in rows:
        found[search].append(names[tool])
    return found


def _storable(text: str) -> str:
    """`text` without lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
