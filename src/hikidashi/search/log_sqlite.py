"""`SearchLog`: the log of searches and calls in a SQLite file.

Recording takes the caller microseconds: a thread writes the records, several per commit.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
import weakref
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple, Self, get_args

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
from .log import PRELOAD, CallLog, FoundBy, RecordedCall, RecordedSearch

logger = logging.getLogger("hikidashi")


_GATHER = 0.05  # seconds; records within it share one commit
_BATCH = 1_000
_MOST_WAITING = 10_000  # records kept while the file cannot be written
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


class SearchLog(CallLog):
    """A log of searches in a SQLite file, which threads and processes may share.

    A call belongs to the newest search in its session that found the tool. Each `SearchLog` is one session, unless
    `with log.session(...)` begins another; an integration that knows where a conversation begins makes each a session.
    Records beyond `max_age_days` or `max_records` are deleted.

    Records are on disk once `flush()` or `close()` has returned; a process that is killed loses at most those of the
    last moment. A log is closed when it is garbage-collected and when Python exits. If the file is removed, the next
    record creates a new one.

    Args:
        path: The file; created with its folder if missing, readable by its owner only.
        keep_queries: With False, the words of a search are not stored, only that it took place and what it found.
        max_age_days: Maximum age of records.
        max_records: Maximum number of searches, and of calls.
        must_exist: Raise if the file does not exist, instead of creating it.

    Raises:
        SearchLogError: the file is damaged, belongs to another program, or cannot be opened; or a limit is not above 0.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        keep_queries: bool = True,
        max_age_days: float = 90.0,
        max_records: int = 100_000,
        must_exist: bool = False,
    ) -> None:
        self.path = Path(path)
        self.keep_queries = keep_queries
        self._file = _File(self.path, max_age_days=max_age_days, max_records=max_records, must_exist=must_exist)
        self._session = secrets.token_hex(6)
        self._in_session: ContextVar[str | None] = ContextVar("hikidashi_search_session", default=None)
        self._writer = _Writer(self._file)
        weakref.finalize(self, self._writer.stop_quietly)

    def searched(self, query: str, kind: str, names: Sequence[str], *, seconds: float | None = None) -> None:
        """Record a search of `kind` (`words`, `nearest`, `regex` or `select`) that found the tools `names`, best first.

        Of the kind `preload`, the user's message `query` loaded them before the model was asked.

        Raises:
            ValueError: `names` is not a list.
        """
        if isinstance(names, str) or not isinstance(names, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"`names` is {names!r:.100}: use a list of names, such as ['send_mail'].")
        # Converted here, so that a wrong type raises in the caller and not in the writing thread.
        kept = str(query) if self.keep_queries else None
        took = None if seconds is None else float(seconds)
        self._writer.put(_Searched(time.time(), self._current_session(), str(kind), kept, tuple(map(str, names)), took))

    def called(self, name: str, *, found_by: FoundBy | None = None) -> None:
        """Record a call of the tool `name`.

        Args:
            name: The tool.
            found_by: How it was found; by default the first in this session that found it, a search or preloading.

        Raises:
            ValueError: `found_by` is something else.
        """
        if found_by is not None and found_by not in get_args(FoundBy):
            raise ValueError(f"`found_by` is {found_by!r}: use 'preload', 'search', 'listed' or 'nothing'.")
        self._writer.put(_Called(time.time(), self._current_session(), str(name), found_by))

    @contextmanager
    def session(self, name: str | None = None) -> Generator[str]:
        """Records made in this block, and in tasks started in it, belong to the session `name`, or to a new one."""
        token = self._in_session.set(name or secrets.token_hex(6))
        try:
            yield self._current_session()
        finally:
            self._in_session.reset(token)

    @contextmanager
    def conversation(self, name: str) -> Generator[str]:
        """Like `session(name)`, but within a session that the caller has begun, records belong to that one."""
        if self._in_session.get() is not None:
            yield self._current_session()
            return
        with self.session(name) as own:
            yield own

    def calls(self) -> list[RecordedCall]:
        """All recorded calls, oldest first, with how each tool was found.

        Raises:
            SearchLogError: the file cannot be read, or records cannot be written to it.
        """
        self.flush()
        return self._file.calls()

    def searches(self) -> list[RecordedSearch]:
        """All recorded searches, oldest first, with the calls that followed from each.

        Raises:
            SearchLogError: the file cannot be read, or records cannot be written to it.
        """
        self.flush()
        return self._file.searches()

    def flush(self) -> None:
        """Return when everything recorded so far is on disk.

        Raises:
            SearchLogError: it could not be written. It is kept, and written with the next record or `flush()`.
        """
        self._writer.flush()

    def close(self) -> None:
        """Write everything to disk and end the writing thread; a later record starts it again.

        Raises:
            SearchLogError: something could not be written.
        """
        self._writer.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _current_session(self) -> str:
        return self._in_session.get() or self._session


