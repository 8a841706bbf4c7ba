"""Snippets show why a passage was found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hikidashi.web.passages import best_sentence, snippet
from hikidashi.web.words import terms_of

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
