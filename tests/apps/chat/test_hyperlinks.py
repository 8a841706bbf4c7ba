"""Links and sources on terminals that hide addresses, and on those that cannot."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from hikidashi.apps.chat.screen import JsonScreen, TerminalScreen, supports_hyperlinks
from hikidashi.apps.responder import AnswerEvent, TextDelta, ToolReturned
from hikidashi.texts import texts

FOUND = ToolReturned(call_id="1", name="s", ok=True, text="1. **Docs**\n   URL: https://docs.example/a\n   text")
ANSWER: list[AnswerEvent] = [FOUND, TextDelta("Use [it](https://docs.example/a), not [that](https://o.example/x).")]


@pytest.mark.parametrize(
    ("environment", "shows"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4800"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "x"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "WT_SESSION": "1"}, True),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "tmux", "VTE_VERSION": "7600"}, False),
        ({"TERM": "xterm-256color", "TMUX": "/tmp/t", "VTE_VERSION": "7600"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
        ({"TERM": "xterm", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
    ],
)
def test_only_terminals_that_are_known_to_hide_addresses_may(environment: dict[str, str], shows: bool) -> None:
    assert supports_hyperlinks(environment) is shows


def drawn(*, hyperlinks: bool) -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard", highlight=False)
    with TerminalScreen(console, texts("chat", "en"), hyperlinks=hyperlinks) as screen:
        for event in ANSWER:
            screen.show(event)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_addresses_are_written_out_where_the_terminal_cannot_hide_them() -> None:
    plain, hidden = drawn(hyperlinks=False), drawn(hyperlinks=True)
    assert "\x1b]8;" not in plain
    assert "https://o.example/x" in plain
    assert "\x1b]8;" in hidden
    for shown in (plain, hidden):
        assert "Sources" in shown
        assert "https://docs.example/a" in shown.rpartition("Sources")[2]


def test_a_program_gets_the_sources_after_the_last_event(capsys: pytest.CaptureFixture[str]) -> None:
    with JsonScreen() as screen:
        for event in ANSWER:
            screen.show(event)
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    source = {"number": 1, "url": "https://docs.example/a", "title": "Docs"}
    assert last == {"event": "sources", "sources": [source]}