class _Searched(NamedTuple):
    """A search that took place."""

    at: float
    session: str
    kind: str
    query: str | None
    names: tuple[str, ...]
    seconds: float | None


class _Called(NamedTuple):
    """A call that took place."""

    at: float
    session: str
    name: str
    found_by: FoundBy | None = None
    """None to see in the records of the session."""


class _Mark(NamedTuple):
    """A place in the queue, waited for until all records before it are written."""

    written: Future[Exception | None]
    """Why they could not be, or None."""
    last: bool = False


_Queue = SimpleQueue[_Searched | _Called | _Mark]


class _Writer:
    """The writing thread and its queue; it has no reference to the log, which can be garbage-collected."""

    def __init__(self, file: _File) -> None:
        self._file = file
        self._begin_empty()

    def _begin_empty(self) -> None:
        self._process = os.getpid()
        self._lock = Lock()
        self._queue: _Queue = SimpleQueue()
        self._thread: Thread | None = None

    def _after_fork(self) -> None:
        # A child process has no thread and must not use its connection; the parent writes what was queued.
        if self._process != os.getpid():
            self._begin_empty()

    def put(self, event: _Searched | _Called) -> None:
        """Queue `event` for writing."""
        self._after_fork()
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._run, args=(self._queue,), name="hikidashi-search-log", daemon=True)
                self._thread.start()
            self._queue.put(event)

    def flush(self) -> None:
        """Return when all is written."""
        self._after_fork()
        mark = _Mark(Future())
        with self._lock:
            if self._thread is None:
                return
            self._queue.put(mark)
        self._wait(mark)

    def stop(self) -> None:
        """Return when all is written and the thread has ended."""
        self._after_fork()
        mark = _Mark(Future(), last=True)
        with self._lock:
            thread, self._thread = self._thread, None
            queue, self._queue = self._queue, SimpleQueue()
        if thread is not None:
            queue.put(mark)
            thread.join()
            self._wait(mark)

    def stop_quietly(self) -> None:
        """Stop a log that was not closed: log an error, since there is no caller to raise to."""
        try:
            self.stop()
        except SearchLogError as error:
            logger.warning("%s The last records are lost.", error)

    def _wait(self, mark: _Mark) -> None:
        failure = mark.written.result()
        if failure is not None:
            raise self._file.error(failure) from failure

    def _run(self, queue: _Queue) -> None:
        waiting: list[_Searched | _Called] = []
        appender = _Appender(self._file)
        failure: Exception | None = None
        while True:
            events, mark = _next_batch(queue)
            waiting += events
            before, failure = failure, None
            try:
                if waiting:
                    appender.write(waiting)
                    waiting.clear()
                    appender.prune()
            except (sqlite3.OperationalError, OSError) as error:  # locked or disk full: may be temporary
                failure = error
                del waiting[:-_MOST_WAITING]
            except Exception as error:  # damaged, or another program's file: permanent
                failure = error
                waiting.clear()
            if failure and not before:
                logger.warning("%s", self._file.error(failure))
            if mark is None:
                continue
            if mark.last:
                appender.close()
            mark.written.set_result(failure)
            if mark.last:
                return


