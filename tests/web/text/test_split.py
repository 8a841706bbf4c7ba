"""Documents become passages: nothing is lost, headings are kept, none is too long."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.tokens import estimate_tokens
from hikidashi.web.passages import Markup, Passage, split, title_of

LINES = st.lists(
    st.sampled_from(
        [
            *("# One", "## Two #", "Three", "===", "---", "~~~", "```py", "```", "    code", "", "", " ", "- item"),
            *("> quote", "A sentence. Another one!", "引き出しを抜く。直す。", "word " * 300, "語" * 900, "x" * 3000),
            *("a\tb\r", "\x0c", "| - |"),
        ]
    ),
    max_size=40,
).map("\n".join)
MARKUPS: tuple[Markup, ...] = get_args(Markup)

GUIDE = """\
Before everything.

# Drawers

About drawers.

## Repair ##

Plane it.

```sh
# not a heading
```

### Wood

Oak.

## Sell

Ask first.

Chests
======

About chests.

Old ones
--------

They creak.
"""
MANUAL = """\
=======
Drawers
=======

About drawers.

Repair
------

Plane it.

Wood
~~~~

Oak.

Sell
----

Ask first.
"""


def test_markdown_is_split_at_its_headings_which_are_kept_as_a_trail() -> None:
    assert [(passage.heading, passage.body.split("\n")[0]) for passage in split(GUIDE, "markdown")] == [
        ("", "Before everything."),
        ("Drawers", "# Drawers"),
        ("Drawers › Repair", "## Repair ##"),
        ("Drawers › Repair › Wood", "### Wood"),
        ("Drawers › Sell", "## Sell"),
        ("Chests", "Chests"),
        ("Chests › Old ones", "Old ones"),
    ]


def test_restructured_text_is_split_at_underlined_titles() -> None:
    assert [(passage.heading, passage.body.split("\n")[0]) for passage in split(MANUAL, "rst")] == [
        ("Drawers", "======="),
        ("Drawers › Repair", "Repair"),
        ("Drawers › Repair › Wood", "Wood"),
        ("Drawers › Sell", "Sell"),
    ]


def test_a_heading_is_plain_text() -> None:
    (passage,) = split("# The `put` [method](put.md) **now**", "markdown")
    assert passage.heading == "The put method now"


def test_paragraphs_are_kept_together_as_long_as_they_fit() -> None:
    paragraph = "Some words about drawers and how they run. " * 12 + "\n\n"
    passages = split(paragraph * 6)
    assert [passage.body.count("\n\n") for passage in passages] == [3, 3]


@pytest.mark.parametrize(
    "text", ["A sentence about oak. " * 400, "引き出しを抜いて直す。" * 400, "x" * 20_000, "word " * 2_000]
)
def test_a_long_paragraph_is_cut_after_sentences_or_where_it_must(text: str) -> None:
    passages = split(text)
    assert len(passages) > 3
    assert "".join(passage.body for passage in passages) == text
    assert all(estimate_tokens(passage.body) <= 410 for passage in passages)


def test_an_empty_text_has_no_passages() -> None:
    assert split("") == []
    assert split("word") == [Passage("", "word")]


@pytest.mark.parametrize(
    ("text", "markup", "title"),
    [
        (GUIDE, "markdown", "Drawers"),
        (MANUAL, "rst", "Drawers"),
        ("\n\nDrawers\nare fine", "plain", "Drawers"),
        ("word " * 100, "plain", ""),
        ("no heading", "markdown", ""),
        ("# \n\n# Drawers", "markdown", "Drawers"),
        ("", "plain", ""),
    ],
)
def test_the_title_is_the_first_heading_or_a_short_first_line(text: str, markup: Markup, title: str) -> None:
    assert title_of(text, markup) == title


@given(LINES, st.sampled_from(MARKUPS))
def test_the_passages_together_are_the_text(text: str, markup: Markup) -> None:
    passages = split(text, markup)
    assert "".join(passage.body for passage in passages) == text
    assert all(passage.body for passage in passages)


@given(st.text(), st.sampled_from(MARKUPS))
def test_any_text_is_split_without_loss(text: str, markup: Markup) -> None:
    assert "".join(passage.body for passage in split(text, markup)) == text


@given(LINES, st.sampled_from(MARKUPS))
def test_no_passage_is_much_longer_than_its_limit(text: str, markup: Markup) -> None:
    assert all(estimate_tokens(passage.body) <= 420 for passage in split(text, markup))


@pytest.mark.parametrize(
    "heading", ["Install { #install }", "Install {#install .wide}", "Install {: #install }", "Install"]
)
def test_attributes_of_a_heading_are_no_part_of_it(heading: str) -> None:
    assert [passage.heading for passage in split(f"# {heading}\n\nRun pip.", "markdown")] == ["Install"]
    assert [passage.heading for passage in split("# The {name} template\n\nText.", "markdown")] == [
        "The {name} template"
    ]
