"""The file of the index: when it is one, and who may read it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hikidashi.web.local import IngestEvent, LocalIndex
from hikidashi.web.local.database import NoIndex

Ingested = Callable[..., Awaitable[list[IngestEvent]]]


@pytest.mark.parametrize("size", ["no bytes", "no tables"])
async def test_an_empty_file_is_no_index_yet_and_becomes_one(
    tmp_path: Path, folder: Path, ingested: Ingested, size: str
) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    if size == "no tables":
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
    index = LocalIndex(path)
    with pytest.raises(NoIndex, match=r"is empty\. Run `hikidashi web index PATH`"):
        index.search("drawer")
    await ingested(folder, into=index)
    assert index.search("drawer")
    index.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_index_and_what_lies_beside_it_are_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o000)
    try:
        index = LocalIndex(tmp_path / "made" / "here" / "web.db")
        with index.writing():
            files = {path.name: mode(path) for path in index.path.parent.iterdir()}
    finally:
        os.umask(before)
    assert {"web.db", "web.db-wal", "web.db-shm", "web.db-writer"} <= files.keys()
    assert set(files.values()) == {0o600}
    assert mode(index.path.parent) == 0o700


def test_an_index_that_others_could_read_is_closed_to_them_when_it_is_written(tmp_path: Path) -> None:
    path, lock, folder = tmp_path / "web.db", tmp_path / "web.db-writer", mode(tmp_path)
    with LocalIndex(path).writing():
        pass
    path.chmod(0o644)
    lock.chmod(0o644)
    with LocalIndex(path).writing():
        assert mode(path) == mode(lock) == 0o600
    assert mode(tmp_path) == folder


def test_the_file_of_another_program_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE precious (value)")
    connection.commit()
    connection.close()
    path.chmod(0o644)
    with pytest.raises(Exception, match="another program"), LocalIndex(path).writing():
        pass
    assert mode(path) == 0o644
