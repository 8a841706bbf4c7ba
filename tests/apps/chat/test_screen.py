"""How an answer looks while it comes."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from hikidashi.apps.chat.screen import JsonScreen, PlainScreen, Screen, TerminalScreen
from hikidashi.apps.responder import AnswerEvent, AnswerFailed, TextDelta, ToolCalled, ToolReturned
from hikidashi.texts import texts

EVENTS: list[AnswerEvent] = [
    TextDelta("I look it "),
    TextDelta("up."),
    ToolCalled(call_id="1", name="web_search", arguments={"query": "Python 非同期"}),
    ToolReturned(call_id="1", name="web_search", ok=True, text="## 検索結果\n\nasyncio"),
    ToolCalled(call_id="2", name="web_extract", arguments={"urls": ["https://a.example"], "depth": 1}),
    ToolReturned(call_id="2", name="web_extract", ok=False, text="refused"),
    TextDelta("# Answer\n\nUse **asyncio**."),
]


def shown(screen: Screen, events: list[AnswerEvent]) -> None:
    with screen:
        for event in events:
            screen.show(event)


def on_a_terminal(events: list[AnswerEvent]) -> str:
    console = Console(file=io.StringIO(), width=60, height=20, highlight=False)
    shown(TerminalScreen(console, texts("chat", "en")), events)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_terminal_shows_each_tool_call_between_the_formatted_text() -> None:
    lines = [line.rstrip() for line in on_a_terminal(EVENTS).splitlines() if line.strip()]
    assert [line for line in lines if "0.0 s" not in line] == [
        "I look it up.",
        "● web_search  Python 非同期",
        '● web_extract  urls: ["https://a.example"], depth: 1',
        "                           Answer",
        "Use asyncio.",
    ]
    assert [line for line in lines if "0.0 s" in line] == [
        "  ✓ 0.0 s  ## 検索結果 asyncio",
        "  ✗ 0.0 s  refused",
    ]


def test_a_terminal_never_obeys_what_the_model_or_a_tool_says() -> None:
    escape = "\x1b]0;title\x07\x1b[2J\u202e"
    text = on_a_terminal(
        [
            ToolCalled(call_id="1", name=f"a{escape}", arguments={"q": escape}),
            ToolReturned(call_id="1", name="a", ok=True, text=escape),
            TextDelta(f"`{escape}`\n\n{escape}"),
            AnswerFailed(escape),
        ]
    )
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_of_a_tall_paragraph_the_end_is_shown_while_it_grows() -> None:
    console = Console(file=io.StringIO(), width=20, height=8, force_terminal=True, color_system=None)
    with TerminalScreen(console, texts("chat", "en")) as screen:
        screen.show(TextDelta("a long story " * 50 + "ends"))
        assert isinstance(console.file, io.StringIO)
        drawn = console.file.getvalue().rpartition("\x1b")[2]
    assert drawn.splitlines()[-1].endswith("ends")
    assert len(drawn.splitlines()) == 4


def test_an_answer_follows_a_window_that_becomes_narrower(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), width=80, height=20, force_terminal=True, color_system=None)
    with TerminalScreen(console, texts("chat", "en")) as screen:
        monkeypatch.setenv("COLUMNS", "10")
        screen.show(TextDelta("one two three four"))
        assert isinstance(console.file, io.StringIO)
        assert console.file.getvalue().endswith("one two \nthree four")


def test_a_pipe_gets_the_text_alone(capsys: pytest.CaptureFixture[str]) -> None:
    shown(PlainScreen(), [*EVENTS, AnswerFailed("The model is gone.")])
    out, err = capsys.readouterr()
    assert out == "I look it up.# Answer\n\nUse **asyncio**.\n"
    assert err.splitlines() == [
        "web_search: Python 非同期",
        'web_extract: urls: ["https://a.example"], depth: 1',
        "web_extract failed: refused",
        "The model is gone.",
    ]


def test_a_program_gets_each_event_as_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    shown(JsonScreen(), [EVENTS[0], EVENTS[2], EVENTS[5], AnswerFailed("no")])
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"event": "text", "text": "I look it "},
        {"event": "tool_called", "call_id": "1", "name": "web_search", "arguments": {"query": "Python 非同期"}},
        {"event": "tool_returned", "call_id": "2", "name": "web_extract", "ok": False, "text": "refused"},
        {"event": "failed", "message": "no"},
    ]
