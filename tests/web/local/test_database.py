"""An index of an earlier version is read as it is, and brought up to date where it is when it is written."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hikidashi.web.local import IngestEvent, LocalIndex
from hikidashi.web.local.database import NoIndex
from hikidashi.web.request import SearchFilters
from hikidashi.web.words import TOKENIZER, indexed

Ingested = Callable[..., Awaitable[list[IngestEvent]]]

# As version 1 made it.
VERSION_1 = f"""
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
CREATE VIRTUAL TABLE words USING fts5(title, heading, body, content='', tokenize="{TOKENIZER}");
PRAGMA application_id = {0x68696B64};
PRAGMA user_version = 1;
"""
OLD = [
    ("https://docs.example.com/oak", "Oak", None, "2026-02-03T10:00:00+00:00", "Oak drawers are heavy."),
    ("{folder}/snake_case.md", "snakecase", 1_500_000_000_000_000_000, "2026-02-03T10:00:00+00:00", "Pine drawers."),
]


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    """An index as version 1 left it, of a page and a file."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "snake_case.md").write_text("# snake_case\n\nPine drawers.")
    os.utime(docs / "snake_case.md", (1_500_000_000, 1_500_000_000))
    path = tmp_path / "web.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(VERSION_1)
    for number, (address, title, mtime, added, body) in enumerate(OLD, start=1):
        row, url = number << 20, address.format(folder=docs.as_uri())
        size = (docs / "snake_case.md").stat().st_size
        connection.execute(
            "INSERT INTO document VALUES (?, ?, ?, 'markdown', ?, ?, ?, ?)",
            (number, url, title, size, mtime, os.urandom(16), added),
        )
        connection.execute("INSERT INTO passage VALUES (?, '', ?)", (row, body))
        words = (row, indexed(title), indexed(""), indexed(body))
        connection.execute("INSERT INTO words(rowid, title, heading, body) VALUES (?, ?, ?, ?)", words)
    connection.execute("INSERT INTO total VALUES (2, 2, 36)")
    connection.close()
    path.chmod(0o644)
    return path


def version_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return version


def names(index: LocalIndex, question: str, **filters: str) -> list[str]:
    wanted = SearchFilters(**filters)  # pyright: ignore[reportArgumentType]
    return sorted(found.url.rpartition("/")[2] for found in index.search(question, filters=wanted))


def test_version_1_is_searched_filtered_and_read_without_being_changed(version_1: Path) -> None:
    before = version_1.read_bytes()
    index = LocalIndex(version_1)
    assert names(index, "drawers") == ["oak", "snake_case.md"]
    assert names(index, "drawers", end_date="2017-07-14") == ["snake_case.md"]
    assert names(index, "drawers", start_date="2026-02-03") == ["oak"]
    assert names(index, "drawers", include_domains=["example.com"]) == ["oak"]  # pyright: ignore[reportArgumentType]
    assert (document := index.document("https://docs.example.com/oak")) is not None
    assert (document.text, document.day) == ("Oak drawers are heavy.", "2026-02-03")
    assert [one.passages for one in index.documents()] == [1, 1]
    index.close()
    assert version_1.read_bytes() == before
    assert version_of(version_1) == 1


async def test_version_1_is_brought_up_to_date_where_it_is_and_its_files_are_read_again(
    version_1: Path, ingested: Ingested
) -> None:
    index = LocalIndex(version_1)
    assert names(index, "drawers") == ["oak", "snake_case.md"]  # a reader that stays open
    events = await ingested(version_1.parent / "docs", into=index)
    assert [event.kind for event in events] == ["updated"]
    assert version_of(version_1) == 2
    assert {one.url.rpartition("/")[2]: (one.title, one.day) for one in index.documents()} == {
        "oak": ("Oak", "2026-02-03"),
        "snake_case.md": ("snake_case", "2017-07-14"),
    }
    assert names(index, "drawers", include_domains=["example.com"]) == ["oak"]  # pyright: ignore[reportArgumentType]
    assert [event.kind for event in await ingested(version_1.parent / "docs", into=index)] == ["unchanged"]
    with index.writing() as writer:
        assert writer.remove("https://docs.example.com/oak")
        writer.commit()
        writer._connection.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    assert names(index, "oak") == []
    index.close()


def test_an_update_that_fails_leaves_version_1(version_1: Path) -> None:
    connection = sqlite3.connect(version_1)
    connection.execute("CREATE INDEX document_hash ON document(url)")  # in the way of the last step
    connection.commit()
    connection.close()
    index = LocalIndex(version_1)
    with pytest.raises(Exception, match="document_hash"), index.writing():
        pass
    assert version_of(version_1) == 1
    assert names(index, "drawers") == ["oak", "snake_case.md"]
    index.close()


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


def test_an_index_that_others_could_read_is_closed_to_them_when_it_is_written(version_1: Path) -> None:
    folder = mode(version_1.parent)
    (version_1.parent / "web.db-writer").touch(0o644)
    with LocalIndex(version_1).writing():
        assert mode(version_1) == mode(version_1.parent / "web.db-writer") == 0o600
    assert mode(version_1.parent) == folder


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
