"""The SQLite file of the index: schema, migration, connections, locking, and the mapping of errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from ....common.sqlite import (
    Failure,
    closed_on_error,
    connect,
    errors_as,
    failure_of,
    make_database_private,
    read_header,
)
from ....errors import WebIndexError
from ...pages.address import host_of
from ...text.words import TOKENIZER

__all__ = [
    "POSITIONS",
    "READER",
    "AlreadyWriting",
    "NoIndex",
    "is_current",
    "map_errors",
    "open_to_read",
    "open_to_write",
    "writer_lock",
]

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
# Version 1 had only the dates of files, no hosts, and indexed front matter as text.
_DAY_IN_1 = "coalesce(date(mtime_ns / 1000000000, 'unixepoch'), substr(added, 1, 10))"
_MIGRATION_FROM_1 = f"""
ALTER TABLE document ADD COLUMN published TEXT;
ALTER TABLE document ADD COLUMN day TEXT NOT NULL DEFAULT '';
ALTER TABLE document ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE document ADD COLUMN about TEXT NOT NULL DEFAULT '';
ALTER TABLE document ADD COLUMN front TEXT NOT NULL DEFAULT '';
ALTER TABLE document ADD COLUMN reader INTEGER NOT NULL DEFAULT 1;
UPDATE document SET day = {_DAY_IN_1}, host = host_of(url);
CREATE INDEX document_hash ON document(hash);
PRAGMA user_version = 2;
"""
# A view that shadows the table, for reading without migration: the full-text index is the same in both versions.
_VIEW_OF_1 = f"""
CREATE TEMP VIEW document AS
SELECT *, NULL AS published, {_DAY_IN_1} AS day, host_of(url) AS host, '' AS about, '' AS front, 1 AS reader
FROM main.document;
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
            if version == 1:
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.executescript(_VIEW_OF_1)
        return connection


def open_to_write(path: Path) -> sqlite3.Connection:
    """A read-write connection to the index at `path`; call it inside `writer_lock`.

    Creates the index if there is none, and migrates one of an earlier version in place.

    Raises:
        WebIndexError: the file is not an index, or cannot be written.
    """
    with map_errors(path, system=True):
        connection, version = _opened(path, "create")
        with closed_on_error(connection):
            if version == 0:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            elif version == 1:
                connection.executescript(f"BEGIN IMMEDIATE; {_MIGRATION_FROM_1} COMMIT;")
            for file in (path, _lock_file(path)):
                make_database_private(file)
            connection.execute("PRAGMA synchronous = FULL")  # a commit outlives a power cut too
        return connection


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether the index has the current schema version; reading does not migrate it."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return version == _SCHEMA_VERSION


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
        connection.create_function("host_of", 1, host_of, deterministic=True)
        header = read_header(connection)
        version = header.user_version
        if header.is_empty:
            return connection, 0
        if header.application_id != _APPLICATION_ID:
            raise WebIndexError(str(path), "is an SQLite file of another program", "Give the index another path.")
        if not 1 <= version <= _SCHEMA_VERSION:
            reason = f"has version {version}, and this hikidashi reads up to {_SCHEMA_VERSION}"
            raise WebIndexError(str(path), reason, "Install a newer hikidashi, or give another path.")
        connection.execute("SELECT passages FROM total").fetchone()  # opens the log, which may fail
    return connection, version


def _no_index(path: Path, why: str) -> NoIndex:
    return NoIndex(str(path), why, "Run `hikidashi web index PATH` to index your documents.")
