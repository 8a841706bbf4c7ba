"""SearchLog: what is recorded comes back, whatever happens to threads, processes and the file."""

from __future__ import annotations

import asyncio
import gc
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.client import Client
from tests.support import Heard

from hikidashi import from_function
from hikidashi.errors import SearchLogError
from hikidashi.search import CallLog, Recorder, SearchLog, ToolCatalog, report, to_mcp_search
from hikidashi.search import log_sqlite as record_store
from hikidashi.search.log import ConversationRecord, FoundBy, RecordedCall, RecordedSearch, record_call
from hikidashi.search.log_report import FoundByCounts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "searches.db"


@contextmanager
def opened(path: Path) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def in_a_new_process(script: str, path: Path) -> subprocess.Popen[str]:
    start = "import sys\nfrom hikidashi.search import SearchLog\nlog = SearchLog(sys.argv[1])\n"
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", start + script, str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def queries(path: Path) -> list[str | None]:
    with SearchLog(path, must_exist=True) as log:
        return [search.query for search in log.searches()]


def test_a_log_is_a_recorder(path: Path) -> None:
    with SearchLog(path) as log:
        recorder: Recorder = log
        recorder.searched("send mail", "words", ["send_mail", "list_mail"])
        recorder.called("send_mail")
        (search,) = log.searches()
    assert (search.query, search.kind, search.names) == ("send mail", "words", ("send_mail", "list_mail"))
    assert (search.called, search.seconds) == (("send_mail",), None)


async def test_a_server_that_searches_records_what_its_clients_do(path: Path) -> None:
    def send_mail(to: str) -> str:
        """Send a mail."""
        return to

    with SearchLog(path) as log:
        async with Client(to_mcp_search([from_function(send_mail)], record=log)) as client:
            await client.call_tool("search_tools", {"query": "mail"})
            await client.call_tool("call_tool", {"name": "send_mail", "arguments": {"to": "Ada"}})
            await client.call_tool("search_tools", {"query": "/^zebra/"})
        found = [(search.kind, search.query, search.names, search.called) for search in log.searches()]
    assert found == [("words", "mail", ("send_mail",), ("send_mail",)), ("regex", "/^zebra/", (), ())]


NAMES = st.sampled_from(["a", "b", "c", "送信"]) | st.text()
EVENTS = st.lists(
    st.tuples(st.just("search"), st.sampled_from("xyz"), st.text(), st.lists(NAMES, max_size=5))
    | st.tuples(st.just("call"), st.sampled_from("xyz"), NAMES, st.just([]))
)


class ListLog(CallLog):
    """A log in lists: what another store needs."""

    def __init__(self) -> None:
        self._conversation = ""
        self._searches: list[RecordedSearch] = []
        self._calls: list[RecordedCall] = []

    @contextmanager
    def conversation(self, name: str) -> Generator[None]:
        before, self._conversation = self._conversation, self._conversation or name
        yield
        self._conversation = before

    def searched(self, query: str, kind: str, names: Sequence[str]) -> None:
        search = RecordedSearch(
            at=0, session=self._conversation, kind=kind, query=query, names=tuple(names), seconds=None, called=()
        )
        self._searches.append(search)

    def called(self, name: str, *, found_by: FoundBy | None = None) -> None:
        self._calls.append(RecordedCall(at=0, session=self._conversation, name=name, found_by=found_by))

    def searches(self) -> list[RecordedSearch]:
        return self._searches

    def calls(self) -> list[RecordedCall]:
        return self._calls


def test_another_store_is_one_class() -> None:
    log = ListLog()
    for conversation in (ConversationRecord(log, name="one"), ConversationRecord(log, name="two")):
        conversation.searched("send a mail", "words", ["send_mail"])
        conversation.called("send_mail")
    found = report(log, ToolCatalog([{"name": "send_mail"}, {"name": "read_mail"}]))
    assert (found.searches, found.calls, found.never_found) == (2, 2, ("read_mail",))
    assert found.conversations_found_by == FoundByCounts(total=2, search=2)
    assert log.usage() == {"send_mail": 2}


