"""What a person types, as the chat reads it: several lines, paste, an editor, a narrow window, no terminal at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.apps.chat.screen import rows_after_reflow, terminal_reflows
from hikidashi.apps.chat.storage import MOST_ENTRIES, InputHistory
from hikidashi.testing import say
from hikidashi.testing.script import Step

Start = Callable[[list[Step]], Any]

LINES = "def f():\n    return 1\n\nWhat is f()?"


def asked(talk: Any) -> list[str]:
    return [request.text for request in talk.model.requests]


def left(terminal: Any) -> int:
    terminal.shows("> ")
    terminal.presses("\x04")
    return terminal.ends()


def test_pasted_lines_are_one_question(chat: Start) -> None:
    talk = chat([say("One.")])
    terminal = talk.in_terminal()
    terminal.shows("> ")
    terminal.pastes(LINES)
    terminal.shows("What is f()?")
    assert asked(talk) == []
    terminal.presses("\r")
    terminal.shows("One.")
    assert left(terminal) == 0
    assert asked(talk) == [LINES]


def test_lines_that_a_terminal_pastes_without_a_mark_are_one_question_too(chat: Start) -> None:
    talk = chat([say("One.")])
    terminal = talk.in_terminal()
    terminal.shows("> ")
    terminal.presses(LINES.replace("\n", "\r") + "\r")
    terminal.shows("One.")
    assert left(terminal) == 0
    assert asked(talk) == [LINES]


def test_alt_enter_and_a_backslash_begin_a_new_line(chat: Start) -> None:
    talk = chat([say("One.")])
    terminal = talk.in_terminal()
    terminal.shows("> ")
    terminal.presses("first\x1b\rsecond\\")
    terminal.shows("second\\")
    terminal.presses("\r")
    terminal.shows("\n")
    terminal.presses("third")
    terminal.shows("third")
    terminal.presses("\r")
    terminal.shows("One.")
    assert left(terminal) == 0
    assert asked(talk) == ["first\nsecond\nthird"]


def test_ctrl_x_ctrl_e_opens_the_editor(chat: Start, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf "edited\\nin two lines" > "$1"\n')
    editor.chmod(0o755)
    talk = chat([say("One.")])
    terminal = talk.in_terminal(EDITOR=str(editor), VISUAL="")
    terminal.shows("> ")
    terminal.presses("draft\x18\x05")
    terminal.shows("One.")
    assert left(terminal) == 0
    assert asked(talk) == ["edited\nin two lines"]


def test_an_entry_of_several_lines_comes_back_whole_in_the_next_chat(chat: Start) -> None:
    talk = chat([say("One."), say("Two.")])
    first = talk.in_terminal()
    first.shows("> ")
    first.pastes("line 1\nline 2")
    first.shows("line 2")
    first.presses("\r")
    first.shows("One.")
    left(first)
    second = talk.in_terminal()
    second.shows("> ")
    second.presses("\x1b[A")
    second.shows("line 2")
    second.presses("\r")
    second.shows("Two.")
    left(second)
    assert asked(talk) == ["line 1\nline 2"] * 2
    kept = talk.home / "state" / "hikidashi" / "chat_input"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_window_that_becomes_narrower_keeps_no_row_of_the_old_prompt(chat: Start) -> None:
    terminal = chat([]).in_terminal()
    terminal.shows("> ")
    terminal.presses("x" * 98)
    terminal.shows("x" * 20)
    before = len(terminal.raw)
    terminal.resizes(50)
    # 80 and 20 cells were two rows, and are three now: the cursor is in the third, so the first is two above.
    terminal.shows("> " + "x" * 48)
    assert "\x1b[2A" in terminal.raw[before:]
    terminal.presses("\x15\x04")
    assert terminal.ends() == 0


def test_a_terminal_that_can_do_nothing_is_enough(chat: Start) -> None:
    talk = chat([say("One."), say("Two.")])
    terminal = talk.in_terminal(TERM="dumb")
    terminal.shows("> ")
    terminal.presses("pasted line 1\npasted line 2\n")
    terminal.shows("One.")
    terminal.shows("> ")
    terminal.presses("Go on \\\n")
    terminal.shows("  ")
    terminal.presses("here\n")
    terminal.shows("Two.")
    assert left(terminal) == 0
    assert asked(talk) == ["pasted line 1\npasted line 2", "Go on \nhere"]
    assert "\x1b" not in terminal.raw


def test_the_history_keeps_the_newest_and_passes_over_broken_lines(tmp_path: Path) -> None:
    path = tmp_path / "state" / "typed"
    path.parent.mkdir()
    path.write_text("an old line\n42\n")
    history = InputHistory(path)
    for number in range(2 * MOST_ENTRIES + 5):
        history.add(f"entry {number}\nof two lines")
    kept = history.read()
    assert MOST_ENTRIES <= len(kept) <= 2 * MOST_ENTRIES
    assert kept[-1] == f"entry {2 * MOST_ENTRIES + 4}\nof two lines"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text('broken\n42\n"whole"\n')
    assert InputHistory(path).read() == ["whole"]
    InputHistory(None).add("nothing")
    assert InputHistory(None).read() == []
    InputHistory(Path(os.devnull, "x")).add("cannot be written")


@given(st.lists(st.integers(0, 300)), st.integers(1, 200))
def test_lines_take_the_rows_that_they_fill(widths: list[int], columns: int) -> None:
    rows = sum(len(range(0, width, columns)) or 1 for width in widths)
    assert rows_after_reflow(widths, columns) == rows


@pytest.mark.parametrize(
    ("environment", "reflows"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)"}, False),
        ({"TERM": "screen-256color", "TMUX": "/tmp/x"}, True),
        ({"TERM": "screen.xterm", "STY": "1.x"}, False),
        ({"TERM": "linux"}, False),
    ],
)
def test_some_terminals_cut_lines_off(environment: dict[str, str], reflows: bool) -> None:
    assert terminal_reflows(environment) is reflows
