"""How an answer looks while it comes: events, blocks, lines that are drawn over, hyperlinks."""

from __future__ import annotations

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from hikidashi.apps.chat.screen import (
    ERASE_BELOW,
    JsonScreen,
    LiveLines,
    MarkdownBlocks,
    PlainScreen,
    Screen,
    TerminalScreen,
    supports_hyperlinks,
)
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
    lines = [re.sub(r"\d\.\d s", "N s", line.rstrip()) for line in on_a_terminal(EVENTS).splitlines() if line.strip()]
    assert [line for line in lines if "N s" not in line] == [
        "I look it up.",
        "● web_search  Python 非同期",
        '● web_extract  urls: ["https://a.example"], depth: 1',
        "                           Answer",
        "Use asyncio.",
    ]
    assert [line for line in lines if "N s" in line] == [
        "  ✓ N s  ## 検索結果 asyncio",
        "  ✗ N s  refused",
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


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "text",
            "\n",
            "\n\n",
            "```",
            "```python\n",
            "~~~\n",
            "- item\n",
            "2. two\n",
            "    in\n",
            "# Heading\n",
            " ",
            "日本語",
        ]
    )
).map("".join)


def all_of(blocks: MarkdownBlocks, *pieces: str) -> list[str]:
    return [block for piece in pieces for block in blocks.feed(piece)] + blocks.finish()


def test_a_block_ends_at_a_blank_line() -> None:
    blocks = MarkdownBlocks()
    assert blocks.feed("# Title\n\nFirst ") == ["# Title"]
    assert blocks.rest == "First "
    assert blocks.feed("paragraph\ngoes on\n\nSecond") == ["First paragraph\ngoes on"]
    assert blocks.finish() == ["Second"]


def test_blank_lines_inside_a_fence_belong_to_it() -> None:
    assert all_of(MarkdownBlocks(), "Look:\n```python\na = 1\n\n", "b = 2\n```\nDone") == [
        "Look:",
        "```python\na = 1\n\nb = 2\n```",
        "Done",
    ]


def test_a_list_with_blank_lines_is_one_block() -> None:
    blocks = MarkdownBlocks()
    assert blocks.feed("1. one\n\n    more of it\n\n2. two\n\n") == []
    assert blocks.rest.startswith("1. one")
    assert blocks.feed("After it") == []
    assert blocks.feed(".\n") == ["1. one\n\n    more of it\n\n2. two"]
    assert blocks.finish() == ["After it."]


def test_a_list_at_the_end_leaves_its_blank_lines() -> None:
    assert all_of(MarkdownBlocks(), "- one\n\n\n") == ["- one"]


def test_a_shorter_fence_does_not_close_a_longer_one() -> None:
    assert all_of(MarkdownBlocks(), "````\n```\n\nx\n````\n\ny") == ["````\n```\n\nx\n````", "y"]


def test_what_is_left_of_an_open_fence_is_given_at_the_end() -> None:
    assert all_of(MarkdownBlocks(), "```\nnever closed\n\n") == ["```\nnever closed\n\n"]


@given(MARKDOWN, st.integers(1, 5))
def test_the_pieces_do_not_matter(text: str, size: int) -> None:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert all_of(MarkdownBlocks(), *pieces) == all_of(MarkdownBlocks(), text)


@given(MARKDOWN)
def test_nothing_but_blank_lines_is_lost(text: str) -> None:
    kept = [line for block in all_of(MarkdownBlocks(), text) for line in block.split("\n") if line.strip()]
    assert kept == [line for line in text.split("\n") if line.strip()]


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