@settings(max_examples=60)
@given(EVENTS)
def test_what_is_recorded_comes_back(events: list[tuple[str, str, str, list[str]]]) -> None:
    expected: list[tuple[str, str, tuple[str, ...], list[str]]] = []
    usage: dict[str, int] = {}
    with TemporaryDirectory() as folder, SearchLog(Path(folder) / "searches.db") as log:
        for what, session, text, names in events:
            with log.session(session):
                if what == "search":
                    log.searched(text, "words", names)
                    expected.append((session, text, tuple(names), []))
                else:
                    log.called(text)
                    usage[text] = usage.get(text, 0) + 1
                    newest = [search for search in expected if search[0] == session and text in search[2]][-1:]
                    for search in newest:
                        search[3].append(text)
        found = [(search.session, search.query, search.names, list(search.called)) for search in log.searches()]
        assert found == expected
        assert log.usage() == usage


def test_the_most_called_come_first_in_the_usage(path: Path) -> None:
    with SearchLog(path) as log:
        for name in ["b", "a", "c", "c", "b", "c"]:
            log.called(name)
        assert list(log.usage().items()) == [("c", 3), ("b", 2), ("a", 1)]


def found_by(log: SearchLog) -> list[tuple[str, str | None]]:
    return [(call.name, call.found_by) for call in log.calls()]


def test_a_call_says_what_found_its_tool_first(path: Path) -> None:
    with SearchLog(path) as log:
        with log.session("one"):
            log.searched("please send a mail to Ada", "preload", ["send_mail"])
            log.searched("mail", "words", ["send_mail", "list_mail"])
            log.searched("please list them", "preload", ["list_mail"])
            for name in ("send_mail", "list_mail", "guessed"):
                log.called(name)
            log.called("pinned", found_by="listed")
        with log.session("other"):
            log.called("send_mail")
        assert [(call.session, call.name, call.found_by) for call in log.calls()] == [
            ("one", "send_mail", "preload"),
            ("one", "list_mail", "search"),
            ("one", "guessed", "nothing"),
            ("one", "pinned", "listed"),
            ("other", "send_mail", "nothing"),
        ]


def test_a_way_to_find_a_tool_that_does_not_exist_is_refused(path: Path) -> None:
    with SearchLog(path) as log:
        with pytest.raises(ValueError, match="`found_by` is 'luck': use 'preload', 'search', "):
            log.called("send_mail", found_by="luck")  # pyright: ignore[reportArgumentType]
        assert log.calls() == []


def of_an_earlier_version(path: Path) -> None:
    """Make the file one that does not say how tools were found."""
    with opened(path) as connection:
        connection.execute("ALTER TABLE calls DROP COLUMN found_by")


def test_a_file_of_an_earlier_version_is_read_as_it_is_and_continued(path: Path) -> None:
    with SearchLog(path) as log, log.session("old"):
        log.searched("mail", "words", ["send_mail"])
        log.called("send_mail")
        log.called("pinned")
    of_an_earlier_version(path)
    before = path.read_bytes()
    with SearchLog(path, must_exist=True) as log:
        assert found_by(log) == [("send_mail", "search"), ("pinned", None)]
        assert path.read_bytes() == before
        with log.session("old"):
            log.called("send_mail")
            log.called("pinned", found_by="listed")
        assert found_by(log)[2:] == [("send_mail", "search"), ("pinned", "listed")]
        assert [search.called for search in log.searches()] == [("send_mail", "send_mail")]


def test_processes_may_continue_a_file_of_an_earlier_version_together(path: Path) -> None:
    with SearchLog(path) as log:
        log.called("old")
    of_an_earlier_version(path)
    script = "for n in range(50):\n    log.called('t', found_by='listed')\nlog.close()"
    processes = [in_a_new_process(script, path) for _ in range(3)]
    for process in processes:
        process.communicate(timeout=60)
    with SearchLog(path) as log:
        assert found_by(log) == [("old", None), *[("t", "listed")] * 150]


def test_a_conversation_is_a_session_unless_the_caller_has_begun_one(path: Path) -> None:
    with SearchLog(path) as log:
        with log.conversation("of the agent"):
            log.called("a")
        with log.session("of the caller"), log.conversation("of the agent"):
            log.called("b")
        assert [(call.session, call.name) for call in log.calls()] == [("of the agent", "a"), ("of the caller", "b")]


