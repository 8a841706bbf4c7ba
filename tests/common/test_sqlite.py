"""SQLite files shared by processes: private, whole, and with errors that a person understands."""

from __future__ import annotations

import multiprocessing
import sqlite3
import stat
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.common.sqlite import (
    Failure,
    FileHeader,
    closed_on_error,
    connect,
    enable_wal,
    errors_as,
    failure_of,
    make_database_private,
    read_header,
    retry_while_busy,
    transaction,
)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_a_new_file_its_folder_and_its_log_are_for_the_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "new.db"
    with closing(connect(path, timeout=1)) as database:
        enable_wal(database, timeout=1)
        database.execute("CREATE TABLE t (x)")
        assert modes(path.parent) == {"new.db": 0o600, "new.db-shm": 0o600, "new.db-wal": 0o600}
    assert modes(tmp_path) | modes(tmp_path / "a") == {"a": 0o700, "b": 0o700}


def test_an_existing_file_keeps_its_mode_unless_it_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    path.touch()
    path.chmod(0o640)
    connect(path, timeout=1).close()
    assert modes(tmp_path) == {"shared.db": 0o640}
    for name in ("shared.db-wal", "shared.db-shm", "shared.db-journal"):
        (tmp_path / name).touch(0o644)
    make_database_private(path)
    assert set(modes(tmp_path).values()) == {0o600}


@pytest.mark.parametrize("name", [":memory:", "a?mode=memory", "50%20.db", "#1.db", "日本語.db", "a b.db"])
def test_any_name_is_that_of_a_file(tmp_path: Path, name: str) -> None:
    with closing(connect(tmp_path / name, timeout=1)) as database:
        database.execute("CREATE TABLE t (x)")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_only_create_creates(tmp_path: Path) -> None:
    for mode in ("rw", "ro"):
        with pytest.raises(sqlite3.OperationalError, match="unable to open"):
            connect(tmp_path / "missing.db", timeout=0, mode=mode)
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_connection_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(connect(path, timeout=1)) as database:
        database.execute("CREATE TABLE t (x)")
    for immutable in (False, True):
        with closing(connect(path, timeout=1, mode="ro", immutable=immutable)) as database:
            with pytest.raises(sqlite3.OperationalError) as caught:
                database.execute("INSERT INTO t VALUES (1)")
            assert failure_of(caught.value).kind == "inaccessible"


def test_a_transaction_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "x.db", timeout=1)) as database:
        with transaction(database):
            database.execute("CREATE TABLE t (x UNIQUE)")
            database.execute("INSERT INTO t VALUES (1)")

        def interrupted() -> None:
            with transaction(database):
                database.execute("INSERT INTO t VALUES (2)")
                raise KeyboardInterrupt

        def ended_by_sqlite() -> None:
            with transaction(database):
                database.execute("INSERT INTO t VALUES (3)")
                database.execute("INSERT OR ROLLBACK INTO t VALUES (1)")

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        with pytest.raises(sqlite3.IntegrityError):
            ended_by_sqlite()
        assert not database.in_transaction
        assert database.execute("SELECT x FROM t").fetchall() == [(1,)]


def test_a_connection_is_closed_if_the_block_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no"), closed_on_error(connect(tmp_path / "x.db", timeout=1)) as database:
        raise ValueError("no")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        database.execute("SELECT 1")


def test_the_header_tells_whose_file_it_is(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "x.db", timeout=1)) as database:
        assert read_header(database) == FileHeader(0, 0, is_empty=True)
        database.execute("CREATE TABLE t (x)")
        assert read_header(database) == FileHeader(0, 0, is_empty=False)
        database.execute("PRAGMA application_id = 7")
        with transaction(database):
            assert read_header(database) == FileHeader(7, 0, is_empty=False)
        assert not database.in_transaction


def _create_together(path: str, barrier: threading.Barrier) -> None:
    with closing(connect(Path(path), timeout=10)) as database:
        barrier.wait()
        enable_wal(database, timeout=10)
        with transaction(database):
            database.execute("CREATE TABLE IF NOT EXISTS t (x)")
            database.execute("INSERT INTO t VALUES (1)")


def test_processes_that_create_a_file_together_wait_for_each_other(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    path = str(tmp_path / "x.db")
    running = [context.Process(target=_create_together, args=(path, barrier)) for _ in range(3)]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * 3
    with closing(connect(Path(path), timeout=1, mode="ro")) as database:
        assert database.execute("SELECT count(*) FROM t").fetchone() == (3,)


def test_a_lock_that_stays_is_an_error_after_the_timeout(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(connect(path, timeout=0)) as one, closing(connect(path, timeout=0)) as other:
        one.execute("BEGIN EXCLUSIVE")
        tries: list[int] = []

        def attempt() -> None:
            tries.append(1)
            if len(tries) == 3:
                one.execute("ROLLBACK")
            other.execute("BEGIN IMMEDIATE")

        retry_while_busy(attempt, timeout=60)
        assert len(tries) == 3
        with pytest.raises(sqlite3.OperationalError) as caught:
            retry_while_busy(lambda: one.execute("BEGIN IMMEDIATE"), timeout=0)
        assert failure_of(caught.value) == Failure("busy", "is locked by another process (database is locked)")


def test_other_errors_are_not_tried_again(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "x.db", timeout=0)) as database:
        with pytest.raises(sqlite3.OperationalError) as caught:
            retry_while_busy(lambda: database.execute("SELECT * FROM missing"), timeout=60)
        assert failure_of(caught.value) == Failure("other", "cannot be used: no such table: missing")


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"no database" * 200)
    with closing(connect(path, timeout=0)) as database, pytest.raises(sqlite3.DatabaseError) as caught:
        read_header(database)
    expected = Failure("damaged", "is damaged, or is not a SQLite database (file is not a database)")
    assert failure_of(caught.value) == expected


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "x.db", timeout=0)) as database:
        database.execute("CREATE TABLE t (x)")
        database.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.OperationalError) as caught:
            database.execute("INSERT INTO t VALUES (zeroblob(100000))")
    assert failure_of(caught.value) == Failure("full", "cannot be written: the disk is full")


def test_a_folder_that_cannot_be_created_is_inaccessible(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError) as caught:
        connect(tmp_path / "file" / "x.db", timeout=0)
    assert failure_of(caught.value) == Failure("inaccessible", "cannot be opened or written: Not a directory")
    assert failure_of(OSError("gone")).reason == "cannot be opened or written: gone"


def test_errors_become_those_of_the_caller() -> None:
    for error in (sqlite3.OperationalError("no"), PermissionError(13, "Permission denied")):
        with pytest.raises(RuntimeError) as caught, errors_as(RuntimeError):
            raise error
        assert caught.value.__cause__ is error
        assert caught.value.args == (failure_of(error),)
    with pytest.raises(PermissionError), errors_as(RuntimeError, system=False):
        raise PermissionError
    with pytest.raises(KeyError), errors_as(RuntimeError):
        raise KeyError


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=3000))
def test_any_bytes_in_its_place_raise_nothing_but_errors_of_sqlite(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "any.db"
    path.write_bytes(content)
    with closing(connect(path, timeout=0)) as database, suppress(sqlite3.Error):
        read_header(database)
    assert path.read_bytes() == content
