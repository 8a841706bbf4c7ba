"""What was seen before, in memory and in a file that several bots share."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.agents.slack_seen import Seen

SHOW_ALL = """
import sys
from pathlib import Path
from hikidashi.agents.slack_seen import Seen

seen = Seen(Path(sys.argv[1]), wait_seconds=60)
print("ready", flush=True)
sys.stdin.readline()
print(*(number for number in range(100) if seen.is_new(f"message {number}")))
"""


@given(st.lists(st.sampled_from("abcdefgh")), st.integers(1, 10))
def test_memory_holds_the_newest(shown: list[str], limit: int) -> None:
    seen = Seen(limit=limit)
    recent: list[str] = []
    for one in shown:
        assert seen.is_new(one) == (one not in recent)
        recent = [*(other for other in recent if other != one), one][-limit:]


@settings(deadline=None)  # each example writes a file
@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abcd")), max_size=20))
def test_the_file_holds_an_id_from_its_first_sight_until_it_is_old(shown: list[tuple[int, str]]) -> None:
    now, since = [1_000], dict[str, int]()
    with TemporaryDirectory() as folder:
        file = Path(folder, "seen.sqlite")
        for later, one in shown:
            now[0] += later
            restarted = Seen(file, keep_seconds=100, clock=lambda: now[0])
            since = {other: at for other, at in since.items() if now[0] - at <= 100}
            assert restarted.is_new(one) == (one not in since)
            since.setdefault(one, now[0])
            assert _kept(file) == since


def test_an_id_is_kept_for_more_than_an_hour_and_less_than_two(tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    assert Seen(file, clock=lambda: 0).is_new("a")
    assert not Seen(file, clock=lambda: 3_660).is_new("a")
    assert Seen(file, clock=lambda: 7_200).is_new("a")


def test_ids_of_a_clock_that_was_ahead_do_not_stay_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    assert Seen(file, clock=lambda: 1e12).is_new("a")
    assert Seen(file, clock=lambda: 0).is_new("b")
    assert _kept(file) == {"b": 0}


def test_processes_that_are_shown_the_same_at_once_agree_who_is_first(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "seen.sqlite"
    command = [sys.executable, "-c", SHOW_ALL, str(file)]
    bots = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    try:
        assert [bot.stdout and bot.stdout.readline() for bot in bots] == ["ready\n"] * 3
        for bot in bots:
            assert bot.stdin is not None
            bot.stdin.write("go\n")
            bot.stdin.flush()
        told = [bot.communicate(timeout=120) for bot in bots]
    finally:
        for bot in bots:
            bot.kill()
            bot.communicate()
    assert [err for _, err in told] == [""] * 3
    assert sorted(int(number) for out, _ in told for number in out.split()) == list(range(100))


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
    assert Seen(file).is_new("a")
    damage(file)
    seen = Seen(file)
    assert [seen.is_new(one) for one in "abab"] == [True, True, False, False]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(f"Slack: {file} cannot be used (")


def test_a_file_that_becomes_unusable_later_takes_no_id_out_of_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "seen.sqlite"
    seen = Seen(file)
    assert seen.is_new("a")
    _scribbled_over(file)
    assert [seen.is_new(one) for one in "ab"] == [False, True]
    assert len(caplog.records) == 1


def test_a_file_that_was_removed_is_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "seen.sqlite"
    seen = Seen(file)
    assert seen.is_new("a")
    file.unlink()
    assert [seen.is_new(one) for one in "ab"] == [False, True]
    assert not Seen(file).is_new("b")
    assert caplog.records == []


def test_a_file_that_another_program_does_not_let_go_is_not_waited_for_for_ever(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "seen.sqlite"
    seen = Seen(file, wait_seconds=0)
    assert seen.is_new("a")
    with closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert [seen.is_new(one) for one in "ab"] == [False, True]
    assert "(database is locked)" in caplog.text


def test_a_path_is_meant_from_where_the_bot_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen = Seen(Path("seen.sqlite"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert seen.is_new("a")
    assert (tmp_path / "seen.sqlite").exists()


def _kept(file: Path) -> dict[str, float]:
    with closing(sqlite3.connect(file)) as database:
        return dict(database.execute("SELECT id, at FROM seen"))