def test_the_record_of_a_conversation_says_how_each_tool_was_found(path: Path) -> None:
    with SearchLog(path) as log:
        first = ConversationRecord(log, name="first", listed=["pinned"])
        first.preloaded("send a mail", ["send_mail", "pinned"])
        first.preloaded("thank you", [])
        first.searched("mail", "words", ["send_mail", "list_mail"])
        for name in ("pinned", "send_mail", "list_mail", "guessed"):
            first.called(name)
        resumed = ConversationRecord(log)
        resumed.remember(["send_mail"], "preload")
        resumed.called("send_mail")
        assert found_by(log) == [
            ("pinned", "listed"),
            ("send_mail", "preload"),
            ("list_mail", "search"),
            ("guessed", "nothing"),
            ("send_mail", "preload"),
        ]
        assert len({call.session for call in log.calls()}) == 2
        assert [(search.kind, search.query) for search in log.searches()] == [
            ("preload", "send a mail"),
            ("words", "mail"),
        ]
    nobody = ConversationRecord(None)
    nobody.preloaded("send a mail", ["send_mail"])
    nobody.searched("mail", "words", [])
    nobody.called("send_mail")


class TakesAnything(Heard):
    def called(self, name: str, **more: Any) -> None:
        super().called(f"{name} {more}")


class TakesNamesOnly(Heard):
    def called(self, name: str, found_by: str = "", /) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().called(name + found_by)


class WithoutASignature(Heard):
    def __init__(self) -> None:
        super().__init__()
        self.called = WithoutSignature(self.calls)


class WithoutSignature:
    __signature__ = "none"

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls

    def __call__(self, name: str) -> None:
        self._calls.append(name)


@pytest.mark.parametrize(
    ("recorder", "told"),
    [
        (Heard(), "send_mail"),
        (TakesAnything(), "send_mail {'found_by': 'preload'}"),
        (TakesNamesOnly(), "send_mail"),
        (WithoutASignature(), "send_mail"),
    ],
)
def test_a_recorder_is_told_how_a_tool_was_found_if_its_method_takes_it(recorder: Any, told: str) -> None:
    record_call(recorder, "send_mail", "preload")
    assert recorder.calls == [told]


@pytest.mark.parametrize("found", ["'luck'", "x'ff'", "3", "''"])
def test_a_way_of_finding_that_this_version_does_not_know_counts_as_not_recorded(path: Path, found: str) -> None:
    with SearchLog(path) as log:
        log.called("send_mail", found_by="listed")
        log.called("list_mail", found_by="listed")
        log.flush()
        with opened(path) as connection:
            connection.execute(f"UPDATE calls SET found_by = {found} WHERE id = 1")
        assert found_by(log) == [("send_mail", None), ("list_mail", "listed")]
        assert report(log, ToolCatalog()).conversations_found_by == FoundByCounts(total=1, not_recorded=1)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM sessions",
        "DELETE FROM tools",
        "UPDATE tools SET name = x'ff'",
        "UPDATE searches SET kind = x'ff'",
        "UPDATE searches SET query = x'ff'",
        "UPDATE searches SET at = 'yesterday'",
        "UPDATE found SET tool = 99",
        "UPDATE calls SET tool = 99",
        "UPDATE calls SET at = 'yesterday'",
    ],
)
def test_damaged_records_are_refused_and_left_as_they_are(path: Path, change: str) -> None:
    with SearchLog(path) as log:
        log.searched("send a mail", "preload", ["send_mail"])
        log.called("send_mail")
    with opened(path) as connection:
        connection.execute(change)
    before = path.read_bytes()
    told = r"is damaged \(rows of the table '\w+': 1\).* move it away"
    with SearchLog(path, must_exist=True) as log, pytest.raises(SearchLogError, match=told):
        report(log, ToolCatalog())
    assert path.read_bytes() == before


def test_a_call_in_another_session_belongs_to_no_search(path: Path) -> None:
    with SearchLog(path) as log:
        with log.session() as one:
            log.searched("mail", "words", ["send_mail"])
        with log.session() as other:
            log.called("send_mail")
        assert one != other
        assert [search.called for search in log.searches()] == [()]
        assert log.usage() == {"send_mail": 1}


