"""The file of the index: its tables, how it is opened, and what SQLite's errors mean to a person."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from ...errors import WebIndexError
from .words import TOKENIZER

__all__ = ["POSITIONS", "AlreadyWriting", "NoIndex", "hold", "map_errors", "open_to_read", "open_to_write"]

POSITIONS = 1 << 20
"""A passage's number is its document's number times this, plus its position: both follow from the number alone."""

# "hikd": tells an index from any other SQLite file.
_APPLICATION_ID = 0x68696B64
_SCHEMA_VERSION = 1
_SCHEMA = f"""
CREATE TABLE document (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER,
    hash BLOB NOT NULL,
    added TEXT NOT NULL
);
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
_AGAIN = "Move it away and run `hikidashi web index PATH` again."


class NoIndex(WebIndexError):  # noqa: N818 - reads as what it says
    """There is no file at `path` yet."""


class AlreadyWriting(WebIndexError):  # noqa: N818 - reads as what it says
    """Another process is adding documents to the index at this moment."""


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection that cannot change the index; it works while another process writes, and on a read-only disk.

    Raises:
        WebIndexError: there is no index, or the file is not one.
    """
    if not path.is_file():
        raise NoIndex(str(path), "does not exist", "Run `hikidashi web index PATH` to index your documents.")
    with map_errors(path):
        try:
            return _checked(path, "mode=ro")
        except sqlite3.OperationalError as error:
            # A write-ahead log needs a file beside the index; where none can be made, nobody writes either.
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            return _checked(path, "mode=ro&immutable=1")


def open_to_write(path: Path) -> sqlite3.Connection:
    """A connection that may change the index at `path`, which is made if there is none; call it inside `hold`.

    Raises:
        WebIndexError: the file is not an index, or cannot be written.
    """
    with map_errors(path):
        connection = _checked(path, "mode=rw") if _has_content(path) else _create(path)
        connection.execute("PRAGMA synchronous = FULL")  # a commit outlives a power cut too
        return connection


@contextmanager
def hold(path: Path) -> Generator[None]:
    """Keeps other writers out for as long as the block runs; the lock goes with the process, however it ends.

    The lock is an SQLite one, on an empty file beside the index, so it works alike on every system.

    Raises:
        AlreadyWriting: another process holds it.
    """
    beside = path.with_name(path.name + "-writer")
    with map_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(path, error.strerror or str(error)) from error
        lock = sqlite3.connect(beside, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            lock.execute("PRAGMA locking_mode = EXCLUSIVE")
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            lock.close()
            raise
    try:
        yield
    finally:
        lock.close()


@contextmanager
def map_errors(path: Path) -> Generator[None]:
    """Turns SQLite's errors into a `WebIndexError` that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _mapped(path, error) from error


def _connect(path: Path, options: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?{options}"
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _create(path: Path) -> sqlite3.Connection:
    """A connection to a new, empty index."""
    connection = _connect(path, "mode=rwc")
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _checked(path: Path, options: str) -> sqlite3.Connection:
    connection = _connect(path, options)
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION_ID:
            raise WebIndexError(str(path), "is an SQLite file of another program", "Give the index another path.")
        if version != _SCHEMA_VERSION:
            reason = f"has version {version}, and this hikidashi reads {_SCHEMA_VERSION}"
            raise WebIndexError(str(path), reason, _AGAIN)
        connection.execute("SELECT passages FROM total").fetchone()  # opens the log, which may fail
    except BaseException:
        connection.close()
        raise
    return connection


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _unwritable(path: Path, why: str) -> WebIndexError:
    return WebIndexError(str(path), f"cannot be written: {why}", "Check the permissions, or give another path.")


def _mapped(path: Path, error: sqlite3.Error) -> WebIndexError:
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return WebIndexError(str(path), "is damaged, or is not an index", _AGAIN)
        case sqlite3.SQLITE_FULL:
            remedy = "Free some space and run the same command again; what was reported as indexed is kept."
            return WebIndexError(str(path), "cannot be written: the disk is full", remedy)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            remedy = "Wait until it has finished, and try again; searching works meanwhile."
            return AlreadyWriting(str(path), "is being written by another process", remedy)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return _unwritable(path, str(error))
        case _:
            return WebIndexError(str(path), f"cannot be used: {error}", "Check the disk, and try again.")
