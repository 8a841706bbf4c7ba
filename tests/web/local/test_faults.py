"""What goes wrong with a file: damage, full disks, other programs, two writers, and processes that are killed."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikidashi.errors import WebIndexError
from hikidashi.web.local import LocalIndex
from hikidashi.web.local.database import AlreadyWriting, IndexWriter, NewDocument, NoIndex
from hikidashi.web.passages import Passage


def document(name: str, text: str = "A drawer of oak.") -> NewDocument:
    return NewDocument(
        url=f"u:{name}", title=name, kind="text", size=1, mtime_ns=1, hash=name.encode(), passages=[Passage("", text)]
    )


def put(index: LocalIndex, *names: str) -> None:
    with index.writing() as writer:
        for name in names:
            writer.put(document(name))
        writer.commit()


def test_no_index_says_how_to_make_one(index: LocalIndex) -> None:
    with pytest.raises(NoIndex, match=r"does not exist\. Run `hikidashi web index PATH`"):
        index.search("oak")
    assert not index.path.exists()


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to be read as one" * 40, b"SQLite format 3\0"]
)
def test_a_file_that_is_no_index_is_refused_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "web.db"
    path.write_bytes(content)
    index = LocalIndex(path)
    with pytest.raises(WebIndexError, match=r"is damaged, or is not an index\. Move it away"):
        index.search("oak")
    with pytest.raises(WebIndexError, match=r"is damaged, or is not an index"):
        put(index, "a")
    assert path.read_bytes() == content


def test_the_database_of_another_program_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE precious (value)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    for use in (lambda: LocalIndex(path).search("oak"), lambda: put(LocalIndex(path), "a")):
        with pytest.raises(WebIndexError, match="another program"):
            use()
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [1, 99])
def test_an_index_of_another_version_is_refused(index: LocalIndex, version: int) -> None:
    put(index, "a")
    connection = sqlite3.connect(index.path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(WebIndexError, match=f"has version {version}, and this hikidashi reads version 2"):
        index.search("oak")


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_damaged_index_is_an_error_and_not_a_wrong_answer(index: LocalIndex, share: float) -> None:
    put(index, *(f"d{n}" for n in range(200)))
    index.close()
    data = bytearray(index.path.read_bytes())
    start = int(len(data) * share) // 4096 * 4096
    data[start:] = b"\xff" * (len(data) - start)
    index.path.write_bytes(data)
    with pytest.raises(WebIndexError, match="is damaged"):
        index.search("oak")
    assert index.path.read_bytes() == data


def test_an_index_without_its_tables_is_an_error(index: LocalIndex) -> None:
    put(index, "a")
    index.close()
    connection = sqlite3.connect(index.path)
    connection.execute("DROP TABLE total")
    connection.close()
    with pytest.raises(WebIndexError, match=r"cannot be used: no such table: total\. Check the disk"):
        index.search("oak")


def test_a_document_that_fails_halfway_leaves_nothing(index: LocalIndex) -> None:
    put(index, "a")

    class Broken(list[Passage]):
        def __iter__(self) -> Iterator[Passage]:
            yield Passage("", "Ebony.")
            raise ZeroDivisionError

    broken = NewDocument(url="u:b", title="b", kind="text", size=1, mtime_ns=1, hash=b"b", passages=Broken())
    with index.writing() as writer:
        with pytest.raises(ZeroDivisionError):
            writer.put(broken)
        writer.put(document("c"))
        writer.commit()
    assert index.urls() == ["u:a", "u:c"]
    assert index.totals().passages == 2
    assert index.search("ebony") == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WebIndexError, match=r"cannot be opened or written: .*Check the permissions, or give"):
        put(LocalIndex(tmp_path / "file" / "web.db"), "a")
    with pytest.raises(WebIndexError, match="cannot be opened or written"):
        put(LocalIndex(tmp_path), "a")


def test_an_index_is_read_where_nothing_can_be_written_beside_it(index: LocalIndex) -> None:
    put(index, "a")
    # What a read-only disk does, also for the superuser: the log beside the index cannot be opened.
    index.path.with_name("web.db-wal").mkdir()
    assert [found.url for found in index.search("oak")] == ["u:a"]
    with pytest.raises(WebIndexError, match="cannot be opened or written"):
        put(index, "b")


def test_an_index_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "web.db-wal").mkdir()
    with pytest.raises(WebIndexError, match="cannot be"):
        put(LocalIndex(tmp_path / "web.db"), "a")


def test_a_full_disk_is_said_and_what_was_committed_is_kept(index: LocalIndex) -> None:
    put(index, "a")
    with index.writing() as writer:
        _limit_pages(writer)
        with pytest.raises(WebIndexError, match=r"the disk is full\. Free some space"):
            writer.put(document("b", "drawer " * 100_000))
    assert [found.url for found in index.search("oak")] == ["u:a"]
    put(index, "c")
    assert index.totals().documents == 2


def _limit_pages(writer: IndexWriter) -> None:
    (pages,) = writer._connection.execute("PRAGMA page_count").fetchone()
    writer._connection.execute(f"PRAGMA max_page_count = {pages + 5}")


CHILD = """
import sys
from hikidashi.web.local import LocalIndex
from hikidashi.web.passages import Passage
from hikidashi.web.local.database import NewDocument