def test_two_logs_of_one_file_are_two_sessions_unless_named(path: Path) -> None:
    with SearchLog(path) as first, SearchLog(path) as second:
        first.searched("one", "words", ["a"])
        with first.session("shared"):
            first.searched("two", "words", ["a"])
        first.flush()
        second.called("a")
        with second.session("shared"):
            second.called("a")
        second.flush()
        assert [(search.query, search.called) for search in first.searches()] == [("one", ()), ("two", ("a",))]


async def test_tasks_keep_the_session_they_were_started_in(path: Path) -> None:
    with SearchLog(path) as log:

        async def converse(name: str) -> None:
            log.searched(name, "words", ["shared"])
            await asyncio.sleep(0)
            log.called("shared")

        tasks: list[asyncio.Task[None]] = []
        for name in ("one", "two"):
            with log.session():
                tasks.append(asyncio.create_task(converse(name)))
        await asyncio.gather(*tasks)
        assert {search.query: search.called for search in log.searches()} == {"one": ("shared",), "two": ("shared",)}


def test_a_log_without_queries_has_no_word_of_them_on_the_disk(path: Path) -> None:
    log = SearchLog(path, keep_queries=False)
    log.searched("divorce lawyer", "words", ["find_contact"])
    log.flush()
    written = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"find_contact" in written
    assert b"divorce" not in written
    assert [search.query for search in log.searches()] == [None]
    log.close()


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "searches.db"
    with SearchLog(path) as log:
        log.searched("mail", "words", [])
    assert path.stat().st_mode & 0o777 == 0o600


def test_half_a_surrogate_pair_and_a_null_do_no_harm(path: Path) -> None:
    with SearchLog(path) as log:
        log.searched("a\ud83d b\0c", "words", ["t\udc00"])
        (search,) = log.searches()
    assert (search.query, search.names) == ("a\ufffd b\0c", ("t\ufffd",))


