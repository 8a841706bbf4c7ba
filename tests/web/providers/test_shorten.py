from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.web.providers.tavily import shorten_query

WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=120)


@given(st.text(max_size=200) | st.text("あ亜ア、。a \u0301🇯", max_size=200), st.integers(1, 100))
def test_the_shortened_query_is_a_beginning_of_the_query_that_fits(query: str, limit: int) -> None:
    short = shorten_query(query, limit)
    assert len(short) <= limit
    assert query.strip().startswith(short)
    assert bool(short) == bool(query.strip())


@given(st.text(max_size=400))
def test_a_query_that_fits_only_loses_the_space_around_it(query: str) -> None:
    assert shorten_query(query, 400) == query.strip()


@given(WORDS)
def test_spaced_words_stay_whole(words: list[str]) -> None:
    query = " ".join(words)
    assert shorten_query(query, 40).split(" ") == words[: len(shorten_query(query, 40).split(" "))]


@given(
    st.lists(
        st.sampled_from(["e\u0301", "か\u3099", "👩‍💻", "👍🏽", "🇯🇵", "ﾊﾞ", "\u1100\u1161\u11a8", "x"]),
        min_size=1,
        max_size=60,
    )
)
def test_what_a_reader_sees_as_one_character_is_never_cut(characters: list[str]) -> None:
    query = "".join(characters)
    short = shorten_query(query, 20)
    beginnings = {"".join(characters[:count]) for count in range(len(characters) + 1)}
    assert short in beginnings


@pytest.mark.parametrize(
    ("query", "limit", "short"),
    [
        ("東京の天気を教えてください", 9, "東京の天気を"),
        ("機械学習の仕組みについて", 11, "機械学習の"),
        ("今日は、とてもとても良い", 7, "今日は、"),
        ("検索エンジンの比較、価格と性能", 11, "検索エンジンの比較、"),
        ("最新のPythonとasyncioの使い方", 14, "最新のPythonと"),
        ("最新のPython入門", 10, "最新のPython"),
    ],
)
def test_japanese_is_cut_where_a_word_ends(query: str, limit: int, short: str) -> None:
    assert shorten_query(query, limit) == short


@pytest.mark.parametrize(
    "character",
    ["e\u0301", "👩‍💻", "👍🏽", "🇯🇵", "ﾊﾞ", "\u1100\u1161\u11a8", "\ud83d\udc4d"],
    ids=["accent", "joined", "skin", "flag", "half-width", "korean", "surrogates"],
)
def test_a_character_of_several_parts_is_kept_whole_or_left_out(character: str) -> None:
    assert shorten_query("x" * 19 + character + "x" * 9, 20) == "x" * 19
    flags = "x" * (20 - 2 * len(character)) + character * 9
    assert shorten_query(flags, 20) == "x" * (20 - 2 * len(character)) + character * 2


def test_punctuation_just_beyond_the_limit_does_not_come_along() -> None:
    assert shorten_query("あ" * 10 + "、" + "い" * 10, 10) == "あ" * 10


def test_an_address_is_not_cut_at_its_dots() -> None:
    assert shorten_query("see the notes at docs.example.com/guide", 30) == "see the notes at"


def test_one_long_word_is_cut_anywhere() -> None:
    assert shorten_query("あ" * 500, 400) == "あ" * 400


def test_a_query_of_marks_alone_is_cut_too() -> None:
    assert shorten_query("\u0301" * 500, 400) == "\u0301" * 400