def _next_batch(queue: _Queue) -> tuple[list[_Searched | _Called], _Mark | None]:
    """The next records: those within `_GATHER` seconds, or up to a marker."""
    events: list[_Searched | _Called] = []
    deadline: float | None = None
    while len(events) < _BATCH:
        try:
            item = queue.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic()))
        except Empty:
            break
        if isinstance(item, _Mark):
            return events, item
        events.append(item)
        deadline = deadline or time.monotonic() + _GATHER
    return events, None


class _File:
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
        self.max_age = max_age_days * _SECONDS_PER_DAY
        self.max_records = min(max_records, _MOST_RECORDS)
        self._absolute = path.absolute()  # independent of later changes of the working directory
        with errors_as(self._explained), closing(self.connect()) as connection:
            (fault,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if fault != "ok":
                raise self._explained(Failure("damaged", f"is damaged ({fault})"))

    def connect(self) -> sqlite3.Connection:
        """A connection to the file, created if missing; each thread needs its own."""
        with closed_on_error(connect(self._absolute, timeout=_WAIT_FOR_OTHERS)) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            if self._is_new(connection):
                _create(connection)
        return connection

    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the current file; None if there is none."""
        try:
            status = self._absolute.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def error(self, error: Exception) -> SearchLogError:
        """`error`, of SQLite or the system, as a `SearchLogError`."""
        if isinstance(error, sqlite3.Error | OSError):
            return self._explained(failure_of(error))
        return error if isinstance(error, SearchLogError) else SearchLogError(str(self.path), f"failed: {error!r}")

    def _explained(self, failure: Failure) -> SearchLogError:
        return SearchLogError(str(self.path), failure.reason, _REMEDIES[failure.kind])

    def searches(self) -> list[RecordedSearch]:
        """All searches, oldest first."""
        with self._reading("sessions", "tools", "searches", "found", "calls") as connection:
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
        with self._reading("sessions", "tools", "calls") as connection:
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

    @contextmanager
    def _reading(self, *tables: str) -> Generator[sqlite3.Connection]:
        """A connection that sees the file at one moment, in which each row of `tables` is as it was written here."""
        with errors_as(self._explained), closing(self.connect()) as connection:
            connection.execute("BEGIN")
            for table in tables:
                (number,) = connection.execute(f"SELECT count(*) FROM {table} WHERE NOT ({_WHOLE[table]})").fetchone()
                if number:
                    raise self._explained(Failure("damaged", f"is damaged (rows of the table {table!r}: {number:,})"))
            yield connection

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


class _Appender:
    """Writes records to a file, and opens it again where it was removed or replaced."""

    def __init__(self, file: _File) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._not_pruned = _PRUNE_EVERY  # the first write prunes the log

    def write(self, events: Sequence[_Searched | _Called]) -> None:
        """Write `events`, in one transaction."""
        if self._opened != self._file.identity():
            self.close()
        if self._connection is None:
            self._connection = self._file.connect()
            self._opened = self._file.identity()
            _upgrade(self._connection)
        with transaction(self._connection) as connection:
            for event in events:
                if isinstance(event, _Searched):
                    _write_search(connection, event)
                else:
                    _write_call(connection, event)
        self._not_pruned += len(events)

    def prune(self) -> None:
        """Delete the records beyond the maximum age and number, from time to time."""
        connection = self._connection
        if connection is None or self._not_pruned < _PRUNE_EVERY:
            return
        forgotten = 0
        with transaction(connection):
            for table in ("calls", "searches"):
                forgotten += connection.execute(
                    f"DELETE FROM {table} WHERE at < ? OR id <= (SELECT max(id) FROM {table}) - ?",
                    (time.time() - self._file.max_age, self._file.max_records),
                ).rowcount
            if forgotten:
                connection.execute(
                    "DELETE FROM sessions WHERE id NOT IN "
                    "(SELECT session FROM searches UNION SELECT session FROM calls)"
                )
        if forgotten:
            connection.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after one page
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


def _write_search(connection: sqlite3.Connection, event: _Searched) -> None:
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


def _write_call(connection: sqlite3.Connection, event: _Called) -> None:
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
