"""Lines that are drawn over, as a terminal sees them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from hikidashi.apps.chat.screen import ERASE_BELOW, LiveLines


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Console:
    for name in ("XTERM_VERSION", "STY", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return Console(file=io.StringIO(), width=20, height=10, force_terminal=True, color_system=None)


def written_by(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    written = console.file.getvalue()
    console.file.truncate(0)
    console.file.seek(0)
    return written


def test_rows_take_the_place_of_the_last_ones(console: Console) -> None:
    tail = LiveLines(console)
    tail.draw([Text("one"), Text("two"), Text("three")])
    assert written_by(console).endswith("one\ntwo\nthree")
    tail.draw([Text("four")])
    assert written_by(console).startswith(f"\r\x1b[2A{ERASE_BELOW}")
    tail.erase()
    assert written_by(console).startswith(f"\r{ERASE_BELOW}")
    tail.erase()
    tail.draw([])
    assert written_by(console) == ""


def test_in_a_window_that_became_narrower_every_row_goes(console: Console) -> None:
    tail = LiveLines(console)
    tail.draw([Text("x" * 20), Text(""), Text("x" * 11)])
    written_by(console)
    console.width = 10
    tail.erase()
    # 20 cells are two rows now, none is one, 11 are two.
    assert written_by(console).startswith(f"\r\x1b[4A{ERASE_BELOW}")


def test_where_there_is_no_terminal_nothing_is_drawn() -> None:
    console = Console(file=io.StringIO(), width=20)
    tail = LiveLines(console)
    tail.draw([Text("one")])
    tail.erase()
    assert written_by(console) == ""
