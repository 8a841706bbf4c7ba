from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.web.providers.cache import ResultCache

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "answers.sqlite"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_an_answer_is_kept_for_its_question_alone(path: Path) -> None:
    with ResultCache(path) as cache:
        cache.put(("search", "お茶", 5), {"results": [1, "二", None]})
        assert cache.get("search", "お茶", 5) == {"results": [1, "二", None]}
        assert cache.get("search", "お茶", 6) is None


def test_answers_outlive_the_program(path: Path) -> None:
    with ResultCache(path) as cache:
        cache.put(("a",), 1)
    with ResultCache(path) as cache:
        assert cache.get("a") == 1


@settings(max_examples=30)  # a file for each: as slow as the disk
@given(JSON)
def test_any_json_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    with ResultCache(tmp_path_factory.mktemp("cache") / "c.sqlite") as cache:
        cache.put(("q", "\ud800"), value)
        assert cache.get("q", "\ud800") == value


def test_an_answer_grows_old_and_is_then_removed(path: Path) -> None:
    clock = Clock()
    with ResultCache(path, ttl=60, clock=clock) as cache:
        cache.put(("old",), 1)
        clock.now += 59
        assert cache.get("old") == 1
        clock.now += 2
        assert cache.get("old") is None
        cache.put(("new",), 2)
        cache.close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM answers").fetchone() == (1,)


def test_nothing_is_kept_for_no_time(path: Path) -> None:
    with ResultCache(path, ttl=0) as cache:
        cache.put(("a",), 1)
        assert cache.get("a") is None
    assert not path.exists()


def test_the_oldest_answers_make_room(path: Path) -> None:
    clock = Clock()
    limit = 400_000
    with ResultCache(path, max_bytes=limit, clock=clock) as cache:
        for number in range(300):
            clock.now += 1
            cache.put((number,), "x" * 5_000)
        kept = [number for number in range(300) if cache.get(number) is not None]
    assert 60 < len(kept) < 80
    assert kept == list(range(300 - len(kept), 300))
    assert path.stat().st_size <= limit


def test_large_answers_make_room_for_each_other_one_by_one(path: Path) -> None:
    clock = Clock()
    with ResultCache(path, max_bytes=400_000, clock=clock) as cache:
        for number in range(9):
            clock.now += 1
            cache.put((number,), "x" * 99_000)
        assert [number for number in range(9) if cache.get(number) is not None] == [6, 7, 8]


def test_an_answer_too_large_for_the_cache_pushes_nothing_out(path: Path) -> None:
    with ResultCache(path, max_bytes=200_000) as cache:
        cache.put(("small",), 1)
        cache.put(("huge",), "x" * 100_000)
        assert (cache.get("small"), cache.get("huge")) == (1, None)


def test_a_cache_too_small_for_anything_keeps_nothing_and_goes_on(path: Path) -> None:
    with ResultCache(path, max_bytes=100) as cache:
        cache.put(("a",), 1)
        assert cache.get("a") is None
        assert cache.usable


def test_clearing_forgets_everything(path: Path) -> None:
    with ResultCache(path) as cache:
        cache.put(("a",), 1)
        cache.clear()
        assert cache.get("a") is None


def test_a_file_that_is_no_database_is_left_alone_and_mentioned_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_text("my diary, not a cache. " * 50)
    with ResultCache(path) as cache:
        assert cache.get("a") is None
        cache.put(("a",), 1)
        cache.clear()
        assert cache.get("a") is None
        assert not cache.usable
    assert path.read_text() == "my diary, not a cache. " * 50
    assert warnings(caplog) == [
        f"The cache {path} cannot be used (file is not a database); continuing without it. "
        "Delete the file or name another one."
    ]


