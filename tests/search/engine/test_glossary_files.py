"""The glossary and stopword files of Spanish, French, Korean and Chinese are well-formed."""

from __future__ import annotations

import pytest
from tests.glossary_support import english_of, entries, malformed, malformed_stopwords, size, stopwords, twice

every_language = pytest.mark.parametrize("language", ["es", "fr", "ko", "zh"])


@every_language
def test_the_file_has_thousands_of_words(language: str) -> None:
    assert size(language) >= 3_000


@every_language
def test_no_word_is_repeated(language: str) -> None:
    assert twice(f"{language}.tsv") == []
    assert twice(f"stopwords/{language}.txt") == []


@every_language
def test_every_line_is_a_composed_word_a_tab_and_english(language: str) -> None:
    assert malformed(language) == []


@every_language
def test_stopwords_are_composed_lower_case_words_and_phrases(language: str) -> None:
    assert malformed_stopwords(language) == []


@every_language
def test_no_stopword_is_a_glossary_word(language: str) -> None:
    assert {*stopwords(language)} & {*english_of(language)} == set()


@pytest.mark.parametrize("language", ["de", "es", "fr", "ko", "zh"])
def test_no_word_of_everyday_talk_is_repeated_or_has_a_capital(language: str) -> None:
    words = " ".join(entries(f"everyday/{language}.txt")).split()
    assert len(set(words)) == len(words)
    assert [word for word in words if word != word.lower()] == []


def test_greetings_in_japanese_are_well_formed() -> None:
    assert twice("stopwords/ja.txt") == []
    assert malformed_stopwords("ja") == []
