"""A cache of responses in a SQLite file, so that the same request is not paid for twice.

If the file cannot be used, that is logged once, and requests go on without a cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Self

from ...common.sqlite import (
    closed_on_error,
    connect,
    enable_wal,
    failure_of,
    make_database_private,
    read_header,
    retry_while_busy,
    transaction,
)

logger = logging.getLogger("hikidashi")

_APPLICATION = 0x48494B57  # "HIKW" identifies a cache among SQLite files
_VERSION = 1
_WAIT_FOR_OTHERS = 2.0  # seconds to wait for the commit of another process; after that the answer is not cached
_LARGEST_SHARE = 4  # an answer of more than a quarter of the cache would evict too many others

_TABLES = (
    "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, at REAL NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS answers_by_age ON answers (at)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)


class ResultCache:
    """Responses by request, for `ttl` seconds, in a file of at most about `max_bytes`; the oldest are evicted first.

    Safe for use by several threads, event loops and processes.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        ttl: float = 3600.0,
        max_bytes: int = 64 * 1024 * 1024,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = Path(path)
        self.ttl = ttl
        self.max_bytes = max_bytes
        self._clock = clock
        self._usable = True
        # Two connections, so that a reader never waits for a writer.
        self._reader = _Connection(self.path)
        self._writer = _Connection(self.path)

    def __repr__(self) -> str:
        return f"ResultCache({str(self.path)!r}, ttl={self.ttl:g}, max_bytes={self.max_bytes})"

    @property
    def usable(self) -> bool:
        """False after the file could not be used, which is logged."""
        return self._usable

    def get(self, *question: object) -> Any:
        """The JSON value cached for `question`; None if there is none or it has expired."""
        if not self._usable or self.ttl <= 0:
            return None
        try:
            with self._reader.locked() as database:
                row = database.execute(
                    "SELECT answer FROM answers WHERE key = ? AND at > ?", (_key(question), self._clock() - self.ttl)
                ).fetchone()
            return None if row is None else json.loads(row[0])
        except (OSError, sqlite3.Error, ValueError) as error:
            self._give_up(error)
            return None

    def put(self, question: tuple[object, ...], answer: Any) -> None:
        """Cache the JSON value `answer` for `question`; may wait for another process."""
        text = json.dumps(answer)  # ASCII, so that lone surrogates survive and the length is the size
        if not self._usable or self.ttl <= 0 or len(text) > self.max_bytes / _LARGEST_SHARE:
            return
        try:
            with self._writer.locked() as database:
                now = self._clock()
                with transaction(database):
                    database.execute("DELETE FROM answers WHERE at <= ?", (now - self.ttl,))
                    database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (_key(question), now, text))
                    self._evict(database)
                database.execute("PRAGMA incremental_vacuum").fetchall()
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def clear(self) -> None:
        """Remove all entries."""
        if not self._usable:
            return
        try:
            with self._writer.locked() as database:
                database.execute("DELETE FROM answers")
                database.execute("PRAGMA incremental_vacuum").fetchall()
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def close(self) -> None:
        """Close the file; a later use opens it again."""
        self._reader.close()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _evict(self, database: sqlite3.Connection) -> None:
        while _bytes_used(database) > self.max_bytes:
            gone = database.execute("DELETE FROM answers WHERE key = (SELECT key FROM answers ORDER BY at LIMIT 1)")
            if not gone.rowcount:
                return

    def _give_up(self, error: Exception) -> None:
        if isinstance(error, sqlite3.Error) and failure_of(error).kind == "busy":
            return  # another process is writing; the next answer is cached again
        self.close()
        if self._usable:
            self._usable = False
            logger.warning(
                "The cache %s cannot be used (%s); continuing without it. Delete the file or name another one.",
                self.path,
                error,
            )


class _Connection:
    """A connection shared by threads under a lock, opened at first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._owner = 0

    @contextlib.contextmanager
    def locked(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            if self._database is None or self._owner != os.getpid():
                # SQLite connections must not be used across a fork.
                self._database, self._owner = _opened(self._path), os.getpid()
            yield self._database

    def close(self) -> None:
        with self._lock:
            if self._database is not None and self._owner == os.getpid():
                self._database.close()
            self._database = None


def _opened(path: Path) -> sqlite3.Connection:
    make_database_private(path)
    with closed_on_error(connect(path, timeout=_WAIT_FOR_OTHERS)) as database:
        # Another process may be creating the tables at this moment.
        retry_while_busy(lambda: _prepare(database), timeout=_WAIT_FOR_OTHERS)
    return database


def _prepare(database: sqlite3.Connection) -> None:
    header = read_header(database)
    if header[:2] != (_APPLICATION, _VERSION):
        if not header.is_empty:
            raise sqlite3.DatabaseError("it is a SQLite file of another program or version")
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")  # must come before the first table
        enable_wal(database, timeout=_WAIT_FOR_OTHERS)
        with transaction(database):
            for statement in _TABLES:
                database.execute(statement)
    database.execute("PRAGMA synchronous = NORMAL")


def _bytes_used(database: sqlite3.Connection) -> int:
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    (free,) = database.execute("PRAGMA freelist_count").fetchone()
    (size,) = database.execute("PRAGMA page_size").fetchone()
    return (pages - free) * size


def _key(question: tuple[object, ...]) -> bytes:
    return hashlib.sha256(json.dumps(question).encode()).digest()
