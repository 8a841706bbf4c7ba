"""Misspelled words find the word that was meant, as the index has it."""

from __future__ import annotations

import pytest

from hikidashi.search import ToolCatalog
from hikidashi.search.fuzzy import Speller
from hikidashi.search.stem import stem

WORDS = ["price", "table", "image", "update", "email", "cancelled", "calendar"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("pirce", "price"),
        ("tbale", "table"),
        ("imsge", "image"),
        ("updte", "update"),
        ("emial", "email"),
        ("cancellde", "cancelled"),
        ("calnedar", "calendar"),
    ],
)
def test_a_slip_is_seen_through_though_the_index_has_only_a_part_of_the_word(wrong: str, right: str) -> None:
    known = dict.fromkeys(map(stem, WORDS))
    assert Speller(known).nearest(wrong, known) == [stem(right)]


@pytest.mark.parametrize("word", ["sned", "plane", "12345", "e-mail"])
def test_short_words_and_other_words_stay_as_they_are(word: str) -> None:
    known = dict.fromkeys(map(stem, WORDS))
    assert Speller(known).nearest(word, known) == []


def test_words_that_no_tool_has_are_no_guess() -> None:
    assert Speller(["calendar"]).nearest("emial", {"calendar": None}) == []


def test_the_word_that_was_meant_is_shown_as_the_tool_spells_it() -> None:
    (match,) = ToolCatalog([{"name": "send_email"}, {"name": "list_tables"}]).search("emial")
    assert match.why == {"name": ("emial→email",)}
