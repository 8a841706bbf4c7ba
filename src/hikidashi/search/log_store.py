"""The SQLite file of a search log: schema, writes, reads and pruning."""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from ..common.sqlite import (
    Failure,
    closed_on_error,
    connect,
    enable_wal,
    errors_as,
    failure_of,
    read_header,
    transaction,
)
from ..common.unicode import well_formed
from ..errors import SearchLogError

__all__ = [
    "PRELOAD",
    "Appender",
    "Called",
    "FoundBy",
    "RecordedCall",
    "RecordedSearch",
    "Searched",
    "Store",
]


FoundBy = Literal["preload", "search", "listed", "nothing"]
"""How the model came to know a tool that it called: preloading loaded it, a search found it, it was in the list from
the start, or nothing found it (the model guessed its name)."""

PRELOAD = "preload"
"""The kind of a search that preloading made, with the user's message as its query."""

_APPLICATION = 0x48494B49  # "HIKI": this file is a search log, and no other program's database
_VERSION = 1
_LONGEST_QUERY = 2_000
_SECONDS_PER_DAY = 86_400
_PRUNE_EVERY = 1_000  # records
_MOST_RECORDS = 2**62  # SQLite's largest integer is twice that
_WAIT_FOR_OTHERS = 10.0  # seconds to wait for the commit of another process
_REMEDIES = {
    "damaged": "It was not changed: move it away, or name another file.",
    "full": "Free some space on the disk.",
    "busy": "Stop the program that holds it, or wait.",
    "inaccessible": "Check that it is a file, and that it and its folder are writable.",
    "other": "Check the disk, and try again.",
}

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
    search INTEGER REFERENCES searches ON DELETE SET NULL,
    found_by TEXT
);
CREATE INDEX calls_by_search ON calls (search);
CREATE INDEX calls_by_age ON calls (at);
CREATE INDEX searches_by_age ON searches (at);
"""

_KNOWN_SESSION = "session IN (SELECT id FROM sessions)"

_KNOWN_TOOL = "tool IN (SELECT id FROM tools)"

_WHOLE = {
    "sessions": "typeof(name) = 'text'",
    "tools": "typeof(name) = 'text'",
    "searches": f"typeof(at) = 'real' AND typeof(kind) = 'text' AND typeof(query) IN ('text', 'null') "
    f"AND typeof(seconds) IN ('real', 'null') AND {_KNOWN_SESSION}",
    "found": _KNOWN_TOOL,
    "calls": f"typeof(at) = 'real' AND {_KNOWN_SESSION} AND {_KNOWN_TOOL}",
}
"""What holds of every row that was written here. SQLite itself takes any value, and its check of a file sees none of
this."""


class Searched(NamedTuple):
    """A search that took place."""

    at: float
    session: str
    kind: str
    query: str | None
    names: tuple[str, ...]
    seconds: float | None


class Called(NamedTuple):
    """A call that took place."""

    at: float
    session: str
    name: str
    found_by: FoundBy | None = None
    """None to see in the records of the session."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedSearch:
    """A search in the log."""

    at: float
    """Time in seconds since 1970."""
    session: str
    kind: str
    """`words`, `nearest` (words for which no match is certain), `regex`, `select`, or `preload`."""
    query: str | None
    """The user's message for `preload`; None if the log keeps no queries."""
    names: tuple[str, ...]
    """The tools it found, best first; for `preload`, those it loaded."""
    seconds: float | None
    """Duration, if it was measured."""
    called: tuple[str, ...]
    """The tools that were called after it found them, in order, once per call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedCall:
    """A call in the log."""

    at: float
    """Time in seconds since 1970."""
    session: str
    name: str
    found_by: FoundBy | None
    """How the tool was found; None if another version recorded the call, which did not say how or in other words."""


class Store:
    """The file of a search log, which several processes may write.

    Raises:
        SearchLogError: the file is damaged, belongs to another program or a newer hikidashi, or cannot be opened.
    """

    def __init__(self, path: Path, *, max_age_days: float, max_records: int, must_exist: bool = False) -> None:
        self.path = path
        if not isinstance(max_age_days, int | float) or not max_age_days > 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SearchLogError(str(path), f"cannot keep records for {max_age_days!r} days", "Use more than 0.")
        if not isinstance(max_records, int) or max_records < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SearchLogError(str(path), f"cannot keep {max_records!r} records", "Use 1 or more.")
        if must_exist and not path.exists():
            raise SearchLogError(str(path), "does not exist", "Record searches into it first, or check the path.")
        self._max_age = max_age_days * _SECONDS_PER_DAY
        self._max_records = min(max_records, _MOST_RECORDS)
        self._file = path.absolute()  # independent of later changes of the working directory
        with self.mapped_errors(), closing(self.connect()) as connection:
            (fault,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if fault != "ok":
                raise self._explained(Failure("damaged", f"is damaged ({fault})"))

    def connect(self) -> sqlite3.Connection:
        """A connection to the file, created if missing; each thread needs its own."""
        with closed_on_error(connect(self._file, timeout=_WAIT_FOR_OTHERS)) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            if self._is_new(connection):
                _create(connection)
        return connection

    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the current file; None if there is none."""
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def mapped_errors(self) -> AbstractContextManager[None]:
        """Errors of SQLite and the system raised as a `SearchLogError` that names the file and the remedy."""
        return errors_as(self._explained)

    def error(self, error: Exception) -> SearchLogError:
        """`error`, of SQLite or the system, as a `SearchLogError`."""
        if isinstance(error, sqlite3.Error | OSError):
            return self._explained(failure_of(error))
        return error if isinstance(error, SearchLogError) else SearchLogError(str(self.path), f"failed: {error!r}")

    def _explained(self, failure: Failure) -> SearchLogError:
        return SearchLogError(str(self.path), failure.reason, _REMEDIES[failure.kind])

    def write(self, connection: sqlite3.Connection, events: Iterable[Searched | Called]) -> None:
        """Write `events` to the file, in one transaction."""
        with transaction(connection):
            for event in events:
                if isinstance(event, Searched):
                    _write_search(connection, event)
                else:
                    _write_call(connection, event)

    def prune(self, connection: sqlite3.Connection) -> None:
        """Delete the records beyond the maximum age and number."""
        oldest = time.time() - self._max_age
        forgotten = 0
        with transaction(connection):
            for table in ("calls", "searches"):
                forgotten += connection.execute(
                    f"DELETE FROM {table} WHERE at < ? OR id <= (SELECT max(id) FROM {table}) - ?",
                    (oldest, self._max_records),
                ).rowcount
            if not forgotten:
                return
            connection.execute(
                "DELETE FROM sessions WHERE id NOT IN (SELECT session FROM searches UNION SELECT session FROM calls)"
            )
        connection.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after one page

    def searches(self) -> list[RecordedSearch]:
        """All searches, oldest first."""
        with self.mapped_errors(), closing(self.connect()) as connection:
            connection.execute("BEGIN")
            self._check_rows(connection, "sessions", "tools", "searches", "found", "calls")
            # Names are joined here: with half a million rows, SQLite takes twice as long.
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

    def calls(self) -> list[RecordedCall]:
        """All calls, oldest first."""
        with self.mapped_errors(), closing(self.connect()) as connection:
            connection.execute("BEGIN")
            self._check_rows(connection, "sessions", "tools", "calls")
            told = "found_by" if _says_how_found(connection) else "NULL"
            rows: Iterable[tuple[Any, ...]] = connection.execute(
                f"SELECT calls.at, sessions.name, tools.name, "
                f"coalesce({told}, CASE WHEN search IS NOT NULL THEN 'search' END) "
                "FROM calls JOIN sessions ON sessions.id = calls.session JOIN tools ON tools.id = calls.tool "
                "ORDER BY calls.id"
            )
            return [
                RecordedCall(
                    at=at, session=session, name=name, found_by=found_by if found_by in get_args(FoundBy) else None
                )
                for at, session, name, found_by in rows
            ]

    def usage(self) -> dict[str, int]:
        """Number of calls of each tool, the most called first."""
        with self.mapped_errors(), closing(self.connect()) as connection:
            rows = connection.execute(
                "SELECT tools.name, count(*) FROM calls JOIN tools ON tools.id = calls.tool "
                "GROUP BY tools.name ORDER BY count(*) DESC, tools.name"
            )
            return dict(rows.fetchall())

    def _check_rows(self, connection: sqlite3.Connection, *tables: str) -> None:
        """Raise if a row of one of `tables` is not what is written here."""
        for table in tables:
            (number,) = connection.execute(f"SELECT count(*) FROM {table} WHERE NOT ({_WHOLE[table]})").fetchone()
            if number:
                raise self._explained(Failure("damaged", f"is damaged (rows of the table {table!r}: {number:,})"))

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        header = read_header(connection)
        is_own = header.application_id == _APPLICATION
        if is_own and header.user_version > _VERSION:
            raise SearchLogError(
                str(self.path),
                f"was written by a newer hikidashi (format {header.user_version}, this one knows {_VERSION})",
                "Upgrade hikidashi, or name another file.",
            )
        if not is_own and not header.is_empty:
            raise SearchLogError(str(self.path), "is a SQLite file of another program", "Name another file.")
        return not is_own


