"""Words of other languages, and words spelled wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ToolSearchError
from hikidashi.search import ToolCatalog
from hikidashi.search.engine.analyzer import stem
from hikidashi.search.engine.glossary import Glossary
from hikidashi.search.engine.spelling import Speller

LINES = (
    "# comment\n\n送信\tsend|submit\tverb\nメール\tmail\nライン\tline\n請求書\tinvoice\n請求\tbilling\n送信\ttransmit\n"
)


def test_a_glossary_is_read_from_lines_of_a_word_and_english_alternatives() -> None:
    glossary = Glossary.read(LINES)
    assert len(glossary) == 5
    assert list(glossary.found_in("請求書をメールで送信")) == [
        ("請求書", ("invoice",)),
        ("メール", ("mail",)),
        ("送信", ("send", "submit", "transmit")),
    ]


def test_a_katakana_word_inside_another_is_not_found() -> None:
    glossary = Glossary.read(LINES)
    assert list(glossary.found_in("オンライン")) == []
    assert [word for word, _ in glossary.found_in("メールライン")] == ["メール", "ライン"]


@pytest.mark.parametrize("line", ["送信 send", "\tsend"])
def test_a_line_that_is_no_entry_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(ToolSearchError, match=r"Line 2 of mine\.tsv"):
        Glossary.read(f"# first\n{line}", "mine.tsv")


def test_a_glossary_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "de.tsv"
    file.write_text("wetter\tweather\n", encoding="utf-8")
    catalog = ToolCatalog([{"name": "weather"}, {"name": "mail"}], glossary=file)
    assert [match.name for match in catalog.search("Das Wetter")] == ["weather"]


VOCABULARY = ["calendar", "message", "weather", "channel", "send", "received", "receives"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("calender", ["calendar"]),
        ("calandr", ["calendar"][:0]),
        ("calndear", ["calendar"]),
        ("mesage", ["message"]),
        ("mesasge", ["message"]),
        ("wether", ["weather"]),
        ("receivet", ["received", "receives"]),
        ("sned", ["send"]),
        ("sand", []),
        ("zzzzzzzz", []),
        ("1234567", []),
        ("alendar", []),
    ],
)
def test_the_nearest_words_are_those_with_one_error_or_two_in_a_long_word(word: str, expected: list[str]) -> None:
    assert Speller(VOCABULARY).nearest(word, VOCABULARY) == expected


@given(st.sampled_from(["calendar", "repository", "subscription"]), st.data())
def test_any_one_error_after_the_first_letter_is_forgiven(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(word) - 2))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz"))
    wrong = data.draw(
        st.sampled_from(
            [
                word[:at] + letter + word[at:],
                word[:at] + word[at + 1 :],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            ]
        )
    )
    known = ["calendar", "repository", "subscription"]
    assert Speller(known).nearest(wrong, known) == [word]


def test_a_word_that_is_known_no_more_is_no_guess() -> None:
    speller = Speller(["calendar"])
    assert speller.nearest("calender", {"mail"}) == []
    speller.add(["calends", "calander"])
    assert speller.nearest("calender", {"calendar", "calander"}) == ["calander", "calendar"]


def test_a_short_word_with_an_e_is_another_word_in_all_its_forms() -> None:
    for pair in ("plane plan", "mime mim", "rate rat", "code cod", "tape tap"):
        one, other = pair.split()
        assert stem(one) != stem(other)
    assert {stem(word) for word in ("file", "files", "filed", "filing")} == {"file"}
    assert {stem(word) for word in ("plan", "plans", "planned", "planning")} == {"plan"}
    assert stem("wrote") == stem("write") == stem("writing")
    assert stem("ship") == stem("shipment") == stem("shipping")