def test_threads_may_share_a_log(path: Path) -> None:
    with SearchLog(path) as log:

        def work(number: int) -> None:
            for count in range(100):
                log.searched(f"{number}.{count}", "words", ["t"])

        threads = [Thread(target=work, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [search.query for search in log.searches()]
    assert sorted(map(str, found)) == sorted(f"{number}.{count}" for number in range(5) for count in range(100))


def test_processes_may_share_a_file_from_its_first_moment(path: Path) -> None:
    script = "for n in range(100):\n    log.searched('q', 'words', ['t'])\n    log.called('t')\nlog.close()"
    processes = [in_a_new_process(script, path) for _ in range(4)]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * 4
    with SearchLog(path) as log:
        assert [search.called for search in log.searches()] == [("t",)] * 400


def test_what_flush_acknowledged_survives_a_kill(path: Path) -> None:
    script = """
for n in range(500):
    log.searched(f'q{n}', 'words', ['t'])
log.flush()
print('flushed', flush=True)
while True:
    log.searched('later', 'words', ['t'])
"""
    process = in_a_new_process(script, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "flushed\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert queries(path)[:500] == [f"q{n}" for n in range(500)]


def test_a_log_that_nobody_closed_is_complete_when_python_ends(path: Path) -> None:
    in_a_new_process("log.searched('last words', 'words', [])", path).communicate(timeout=60)
    assert queries(path) == ["last words"]


def test_a_record_reaches_the_disk_by_itself(path: Path) -> None:
    log = SearchLog(path)
    log.searched("on its way", "words", [])
    deadline = time.monotonic() + 30
    with opened(path) as connection:
        while connection.execute("SELECT query FROM searches").fetchall() != [("on its way",)]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    log.close()


def test_a_log_that_is_forgotten_is_closed(path: Path) -> None:
    log = SearchLog(path)
    log.searched("last words", "words", [])
    del log
    gc.collect()
    assert queries(path) == ["last words"]


def test_a_forked_child_writes_its_own_records_and_not_its_parents(path: Path) -> None:
    script = """
log.searched('before', 'words', [])
import os
child = os.fork()
log.searched('parent' if child else 'child', 'words', [])
log.close()
if not child:
    os._exit(0)
os.waitpid(child, 0)
"""
    in_a_new_process(script, path).communicate(timeout=60)
    assert sorted(map(str, queries(path))) == ["before", "child", "parent"]


def test_a_closed_log_can_go_on(path: Path) -> None:
    log = SearchLog(path)
    log.close()
    log.searched("one", "words", [])
    log.close()
    log.searched("two", "words", [])
    log.close()
    log.close()
    assert queries(path) == ["one", "two"]


def test_old_records_are_forgotten(path: Path) -> None:
    with SearchLog(path) as log, log.session("old"):
        log.searched("old", "words", ["t"])
        log.called("t")
    with opened(path) as connection:
        connection.execute("UPDATE searches SET at = at - 100 * 86400")
        connection.execute("UPDATE calls SET at = at - 100 * 86400")
    with SearchLog(path) as log:
        log.searched("new", "words", ["t"])
        log.flush()
        assert [search.query for search in log.searches()] == ["new"]
        assert log.usage() == {}
    with opened(path) as connection:
        assert connection.execute("SELECT count(*) FROM found").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM sessions WHERE name = 'old'").fetchone() == (0,)


def test_a_log_keeps_as_many_records_as_it_should_and_gives_room_back(path: Path) -> None:
    with SearchLog(path, max_records=10) as log:
        for number in range(3_000):
            log.searched(f"{number} " + "x" * 500, "words", ["a", "b", "c"])
    with SearchLog(path, max_records=10) as log:
        log.searched("newest", "words", ["a"])
        log.called("a")
        kept = [search.query for search in log.searches()]
    assert len(kept) == 10
    assert kept[-1] == "newest"
    assert path.stat().st_size < 200_000


def test_a_call_outlives_the_search_it_belongs_to(path: Path) -> None:
    with SearchLog(path) as log:
        log.searched("old", "words", ["t"])
        log.called("t")
    with opened(path) as connection:
        connection.execute("UPDATE searches SET at = 0")
    with SearchLog(path) as log:
        log.searched("new", "words", [])
        assert [search.query for search in log.searches()] == ["new"]
        assert log.usage() == {"t": 1}


def text(_: Path) -> bytes:
    return b"no database at all, only text. " * 50


def damaged(path: Path) -> bytes:
    with SearchLog(path) as log:
        for number in range(500):
            log.searched(f"query {number}", "words", ["a", "b"])
    whole = path.read_bytes()
    return whole[: len(whole) // 3] + b"\xa5" * 8192 + whole[len(whole) // 3 + 8192 :]


@pytest.mark.parametrize("content", [text, damaged])
def test_a_damaged_file_is_refused_and_left_as_it_is(path: Path, content: Callable[[Path], bytes]) -> None:
    broken = content(path)
    path.write_bytes(broken)
    with pytest.raises(SearchLogError, match="is damaged") as caught:
        SearchLog(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).endswith("It was not changed: move it away, or name another file.")
    assert path.read_bytes() == broken


def test_a_database_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    with opened(path) as connection:
        connection.execute("CREATE TABLE orders (id)")
    before = path.read_bytes()
    with pytest.raises(SearchLogError, match="is a SQLite file of another program"):
        SearchLog(path)
    assert path.read_bytes() == before


def test_a_newer_format_is_refused(path: Path) -> None:
    SearchLog(path).close()
    with opened(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(SearchLogError, match="newer hikidashi"):
        SearchLog(path)


def test_an_empty_file_is_a_new_log(path: Path) -> None:
    path.touch()
    with SearchLog(path) as log:
        assert log.searches() == []


@pytest.mark.parametrize("must_exist", [False, True])
def test_a_folder_is_no_log(tmp_path: Path, must_exist: bool) -> None:
    with pytest.raises(SearchLogError, match="cannot be opened or written"):
        SearchLog(tmp_path, must_exist=must_exist)


def test_a_file_in_the_place_of_the_folder_is_told(path: Path) -> None:
    path.touch()
    with pytest.raises(SearchLogError, match="cannot be opened or written"):
        SearchLog(path / "searches.db")


def test_a_log_that_must_exist_is_not_made(path: Path) -> None:
    with pytest.raises(SearchLogError, match="does not exist"):
        SearchLog(path, must_exist=True)
    assert not path.exists()


def test_records_wait_while_the_file_is_locked(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(record_store, "_WAIT_FOR_OTHERS", 0.05)
    with SearchLog(path) as log:
        with opened(path) as other:
            other.execute("BEGIN IMMEDIATE")
            log.searched("patient", "words", [])
            with pytest.raises(SearchLogError, match="is locked"):
                log.flush()
            with pytest.raises(SearchLogError):
                log.flush()
            other.execute("ROLLBACK")
        assert [search.query for search in log.searches()] == ["patient"]
    assert len([record for record in caplog.records if "is locked" in record.message]) == 1


def test_a_new_file_that_another_program_holds_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_store, "_WAIT_FOR_OTHERS", 0.05)
    with opened(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SearchLogError, match="is locked"):
            SearchLog(path)


def test_a_full_disk_is_told_and_what_was_written_stays(path: Path) -> None:
    script = """
import resource, signal
log.searched("early", "words", [])
log.flush()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
for n in range(2_000):
    log.searched("x" * 1_000, "words", [])
try:
    log.flush()
except Exception as error:
    print(type(error).__name__, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.close()
"""
    said, _ = in_a_new_process(script, path).communicate(timeout=60)
    assert said.startswith("SearchLogError The search log ")
    assert "cannot be read or written: disk I/O error" in said
    assert said.endswith("Check the disk, and try again.\n")
    assert queries(path) == ["early", *["x" * 1_000] * 2_000]


def test_a_log_that_nobody_closes_and_nobody_can_write_says_what_is_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(record_store, "_WAIT_FOR_OTHERS", 0.05)
    log = SearchLog(path)
    with opened(path) as other:
        other.execute("BEGIN IMMEDIATE")
        log.searched("lost", "words", [])
        del log
        gc.collect()
    assert "The last records are lost." in caplog.text


def test_a_record_of_the_wrong_type_is_the_callers_to_hear_of_and_costs_no_other(path: Path) -> None:
    with SearchLog(path) as log:
        log.searched("before", "words", [])
        with pytest.raises(TypeError, match="'object'"):
            log.searched("odd", "words", [], seconds=object())  # pyright: ignore[reportArgumentType]
        log.searched("after", "words", [], seconds=0.25)
        assert [(search.query, search.seconds) for search in log.searches()] == [("before", None), ("after", 0.25)]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_records": 0}, "cannot keep 0 records. Use 1 or more."),
        ({"max_records": -3}, "cannot keep -3 records. Use 1 or more."),
        ({"max_age_days": 0}, "cannot keep records for 0 days. Use more than 0."),
        ({"max_age_days": float("nan")}, "cannot keep records for nan days. Use more than 0."),
    ],
)
def test_a_log_that_would_keep_nothing_is_refused(path: Path, limits: dict[str, Any], said: str) -> None:
    with pytest.raises(SearchLogError) as caught:
        SearchLog(path, **limits)
    assert str(caught.value).endswith(said)
    assert not path.exists()


def test_a_log_may_keep_everything(path: Path) -> None:
    with SearchLog(path, max_records=10**30, max_age_days=float("inf")) as log:
        log.searched("kept", "words", [])
        assert [search.query for search in log.searches()] == ["kept"]


def test_where_the_file_is_taken_away_the_next_record_begins_a_new_one(path: Path) -> None:
    with SearchLog(path) as log:
        log.searched("old", "words", [])
        log.flush()
        path.rename(path.with_name("rotated.db"))
        assert log.searches() == []
        assert path.stat().st_mode & 0o777 == 0o600
        path.unlink()
        log.searched("new", "words", [])
        log.flush()
        assert [search.query for search in log.searches()] == ["new"]
    assert queries(path) == ["new"]


def test_a_file_of_another_program_in_its_place_is_told_and_left_as_it_is(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = SearchLog(path)
    log.searched("mine", "words", [])
    log.flush()
    path.unlink()
    with opened(path) as other:
        other.execute("CREATE TABLE orders (id)")
    before = path.read_bytes()
    log.searched("lost", "words", [])
    with pytest.raises(SearchLogError, match="is a SQLite file of another program"):
        log.flush()
    log.close()
    assert path.read_bytes() == before
    assert caplog.text.count("another program") == 1


def test_a_name_that_means_something_to_sqlite_is_a_file_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = SearchLog(":memory:")
    monkeypatch.chdir("/")  # the file stays where it was named
    log.searched("mail", "words", [])
    log.close()
    assert queries(tmp_path / ":memory:") == ["mail"]
