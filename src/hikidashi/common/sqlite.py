"""SQLite files: opened with private modes, changed in transactions, errors classified.

Tables and schema versions belong to the caller; this module is about sharing a file with other processes.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from .files import create_private, make_private, private_folder

_BETWEEN_TRIES = 0.01  # seconds

_Result = TypeVar("_Result")


def connect(
    path: Path, *, timeout: float, mode: Literal["create", "rw", "ro"] = "create", immutable: bool = False
) -> sqlite3.Connection:
    """A connection in autocommit mode, which any thread may use, one at a time.

    Args:
        path: The file; any name is that of a file, `:memory:` too.
        timeout: Seconds to wait for a lock of another process.
        mode: `"create"` creates a missing file and its folder, for the owner only; the others need the file.
        immutable: Take no locks and look for no log, for a file on a read-only disk.

    Raises:
        OSError: the file cannot be created.
        sqlite3.Error: it cannot be opened.
    """
    if mode == "create":
        private_folder(path.parent)
        create_private(path)  # SQLite would make it readable for others
    options = f"mode={'ro' if mode == 'ro' else 'rw'}{'&immutable=1' if immutable else ''}"
    uri = f"{path.absolute().as_uri()}?{options}"
    return sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)


def make_database_private(path: Path) -> None:
    """Create the file `path` and its folder if missing, and set its mode and that of the files beside it to 0600.

    SQLite gives its log, and the index of that, the mode of the database.

    Raises:
        OSError: it cannot be created.
    """
    make_private(path)
    for ending in ("-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):  # it is missing, or belongs to another user
            path.with_name(path.name + ending).chmod(0o600)


@contextlib.contextmanager
def closed_on_error(connection: sqlite3.Connection) -> Generator[sqlite3.Connection]:
    """Close `connection` if the block raises."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


@contextlib.contextmanager
def transaction(
    connection: sqlite3.Connection, kind: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE"
) -> Generator[sqlite3.Connection]:
    """Commit what the block did, or roll it back if the block or the commit raises.

    `IMMEDIATE` waits for the write lock at once: a transaction that starts with reading may be refused it later.
    """
    connection.execute(f"BEGIN {kind}")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back after some errors
            connection.execute("ROLLBACK")
        raise


class FileHeader(NamedTuple):
    """The fields of a SQLite file that identify its format."""

    application_id: int
    user_version: int
    is_empty: bool
    """Whether it has no tables and neither number is set."""


def read_header(connection: sqlite3.Connection) -> FileHeader:
    """The header of the file as it is at one moment, though another process may be creating its tables."""
    if not connection.in_transaction:
        with transaction(connection, "DEFERRED"):
            return read_header(connection)
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (user_version,) = connection.execute("PRAGMA user_version").fetchone()
    has_tables = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    return FileHeader(application_id, user_version, not (application_id or user_version or has_tables))


def enable_wal(connection: sqlite3.Connection, *, timeout: float) -> None:
    """Switch to a write-ahead log, so that readers do not wait for writers; call it before the first table exists."""
    # SQLite does not wait for another process that does the same.
    retry_while_busy(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone(), timeout=timeout)


def retry_while_busy(work: Callable[[], _Result], *, timeout: float) -> _Result:
    """The result of `work`, tried again while another process holds a lock that SQLite does not wait for.

    Raises:
        sqlite3.OperationalError: the lock was still held after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if failure_of(error).kind != "busy" or time.monotonic() > deadline:
                raise
        time.sleep(_BETWEEN_TRIES)


class Failure(NamedTuple):
    """Why a file could not be used."""

    kind: Literal["damaged", "full", "busy", "inaccessible", "other"]
    reason: str
    """Continues a sentence that starts with the name of the file."""


def failure_of(error: sqlite3.Error | OSError) -> Failure:
    """What `error` means for the file: damaged or no database, a full disk, a lock, or missing rights."""
    if isinstance(error, OSError):
        return Failure("inaccessible", f"cannot be opened or written: {error.strerror or error}")
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:  # the extended codes carry more in the higher bits
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return Failure("damaged", f"is damaged, or is not a SQLite database ({error})")
        case sqlite3.SQLITE_FULL:
            return Failure("full", "cannot be written: the disk is full")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Failure("busy", f"is locked by another process ({error})")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return Failure("inaccessible", f"cannot be opened or written: {error}")
        case sqlite3.SQLITE_IOERR:  # such as a limit on the size of files
            return Failure("other", f"cannot be read or written: {error}")
        case _:
            return Failure("other", f"cannot be used: {error}")


@contextlib.contextmanager
def errors_as(make: Callable[[Failure], Exception], *, system: bool = True) -> Generator[None]:
    """Raise `make(failure)` in place of an error of SQLite, and of the system unless `system` is False."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, OSError) and not system:
            raise
        raise make(failure_of(error)) from error
