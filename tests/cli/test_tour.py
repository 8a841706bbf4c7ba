"""The tour: real tools on the real Claude Code CLI, told to a reader and to a program."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from hikidashi.cli import tour
from hikidashi.cli.app import app
from hikidashi.cli.output import Language
from hikidashi.cli.tour.reader import Reader
from hikidashi.cli.tour.stage import text_in

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYDANTIC_AI_NO_BANNER", "1")
    monkeypatch.setenv("COLUMNS", "80")


def told(*arguments: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, ["tour", "--json", *arguments])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_kind(told: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in told if event["event"] == kind]


@pytest.mark.cli
def test_a_program_hears_every_step_of_the_five_acts() -> None:
    heard = told("--lang", "en")

    assert heard[0] == {"event": "tour_started", "version": heard[0]["version"], "language": "en", "model": "scripted"}
    assert [act["number"] for act in of_kind(heard, "act_started")] == [1, 2, 3, 4, 5]
    offered = [[tool["name"] for tool in event["tools"]] for event in of_kind(heard, "offered")]
    wire = [f"mcp__pydantic_tools__{name}" for name in ("book_table", "trains", "weather")]
    assert offered == [wire, wire, ["weather", "trains", "book_table"]]
    assert [call["tool"].rpartition("__")[2] for call in of_kind(heard, "called")] == [
        "weather", "trains", "book_table", "book_table",  # pydantic-ai runs them
        "weather", "book_table",  # Claude Code runs them
        "weather",  # an MCP client calls it
    ]  # fmt: skip
    assert [diary["entries"] for diary in of_kind(heard, "diary_read")] == [
        ["Saturday 18:30, Nishiki, table for 2"],
        ["Saturday 18:30, Nishiki, table for 2", "Sunday 12:00, Nishiki, table for 2"],
    ]
    assert [used["api_requests"] for used in of_kind(heard, "used")] == [4, 3]
    assert all(used["input_tokens"] > 0 and used["cost_usd"] > 0 for used in of_kind(heard, "used"))
    found = [
        (event["query"], event["things"], [hit["name"] for hit in event["hits"]]) for event in of_kind(heard, "found")
    ]
    assert [(query, things, names[:1]) for query, things, names in found] == [
        ("download all invoices from Garnet", "tools", ["garnet_export_invoice"]),
        ("Harborの会議室の予約を取り消したい", "tools", ["harbor_cancel_meeting_room_booking"]),
        ("what colour are my socks", "tools", []),
        ("run pydantic-ai tools in Claude Code", "passages", ["hikidashi › In Python"]),
    ]
    assert heard[-1]["event"] == "tour_ended"
    assert len(heard[-1]["next_commands"]) == 3


@pytest.mark.cli
def test_each_call_is_answered_and_the_full_hour_is_tried_again() -> None:
    heard = told("--lang", "en")
    calls = [event["id"] for event in of_kind(heard, "called")]
    returned = {event["id"]: event for event in of_kind(heard, "returned")}
    assert sorted(returned) == sorted(calls)
    outcomes = [(returned[call]["outcome"], returned[call]["content"]) for call in calls]
    assert outcomes[2] == ("retry", '{"error":"Full at 18:00. Free: 18:30, 20:00."}')
    assert [outcome for outcome, _ in outcomes] == ["success", "success", "retry", *["success"] * 4]
    assert json.loads(outcomes[0][1]) == {"sky": "rain from three", "high": 17}


@pytest.mark.cli
@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_reader_sees_it_in_80_columns_without_colours_or_spaces_at_the_end(language: Language) -> None:
    done = CliRunner().invoke(app, ["tour", "--lang", language])
    assert done.exit_code == 0, done.output
    shown = re.sub(r"[\s│]+", "", done.stdout)
    lines = done.stdout.splitlines()
    assert "\x1b" not in done.stdout
    assert max(map(cell_len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []
    text = text_in(language)
    told_in_order = [
        text("a script plays its part", "台本どおりに答えます"),
        text("can Nishiki seat two of us at six?", "18時に「錦」を2名で取れますか?"),
        text("you have a table at 18:30.", "18:30 に2名で取りました。"),
        text("Lunch for two is booked for 12:00.", "昼食を 12:00 に2名で予約しました。"),
        text("the model's options", "モデルの説明を読む"),
    ]
    places = [shown.index(re.sub(r"\s+", "", said)) for said in told_in_order]
    assert places == sorted(places)


@pytest.mark.cli
def test_ctrl_c_closes_everything_and_ends_with_130() -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "hikidashi", "tour", "--json", "--lang", "en"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - no threads run yet
    )
    with running:
        assert running.stdout is not None
        assert running.stderr is not None
        while '"offered"' not in running.stdout.readline():
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stderr.read() == "Stopped. The CLI and the server were closed.\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)


def test_an_interrupted_tour_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(stage: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tour, "_acts", lambda: [interrupted])
    done = CliRunner().invoke(app, ["tour", "--lang", "ja"])
    assert (done.exit_code, done.stderr) == (130, "中断しました。CLI とサーバーは終了済みです。\n")


@pytest.mark.cli
@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_reader_who_leaves_early_ends_the_tour(arguments: list[str]) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "hikidashi", "tour", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
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


async def test_a_failed_tool_is_shown_as_failed() -> None:
    shown, file = reader(terminal=False)
    await shown.show("returned", id="1", tool="mcp__trip__weather", content="no such city", outcome="failed")
    assert file.getvalue() == "     failed  weather → no such city\n"


async def test_an_event_or_field_that_cannot_be_drawn_is_an_error() -> None:
    with pytest.raises(AttributeError, match="_forgotten"):
        await reader()[0].show("forgotten")
    with pytest.raises(TypeError, match="where"):
        await reader()[0].show("called", id="1", tool="weather", arguments={}, where="here")


async def test_a_terminal_gets_colours_and_something_that_moves() -> None:
    shown, file = reader()
    with shown.waiting():
        await shown.show("called", id="1", tool="weather", arguments={"city": "京都", "days": [1, None]})
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
    for name in ("python", "hikidashi"):
        (bin_folder / name).touch()
        (bin_folder / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(bin_folder / "python"))
    monkeypatch.setenv("PATH", str(bin_folder) if on_path else "")
    prefix = "" if on_path else ".venv/bin/"
    assert [line for line, _ in tour._next_commands(text_in("ja"))] == [
        f"{prefix}hikidashi doctor",
        f"{prefix}hikidashi tour --lang en",
        f"{prefix}python -m pydoc hikidashi.ClaudeCodeModel",
    ]
    monkeypatch.chdir(bin_folder)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    assert tour._command("hikidashi") == "hikidashi"


@pytest.mark.cli
def test_the_last_act_searches_the_documents_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# 道具\n\nツールを検索するには、引き出しを開けます。\n", encoding="utf-8")
    heard = told("--lang", "ja", "--docs", str(tmp_path))
    found = {event["query"]: event["hits"] for event in of_kind(heard, "found") if event["things"] == "passages"}
    assert [hit["text"] for hit in found["ツールを検索するには"]] == ["ツールを検索するには、引き出しを開けます。"]
    assert found["run pydantic-ai tools in Claude Code"] == []
