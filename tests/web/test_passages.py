"""Passages of a text, split and chosen, and snippets."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.tokens import estimate_tokens
from hikidashi.web.passages import Markup, Passage, best_sentence, snippet, split, title_of
from hikidashi.web.words import terms_of

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


FILLER = "Nothing of interest stands here, and it goes on like this. " * 20
TEXT = FILLER + "The drawer sticks when the air is damp, so wax the runners. " + FILLER


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    assert snippet("Wax\n  the\trunners. ", terms_of("wax")) == "Wax the runners."


def test_a_snippet_is_taken_where_the_most_words_are() -> None:
    shown = snippet(TEXT, terms_of("wax damp drawers"))
    assert "drawer sticks when the air is damp, so wax" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) <= 304


def test_japanese_is_shown_around_its_words() -> None:
    text = "何も書かれていません。" * 60 + "引き出しの溝に蝋を塗る。" + "何も書かれていません。" * 60
    assert "引き出しの溝に蝋を塗る" in snippet(text, terms_of("引き出しの蝋"))


def test_without_the_words_the_beginning_is_shown() -> None:
    assert snippet(TEXT, terms_of("zebra")).startswith("Nothing of interest")
    assert snippet(TEXT, []).startswith("Nothing of interest")


def test_the_best_sentence_has_the_most_words_and_no_markup() -> None:
    text = "# Drawers\n\nA drawer. Wax the drawer when damp.\n\n```sh\nwax\n```\n"
    assert best_sentence(text, terms_of("wax drawers damp")) == "Wax the drawer when damp."
    assert best_sentence("引き出し。溝に蝋を塗る。", terms_of("溝の蝋")) == "溝に蝋を塗る。"
    assert best_sentence(text, terms_of("zebra")) is None


@given(st.text(max_size=2000), st.text(max_size=30), st.integers(10, 400))
def test_a_snippet_is_a_piece_of_the_text_of_about_its_length(text: str, question: str, length: int) -> None:
    shown = snippet(text, terms_of(question), length=length)
    assert len(shown) <= length + 4
    assert shown.removeprefix("… ").removesuffix(" …").strip() in " ".join(text.split())