def document(name, text):
    passages, digest = [Passage("", text)], name.encode()
    return NewDocument(url="u:" + name, title=name, kind="text", size=1, mtime_ns=1, hash=digest, passages=passages)

"""


def child(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD + script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_file_that_may_not_grow_is_an_error_and_keeps_what_was_committed(index: LocalIndex) -> None:
    put(index, "a")
    index.close()
    script = """
import resource
from hikidashi.errors import WebIndexError
with LocalIndex(sys.argv[1]).writing() as writer:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    try:
        for number in range(1000):
            writer.put(document(f"b{number}", f"drawer {number} " * 200))
            writer.commit()
    except WebIndexError as error:
        print(error)
"""
    output, errors = child(script, index.path).communicate(timeout=60)
    assert "The web index" in output, errors
    assert [found.url for found in index.search("oak")] == ["u:a"]
    put(index, "c")
    assert index.document("u:c") is not None


def test_a_second_writer_is_told_to_wait_and_readers_are_not_disturbed(index: LocalIndex) -> None:
    put(index, "a")
    script = """
with LocalIndex(sys.argv[1]).writing() as writer:
    writer.put(document("b", "Pine."))
    print("writing", flush=True)
    sys.stdin.readline()
    writer.commit()
"""
    with child(script, index.path) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "writing\n"
        with pytest.raises(AlreadyWriting, match=r"is being written by another process\. Wait until"):
            put(index, "c")
        assert [found.url for found in index.search("oak")] == ["u:a"]
        other.communicate("\n", timeout=30)
    put(index, "c")
    assert index.urls() == ["u:a", "u:b", "u:c"]


def test_the_lock_of_a_killed_writer_is_free(index: LocalIndex) -> None:
    script = """
with LocalIndex(sys.argv[1]).writing() as writer:
    writer.put(document("lost", "Pine."))
    print("writing", flush=True)
    sys.stdin.readline()
"""
    with child(script, index.path) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "writing\n"
        other.send_signal(signal.SIGKILL)
        other.wait(timeout=30)
    put(index, "a")
    assert index.urls() == ["u:a"]


INGEST = """
import asyncio
from hikidashi.web.local import ingest

async def run():
    async for event in ingest(LocalIndex(sys.argv[1]), [sys.argv[2]]):
        print(event.kind, event.url, flush=True)

asyncio.run(run())
"""


@pytest.mark.parametrize("lines", [1, 60, 200])
def test_a_killed_intake_loses_nothing_that_it_reported_and_can_go_on(
    tmp_path: Path, index: LocalIndex, lines: int
) -> None:
    docs = tmp_path / "many"
    docs.mkdir()
    for number in range(300):
        (docs / f"{number:03}.md").write_text(f"# Drawer {number}\n\n" + f"Word{number} stands here. " * 300)
    with child(INGEST, index.path, docs) as other:
        assert other.stdout is not None
        reported = [other.stdout.readline().split()[1] for _ in range(lines)]
        other.send_signal(signal.SIGKILL)
        reported += [line.split()[1] for line in other.stdout if line.endswith("\n")]
        other.wait(timeout=30)
    assert set(reported) <= set(index.urls())
    for url in reported:
        stored = index.document(url)
        assert stored is not None
        assert stored.text == Path(url.removeprefix("file://")).read_text()
    with child(INGEST, index.path, docs) as again:
        output, errors = again.communicate(timeout=100)
    assert errors == ""
    assert output.count("unchanged ") >= len(reported)
    assert output.count("added ") + output.count("unchanged ") == 300
    assert index.totals().documents == 300
    with index.writing() as writer:
        writer._connection.execute("INSERT INTO words(words) VALUES ('integrity-check')")
