"""Misspelled words find the word that was meant, as the index has it."""

from __future__ import annotations

import pytest
from benchmarks.search.catalogue import catalogue
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.search import ToolCatalog
from hikidashi.search.engine.analyzer import Analyzer, stem
from hikidashi.search.engine.index import Index, Vocabulary
from hikidashi.search.engine.spelling import Speller

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


@st.composite
def misspelled(draw: st.DrawFn, word: str) -> str:
    """`word` with a letter left out, doubled, replaced or changed with its neighbour, after the first."""
    at = draw(st.integers(1, len(word) - 2))
    letter = draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz"))
    return draw(
        st.sampled_from(
            [
                word[:at] + word[at + 1 :],
                word[: at + 1] + word[at:],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            ]
        )
    )


PHRASES = ["schedule recurring payment", "export customer invoices", "cancel pending subscription"]
TOOLS = [*catalogue(2_000), *({"name": phrase.replace(" ", "_")} for phrase in PHRASES)]
DESK = ToolCatalog(TOOLS, ranker="lexical")


@given(st.sampled_from(PHRASES), st.data())
def test_three_misspelled_words_in_a_row_are_seen_through(phrase: str, data: st.DataObject) -> None:
    wrong = " ".join(data.draw(misspelled(word)) for word in phrase.split())
    found = [match.name for match in DESK.search(wrong, limit=10)]
    assert phrase.replace(" ", "_") in found, wrong


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("paayment", "payment"),
        ("clustjr", "cluster"),
        ("recurriing", "recurring"),
        ("evnt", "event"),
        ("emssage", "message"),
    ],
)
def test_an_error_in_an_ending_in_a_short_word_or_at_the_start_is_seen_through(wrong: str, right: str) -> None:
    assert f"{wrong}→{right}" in DESK.search(wrong)[0].why["name"]


def test_several_guesses_that_meet_in_a_tool_make_it_certain_and_one_alone_does_not() -> None:
    assert DESK.search("sennd invoce to tanaka")[0].confident
    assert not DESK.search("the old brigde collapsed over paymets")[0].confident


def test_a_vocabulary_follows_its_index() -> None:
    index = Index()
    vocabulary = Vocabulary(index, Analyzer())
    index.extend([[(20, ["calendar", "mail"])], [(20, ["mail"])]])
    assert ("mail" in vocabulary, "weather" in vocabulary) == (True, False)
    assert vocabulary.idf("weather") > vocabulary.idf("calendar") > vocabulary.idf("mail")
    assert (vocabulary.nearest("calender"), vocabulary.nearest("wether")) == (["calendar"], [])
    index.add([(20, ["wether", "weather"])])
    index.remove(0, ["calendar", "mail"])
    assert (vocabulary.nearest("calender"), vocabulary.nearest("weahter")) == ([], ["weather"])
    index.add([(20, ["calendar"])])
    assert vocabulary.nearest("calender") == ["calendar"]
