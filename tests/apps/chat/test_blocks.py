"""Markdown that arrives in pieces, given out in whole blocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hikidashi.apps.chat.screen import MarkdownBlocks

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