class Appender:
    """Appends records to a store; a file that was removed or replaced is reopened."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._not_pruned = _PRUNE_EVERY  # the first write prunes the log

    def write(self, events: Sequence[Searched | Called]) -> None:
        """Write `events` to the file, in one transaction."""
        if self._opened != self._store.identity():
            self.close()
        if self._connection is None:
            self._connection = self._store.connect()
            self._opened = self._store.identity()
            _upgrade(self._connection)
        self._store.write(self._connection, events)
        self._not_pruned += len(events)

    def prune(self) -> None:
        """Prune the store from time to time."""
        if self._connection is not None and self._not_pruned >= _PRUNE_EVERY:
            self._store.prune(self._connection)
            self._not_pruned = 0

    def close(self) -> None:
        """Close the file; the next write opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # must come before the first table
    enable_wal(connection, timeout=_WAIT_FOR_OTHERS)
    with transaction(connection):
        if read_header(connection).is_empty:  # else another process was first
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")


def _says_how_found(connection: sqlite3.Connection) -> bool:
    """Whether the file has the column `found_by`, which earlier versions did not have."""
    return any(column == "found_by" for _, column, *_ in connection.execute("PRAGMA table_info(calls)"))


def _upgrade(connection: sqlite3.Connection) -> None:
    """Add what a file of an earlier version lacks; the format stays the same, since that version can still use it."""
    if not _says_how_found(connection):
        with transaction(connection):
            if not _says_how_found(connection):  # else another process was first
                connection.execute("ALTER TABLE calls ADD COLUMN found_by TEXT")


def _write_search(connection: sqlite3.Connection, event: Searched) -> None:
    session = _id_of(connection, "sessions", event.session)
    query = None if event.query is None else well_formed(event.query)[:_LONGEST_QUERY]
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
        "INSERT INTO calls (session, at, tool, search, found_by) VALUES "
        "(:session, :at, :tool, (SELECT max(search) FROM found WHERE session = :session AND tool = :tool), :found_by)",
        {
            "session": session,
            "at": event.at,
            "tool": tool,
            "found_by": event.found_by or _first_found_by(connection, session, tool),
        },
    )


def _first_found_by(connection: sqlite3.Connection, session: int, tool: int) -> FoundBy:
    """What found the tool first in this session."""
    row = connection.execute(
        "SELECT kind FROM found JOIN searches ON searches.id = found.search "
        "WHERE found.session = ? AND tool = ? ORDER BY search LIMIT 1",
        (session, tool),
    ).fetchone()
    if row is None:
        return "nothing"
    return "preload" if row[0] == PRELOAD else "search"


def _id_of(connection: sqlite3.Connection, table: str, name: str) -> int:
    name = well_formed(name)
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
