"""The tour: real servers and tools on the real Claude Code CLI, told to a reader and to a program."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.pages_support import ROOT
from typer.testing import CliRunner

from hikidashi.cli import tour
from hikidashi.cli.app import app
from hikidashi.cli.tour import Reader, text_in

OWN_TOOLS = ["search_tools", "call_read_tool", "call_tool", "read_result"]


@pytest.fixture(autouse=True)
def as_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By words and by meaning, as a user gets it: the tour also asks in Japanese."""
    monkeypatch.setenv("HIKIDASHI_RANKER", "")


@pytest.fixture
def temporary() -> Generator[Path]:
    """A folder for temporary files that is empty after the test, with no process left that knows it."""
    with tempfile.TemporaryDirectory(prefix="hk-") as folder:
        yield Path(folder)
        assert [path for path in Path(folder).iterdir() if path.suffix != ".md"] == []
        assert processes_of(folder) == []


def processes_of(folder: str) -> list[str]:
    """The commands of the processes whose temporary folder is `folder`."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={folder}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def start(temporary: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hikidashi", "tour", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary), "COLUMNS": "80"},
        process_group=0,
    )


def of_kind(heard: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in heard if event["event"] == kind]


@pytest.mark.cli
def test_a_program_hears_every_step_of_the_five_acts(temporary: Path) -> None:
    notes = temporary / "notes.md"
    notes.write_text("# 道具\n\nツールを検索するには、引き出しを開けます。\n", encoding="utf-8")
    with start(temporary, "--json", "--lang", "en", "--docs", str(notes)) as running:
        printed, errors = running.communicate(timeout=180)
    assert (running.returncode, errors) == (0, "")
    heard = [json.loads(line) for line in printed.splitlines()]

    assert heard[0] == {"event": "tour_started", "version": heard[0]["version"], "language": "en", "model": "scripted"}
    assert [act["number"] for act in of_kind(heard, "act_started")] == [1, 2, 3, 4, 5]
    tables = {table["label"]: table["rows"] for table in of_kind(heard, "table")}
    assert tables["servers"] == [["calendar", 14], ["tasks", 14], ["expenses", 12], ["company", 1_000]]
    assert [call["tool"].rpartition("__")[2] for call in of_kind(heard, "called")] == [
        "call_tool", "call_read_tool",  # the official client
        "search_tools", "call_read_tool", "search_tools", "call_tool",  # Claude Code
        "book_table", "book_table",  # the agent
    ]  # fmt: skip
    returned = [(event["tool"].rpartition("__")[2], event["outcome"]) for event in of_kind(heard, "returned")]
    assert returned == [
        ("set_reminder", "success"),
        ("check_budgets", "success"),
        ("call_read_tool", "success"),
        ("call_tool", "success"),
        ("book_table", "retried"),
        ("book_table", "success"),
    ]
    shared = json.loads(of_kind(heard, "returned")[2]["content"])["result"][0]
    assert (shared["title"], shared["reminder_minutes"]) == ("Dentist", 30)  # what the client had set, Claude Code sees
    first = [event["hits"][0]["name"] if event["hits"] else None for event in of_kind(heard, "found")]
    assert first == [
        "calendar__set_reminder",
        "expenses__check_budgets",
        "calendar__find_events",
        "tasks__add_task",
        None,
        "道具",
    ]
    without, own, search = tables["prompt"]
    assert [without[1], own[1]] == [1_040, len(OWN_TOOLS)]
    assert without[2] > 100 * own[2] > 0
    assert 0 < search[2] < 3_000
    for page in ("README.md", "README.ja.md"):  # which round what the tour shows
        told = (ROOT / page).read_text(encoding="utf-8").partition("75,000")
        assert "1,040" in told[0]
        assert (round(without[2], -3), round(own[2], -2)) == (75_000, int(re.findall(r"\d+", told[2])[0]))
    assert tables["diary"] == [["18:30, Nishiki, table for 2"]]
    assert tables["mcp"] == [["book_table", "Book a table, and write it in the diary."]]
    assert dict(tables["found"]) == {
        "cancel my meeting room booking": "company__facilities_delete_meeting_room_booking",
        "休暇申請を作成": "company__hr_create_leave_request",
        "Termin verschieben": "calendar__move_event",
        "exporter tous les contrats": "company__documents_export_contract",
        "actualizar el ticket de soporte": "company__helpdesk_update_support_ticket",
        "添加任务": "tasks__add_task",
        "회의실 예약 취소": "company__facilities_delete_meeting_room_booking",
        "why is the sky blue": "(nothing)",
    }
    assert heard[-1]["event"] == "tour_ended"


@pytest.mark.soak
@pytest.mark.cli
def test_a_reader_sees_it_in_80_columns_without_colours_or_spaces_at_the_end(temporary: Path) -> None:
    with start(temporary, "--lang", "ja") as running:
        printed, errors = running.communicate(timeout=180)
    assert (running.returncode, errors) == (0, "")
    shown = re.sub(r"[\s│]+", "", printed)
    lines = printed.splitlines()
    assert "\x1b" not in printed
    assert max(map(cell_len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []
    told_in_order = [
        "台本どおりに答えます",
        "hikidashi serve --config examples/mcp.json",
        "予算はあとどれくらい?",
        "hikidashi なし 1,040",
        "「錦」は18時が満席で、18:30 に取りました。",
        "회의실 예약 취소",
        "run pydantic-ai tools in Claude Code",  # in hikidashi's own README, since it was given no documents
        "serve import",
    ]
    places = [shown.index(re.sub(r"\s+", "", said)) for said in told_in_order]
    assert places == sorted(places)


@pytest.mark.cli
def test_ctrl_c_ends_the_servers_the_gateway_and_the_cli(temporary: Path) -> None:
    with start(temporary, "--json", "--lang", "en") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        while "mcp__hikidashi__search_tools" not in running.stdout.readline():
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stderr.read() == "Stopped. Nothing is left running.\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)


def test_an_interrupted_tour_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tour, "_tour", interrupted)
    done = CliRunner().invoke(app, ["tour", "--lang", "ja"])
    assert (done.exit_code, done.stderr) == (130, "中断しました。動いたままのものはありません。\n")


@pytest.mark.cli
@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_reader_who_leaves_early_ends_the_tour(arguments: list[str], temporary: Path) -> None:
    with start(temporary, *arguments) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(60) == 1
        assert running.stderr.read() == ""


def reader(*, terminal: bool = True, pause: bool = False) -> tuple[Reader, io.StringIO]:
    file = io.StringIO()
    console = Console(
        file=file, width=80, force_terminal=terminal, highlight=False, color_system="standard" if terminal else None
    )
    return Reader(console, text_in("en"), pause=pause), file


@pytest.mark.parametrize("outcome", ["failed", "denied"])
async def test_a_failed_tool_is_shown_as_failed(outcome: str) -> None:
    shown, file = reader(terminal=False)
    await shown.show("returned", tool="mcp__trip__weather", content="no such city", outcome=outcome)
    assert file.getvalue() == "     failed  no such city\n"


async def test_a_table_has_numbers_at_the_right_and_is_cut_where_the_line_ends() -> None:
    shown, file = reader(terminal=False)
    rows = [("without", 1_040, ""), ("引き出し", 4, "x" * 80), ("\x1b[31mred", "", "y")]
    await shown.show("table", label="prompt", columns=("in", "tools", "what"), rows=rows)
    assert file.getvalue().splitlines() == [
        "",
        "     prompt  in        tools  what",
        "             without   1,040",
        "             引き出し      4  " + "x" * 49 + "…",
        "             red              y",
    ]


async def test_an_event_or_field_that_cannot_be_drawn_is_an_error() -> None:
    with pytest.raises(AttributeError, match="_forgotten"):
        await reader()[0].show("forgotten")
    with pytest.raises(TypeError, match="where"):
        await reader()[0].show("called", tool="weather", arguments={}, where="here")


async def test_a_terminal_gets_colours_and_something_that_moves() -> None:
    shown, file = reader()
    with shown.waiting("Claude Code is at work …"):
        await shown.show("called", tool="weather", arguments={"city": "京都", "days": [1, None]})
    assert "Claude Code is at work" in file.getvalue()
    assert "\x1b[36mcall\x1b[0m" in file.getvalue()
    assert re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue()).count('weather(city="京都", days=[1, null])') == 1


async def test_pauses_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    for options in ({"terminal": False, "pause": True}, {"pause": False}):
        await reader(**options)[0].show("tour_started", version="1", language="en", model="scripted")
    assert slept == []
    await reader(pause=True)[0].show("tour_started", version="1", language="en", model="scripted")
    assert slept == [1.5]


@pytest.mark.parametrize("on_path", [True, False])
def test_the_next_commands_are_what_one_would_type_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, on_path: bool
) -> None:
    bin_folder = tmp_path / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "hikidashi").touch()
    (bin_folder / "hikidashi").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(bin_folder / "python"))
    monkeypatch.setenv("PATH", str(bin_folder) if on_path else "")
    command = "hikidashi" if on_path else ".venv/bin/hikidashi"
    assert [line for line, _ in tour._next_commands(text_in("ja"))] == [
        f"{command} serve import",
        f"{command} serve install claude-code",
        f"{command} doctor",
        f"{command} tour --lang en",
    ]
    monkeypatch.chdir(bin_folder)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    assert tour._command() == "hikidashi"


def test_the_tour_is_short() -> None:
    files = (ROOT / "src/hikidashi/cli").glob("tour*.py")
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 603
