"""Questions among Slack's events, and their state across restarts and bots."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.apps.slack.questions import Questions, SlackQuestion, question_in

MENTION: dict[str, Any] = {
    "type": "app_mention",
    "channel": "C0GENERAL",
    "user": "U0HANAKO",
    "ts": "2.0",
    "text": "<@U0BOT> hello",
}


def test_a_mention_begins_a_thread_of_its_own() -> None:
    question = question_in(MENTION, "U0BOT")
    assert question == SlackQuestion(
        channel="C0GENERAL", ts="2.0", thread_ts="2.0", user="U0HANAKO", text="<@U0BOT> hello"
    )
    assert question is not None
    assert question.begins_thread


@pytest.mark.parametrize(
    "change",
    [
        {"thread_ts": "1.0"},
        {"type": "message", "channel_type": "channel"},
        {"type": "message", "channel_type": "im", "text": "hello"},
        {"type": "message", "channel_type": "im", "subtype": "file_share", "text": ""},
        {"subtype": "thread_broadcast", "thread_ts": "1.0"},
    ],
)
def test_these_are_questions(change: dict[str, Any]) -> None:
    event = MENTION | change
    question = question_in(event, "U0BOT")
    assert question is not None
    assert (question.text, question.thread_ts) == (event["text"], event.get("thread_ts", "2.0"))


@pytest.mark.parametrize(
    "change",
    [
        {"bot_id": "B0OTHER"},
        {"user": "U0BOT"},
        {"user": None},
        {"edited": {"user": "U0HANAKO", "ts": "3.0"}},
        {"subtype": "channel_join"},
        {"subtype": "message_changed", "hidden": True},
        {"subtype": "bot_message"},
        {"type": "message", "channel_type": "channel", "text": "not to the bot"},
        {"type": "message", "channel_type": "mpim", "text": "not to the bot"},
        {"type": "reaction_added", "text": None},
        {"ts": None},
    ],
)
def test_these_are_not(change: dict[str, Any]) -> None:
    assert question_in(MENTION | change, "U0BOT") is None


BOT = "T0 U0BOT"

TAKE_ALL = """
import sys
from pathlib import Path
from hikidashi.apps.slack.questions import Questions, SlackQuestion

questions = Questions(Path(sys.argv[1]), wait_seconds=60)
print("ready", flush=True)
sys.stdin.readline()
def take(number):
    question = SlackQuestion(channel="C0", ts=f"{number}.0", thread_ts="0.0", user="U0", text="")
    return questions.take("T0 U0BOT", question)
print(*(number for number in range(100) if take(number)), flush=True)
sys.stdin.readline()
"""


def question(ts: str) -> SlackQuestion:
    return SlackQuestion(channel="C0GENERAL", ts=ts, thread_ts=ts, user="U0HANAKO", text="hello")


def is_new(questions: Questions, ts: str) -> bool:
    """Whether it is the bot's to answer; it then does."""
    asked = questions.take(BOT, question(ts))
    if asked is not None:
        questions.done(asked)
    return asked is not None


@given(st.lists(st.sampled_from("abcdefgh")), st.integers(1, 10))
def test_memory_holds_the_newest(shown: list[str], limit: int) -> None:
    questions = Questions(limit=limit)
    recent: list[str] = []
    for one in shown:
        assert is_new(questions, one) == (one not in recent)
        recent = [*(other for other in recent if other != one), one][-limit:]


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abcd")), max_size=20))
def test_the_file_holds_a_question_until_its_answer_is_old(shown: list[tuple[int, str]]) -> None:
    now, since = [1_000], dict[str, int]()
    with TemporaryDirectory() as folder:
        file = Path(folder, "seen.sqlite")
        for later, one in shown:
            now[0] += later
            restarted = Questions(file, keep_seconds=100, clock=lambda: now[0])
            since = {other: at for other, at in since.items() if now[0] - at <= 100}
            assert is_new(restarted, one) == (one not in since)
            since.setdefault(one, now[0])
            restarted.close()
            assert _kept(file) == since
        assert [path.name for path in Path(folder).iterdir() if path != file] == []


