"""Characters that nobody sees change nothing: not in questions, not in tools, not in patterns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ToolSearchError
from hikidashi.search import ToolCatalog
from hikidashi.search.engine.analyzer import visible

INVISIBLE = [
    "\u00ad",  # soft hyphen
    "\u034f",
    "\u061c",
    "\u180e",
    "\u200b",  # zero-width space
    "\u200c",
    "\u200d",
    "\u200e",  # left-to-right mark
    "\u202e",
    "\u2060",
    "\u2066",
    "\ufe0f",  # variation selector
    "\ufeff",  # byte order mark
    "\U000e0101",
    "\U000e0061",
]
TOOLS: list[dict[str, Any]] = [
    {"name": "send_message", "description": "Send a message to a channel."},
    {"name": "seikyu_list", "description": "請求書の一覧を取得します。"},
    {"name": "café_finder", "description": "Trouve un café près d'ici."},
    {"name": "read_file", "description": "Reads a file from disk."},
]
QUESTIONS = ["send message", "send_message", "請求書の一覧", "café", "mesage chanel", "read a file", "select:read_file"]

tainted = st.lists(st.tuples(st.integers(0, 40), st.sampled_from(INVISIBLE)), min_size=1, max_size=8)


def sprinkled(text: str, marks: list[tuple[int, str]]) -> str:
    for place, mark in marks:
        at = place % (len(text) + 1)
        text = text[:at] + mark + text[at:]
    return text


def answers(catalog: ToolCatalog, question: str) -> list[tuple[str, float, str]]:
    return [(visible(match.name), match.score, match.doubt) for match in catalog.search(question)]


@pytest.fixture(scope="module")
def clean() -> ToolCatalog:
    return ToolCatalog(TOOLS)


@given(question=st.sampled_from(QUESTIONS), marks=tainted)
def test_a_question_finds_the_same_with_characters_that_nobody_sees(
    clean: ToolCatalog, question: str, marks: list[tuple[int, str]]
) -> None:
    assert answers(clean, sprinkled(question, marks)) == answers(clean, question)


@given(marks=tainted)
def test_tools_are_found_the_same_with_characters_that_nobody_sees(
    clean: ToolCatalog, marks: list[tuple[int, str]]
) -> None:
    dirty = ToolCatalog([{key: sprinkled(text, marks) for key, text in tool.items()} for tool in TOOLS])
    for question in QUESTIONS[:-1]:
        assert answers(dirty, question) == answers(clean, question)
    for pattern in ("^send_message$", "請求書", "from disk"):
        assert [visible(match.name) for match in dirty.search_regex(sprinkled(pattern, marks))] == [
            match.name for match in clean.search_regex(pattern)
        ]


def test_a_question_of_nothing_that_is_seen_is_empty(clean: ToolCatalog) -> None:
    with pytest.raises(ToolSearchError, match="The query is empty"):
        clean.search("\u200b\ufeff \u00ad")
    with pytest.raises(ToolSearchError, match="The pattern is empty"):
        clean.search_regex("\u200b")


@given(st.text(max_size=30))
def test_what_is_seen_of_a_text_is_a_part_of_it(text: str) -> None:
    seen = visible(text)
    assert visible(seen) == seen
    assert [letter for letter in text if letter in set(seen)] == list(seen)


def test_full_width_and_mathematical_letters_are_read_as_plain_ones() -> None:
    tools = [*TOOLS, {"name": "delete_issue", "description": "Remove a ticket."}]
    for catalog in (ToolCatalog(tools, ranker="lexical"), ToolCatalog(tools)):
        for plain in ("get rid of the ticket", "send a message", "read_file"):
            wide = "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in plain)
            assert answers(catalog, wide) == answers(catalog, plain)
        assert answers(catalog, "𝐬𝐞𝐧𝐝 𝐚 𝐦𝐞𝐬𝐬𝐚𝐠𝐞") == answers(catalog, "send a message")