def test_a_database_of_another_program_is_left_alone(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE answers (mine)")
    before = path.read_bytes()
    with ResultCache(path) as cache:
        cache.put(("a",), 1)
        assert cache.get("a") is None
    assert path.read_bytes() == before
    assert "another program" in warnings(caplog)[0]


def test_a_damaged_page_ends_the_cache_and_not_the_caller(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ResultCache(path) as cache:
        for number in range(50):
            cache.put((number,), "x" * 3_000)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with ResultCache(path) as cache:
        assert [cache.get(number) for number in range(50)] == [None] * 50
        cache.put((1,), 1)
        cache.clear()
    assert len(warnings(caplog)) == 1


def test_a_folder_that_cannot_be_made_ends_the_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    with ResultCache(tmp_path / "file" / "c.sqlite") as cache:
        cache.put(("a",), 1)
        assert cache.get("a") is None
        cache.clear()
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize("fault", ["attempt to write a readonly database", "database or disk is full"])
def test_a_file_that_cannot_be_written_ends_the_cache(path: Path, caplog: pytest.LogCaptureFixture, fault: str) -> None:
    with ResultCache(path) as cache:
        cache.put(("a",), 1)
        with cache._writer.locked() as database:
            if "readonly" in fault:
                database.execute("PRAGMA query_only = ON")
            else:
                (pages,) = database.execute("PRAGMA page_count").fetchone()
                database.execute(f"PRAGMA max_page_count = {pages}")
        cache.put(("b",), "x" * 100_000)
        assert cache.get("a") is None
        assert not cache.usable
    assert [fault in message for message in warnings(caplog)] == [True]


def test_a_table_that_is_gone_ends_the_cache_and_leaves_nothing_locked(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ResultCache(path) as cache:
        cache.put(("a",), 1)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("DROP TABLE answers")
            cache.put(("b",), 2)
            other.execute("CREATE TABLE free (to_write)")
    assert ["no such table: answers" in message for message in warnings(caplog)] == [True]


def test_threads_that_fail_at_the_same_moment_are_mentioned_once(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = ResultCache(path)
    for _ in range(2):
        cache._give_up(OSError("no disk"))
    assert len(warnings(caplog)) == 1


def test_while_another_process_writes_the_cache_waits_its_turn_or_passes(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("hikidashi.web.providers.cache._WAIT_FOR_OTHERS", 0.01)
    with ResultCache(path) as cache:
        cache.put(("a",), 1)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            cache.put(("b",), 2)
            cache.clear()
            assert (cache.get("a"), cache.get("b")) == (1, None)
            other.execute("ROLLBACK")
        cache.put(("b",), 2)
        assert cache.get("b") == 2
    assert warnings(caplog) == []


_WRITER = """
import sys
from hikidashi.web.providers.cache import ResultCache
with ResultCache(sys.argv[1]) as cache:
    for number in range(40):
        cache.put((sys.argv[2], number), number)
    assert cache.usable
"""


def test_processes_share_one_file_from_its_first_moment(path: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", _WRITER, str(path), str(name)]) for name in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    with ResultCache(path) as cache:
        kept = [cache.get(str(name), number) for name in range(4) for number in range(40)]
    assert kept == list(range(40)) * 4


def test_threads_share_one_cache(path: Path) -> None:
    def put(number: int) -> None:
        cache.put((number,), number)

    with ResultCache(path) as cache, ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(100)))
        assert list(pool.map(cache.get, range(100))) == list(range(100))


def test_a_child_made_by_fork_opens_the_file_anew(path: Path) -> None:
    program = """
import os, sys
from hikidashi.web.providers.cache import ResultCache
cache = ResultCache(sys.argv[1])
cache.put(("parent",), 1)
child = os.fork()
if child == 0:
    cache.put(("child",), cache.get("parent") + 1)
    cache.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert cache.get("child") == 2
cache.close()
"""
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)


def test_it_tells_where_it_is(path: Path) -> None:
    assert repr(ResultCache(path, ttl=5)) == f"ResultCache({str(path)!r}, ttl=5, max_bytes=67108864)"


def test_nobody_else_can_read_what_was_asked_and_answered(path: Path) -> None:
    path.parent.mkdir(mode=0o755)
    path.touch(mode=0o644)
    with ResultCache(path) as cache:
        cache.put(("search", "a private matter"), {"results": []})
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(modes, 0o600)
    assert len(modes) == 3  # the file, its log, and the index of the log


def test_folders_that_are_made_for_it_are_private_too(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "a" / "b" / "cache.sqlite") as cache:
        cache.put(("q",), 1)
    assert {folder.stat().st_mode & 0o777 for folder in (tmp_path / "a", tmp_path / "a" / "b")} == {0o700}