def test_an_answer_is_known_for_more_than_an_hour_and_less_than_two(tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    assert is_new(Questions(file, clock=lambda: 0), "a")
    assert not is_new(Questions(file, clock=lambda: 3_660), "a")
    assert is_new(Questions(file, clock=lambda: 7_200), "a")


def test_questions_of_a_clock_that_was_ahead_do_not_stay_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    assert is_new(Questions(file, clock=lambda: 1e12), "a")
    assert is_new(Questions(file, clock=lambda: 0), "b")
    assert _kept(file) == {"b": 0}


def test_a_question_belongs_to_its_bot_while_it_lives_and_to_the_next_one_then(tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    first, second = Questions(file), Questions(file)
    asked = first.take(BOT, question("1.0"))
    assert asked is not None
    first.posted(asked, "2.0")
    assert second.take(BOT, question("1.0")) is None
    assert second.take_unfinished(BOT) == []
    first.close()
    assert second.take_unfinished("T0 U0OTHER") == []
    (taken,) = second.take_unfinished(BOT)
    assert (taken.id, taken.posted, taken.finishing, taken.attempts) == (asked.id, "2.0", False, 2)
    assert second.take_unfinished(BOT) == []
    second.finishing(taken)
    second.close()
    third = Questions(file)
    again = third.take(BOT, question("1.0"))
    assert again is not None
    assert (again.finishing, again.attempts) == (True, 3)
    third.done(again)
    assert third.take_unfinished(BOT) == []
    third.close()
    assert list(tmp_path.iterdir()) == [file]


def test_a_question_that_is_given_back_may_be_taken_again(tmp_path: Path) -> None:
    for file in (tmp_path / "seen.sqlite", None):
        questions = Questions(file)
        asked = questions.take(BOT, question("1.0"))
        assert asked is not None
        assert questions.take(BOT, question("1.0")) is None
        questions.give_back(asked)
        assert questions.take(BOT, question("1.0")) is not None
        questions.close()


def test_unfinished_questions_are_known_for_longer_than_answered_ones(tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    asking = Questions(file, clock=lambda: 0)
    assert asking.take(BOT, question("1.0")) is not None
    asking.close()
    assert len(Questions(file, clock=lambda: 3 * 24 * 3600).take_unfinished(BOT)) == 1


def test_processes_that_are_asked_the_same_agree_and_a_killed_one_leaves_its_own_to_the_next(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "seen.sqlite"
    command = [sys.executable, "-c", TAKE_ALL, str(file)]
    bots = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    try:
        assert [bot.stdout and bot.stdout.readline() for bot in bots] == ["ready\n"] * 3
        for bot in bots:
            assert bot.stdin is not None
            bot.stdin.write("go\n")
            bot.stdin.flush()
        taken = [((bot.stdout and bot.stdout.readline()) or "").split() for bot in bots]
        assert sorted(int(number) for numbers in taken for number in numbers) == list(range(100))
        assert Questions(file).take_unfinished(BOT) == []
        bots[0].send_signal(signal.SIGKILL)
        bots[0].wait()
        left = Questions(file, wait_seconds=60).take_unfinished(BOT)
        assert {asked.ts for asked in left} == {f"{number}.0" for number in taken[0]}
    finally:
        for bot in bots:
            bot.kill()
            bot.communicate()


def _cut_in_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _scribbled_over(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100] + b"\xff" * (file.stat().st_size - 100))


def _of_another_program(file: Path) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.execute("DROP TABLE seen")
        database.execute("CREATE TABLE seen (other)")


def _a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("damage", [_cut_in_half, _scribbled_over, _of_another_program, _a_folder])
def test_damage_is_told_once_and_memory_remembers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    file = tmp_path / "seen.sqlite"
    assert is_new(Questions(file), "a")
    damage(file)
    questions = Questions(file)
    assert [is_new(questions, one) for one in "abab"] == [True, True, False, False]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(f"Slack: {file} cannot be used (")


def test_a_file_that_becomes_unusable_later_takes_no_question_out_of_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "seen.sqlite"
    questions = Questions(file)
    assert is_new(questions, "a")
    _scribbled_over(file)
    assert [is_new(questions, one) for one in "ab"] == [False, True]
    assert len(caplog.records) == 1


def test_a_file_that_was_removed_is_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "seen.sqlite"
    questions = Questions(file)
    assert is_new(questions, "a")
    file.unlink()
    assert [is_new(questions, one) for one in "ab"] == [False, True]
    assert not is_new(Questions(file), "b")
    assert caplog.records == []


def test_a_file_that_another_program_does_not_let_go_is_not_waited_for_for_ever(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "seen.sqlite"
    questions = Questions(file, wait_seconds=0)
    assert is_new(questions, "a")
    with closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert [is_new(questions, one) for one in "ab"] == [False, True]
    assert "(database is locked)" in caplog.text


def test_a_path_is_meant_from_where_the_bot_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    questions = Questions(Path("seen.sqlite"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert is_new(questions, "a")
    assert (tmp_path / "seen.sqlite").exists()


def _kept(file: Path) -> dict[str, float]:
    with closing(sqlite3.connect(file)) as database:
        return {name.rpartition(" ")[2]: at for name, at in database.execute("SELECT id, at FROM seen")}
