"""Hits become a context: best first, never more tokens than asked for, each passage with its address."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.tokens import estimate_tokens
from hikidashi.web.answers import DEFAULT_MAX_TOKENS, pack_context
from hikidashi.web.results import SearchContext, SearchHit


def hit(content: str, *, title: str = "Drawers", url: str = "https://example.com/a", score: float = 0.5) -> SearchHit:
    return SearchHit(title=title, url=url, content=content, score=score)


def packed(*hits: SearchHit, max_tokens: int | None = None) -> SearchContext:
    return pack_context("drawers", hits, max_tokens, provider="local")


WORDS = " ".join(f"word{n}." for n in range(3_000))
TEXTS = st.text(st.sampled_from("ab é7 .。!、\n\t引き出し“…🗄กข한국-_`<"), max_size=300)
HITS = st.lists(
    st.builds(
        hit,
        TEXTS,
        title=TEXTS,
        url=st.sampled_from(["https://example.com/a", "https://例え.jp/引き出し?q=1&r=2", "file:///docs/a%20b.md"]),
        score=st.floats(0, 1),
    ),
    max_size=6,
)


def test_each_passage_stands_under_its_title_and_address() -> None:
    context = packed(
        hit("Glue the joints.", title="Build a\n drawer", url="https://example.com/build", score=0.9),
        hit("引き出しを抜く。", title="", url="https://example.com/ja", score=0.4),
    )
    text = "### Build a drawer\nhttps://example.com/build\n\nGlue the joints.\n\nhttps://example.com/ja\n\n引き出しを抜く。"
    assert context == SearchContext(
        query="drawers",
        text=text,
        sources=("https://example.com/build", "https://example.com/ja"),
        tokens=estimate_tokens(text),
        provider="local",
    )


def test_what_the_provider_said_of_cache_and_cost_is_kept() -> None:
    context = pack_context("q", [hit("A passage.")], 100, provider="tavily", cached=True, credits=2.0)
    assert (context.provider, context.cached, context.credits) == ("tavily", True, 2.0)


def test_the_best_comes_first_and_equals_keep_their_order() -> None:
    hits = [hit("low", url="u:1", score=0.1), hit("top", url="u:2", score=0.9), hit("also low", url="u:3", score=0.1)]
    assert packed(*hits).sources == ("u:2", "u:1", "u:3")


def test_what_another_passage_says_already_is_left_out() -> None:
    hits = [
        hit("Drawers slide on waxed runners.", url="u:1", score=0.9),
        hit("drawers  slide on\nwaxed runners.", url="u:2", score=0.8),
        hit("waxed runners", url="u:3", score=0.7),
        hit("  ", url="u:4", score=0.6),
        hit("Oak is heavy.", url="u:5", score=0.5),
    ]
    assert packed(*hits).sources == ("u:1", "u:5")


def test_an_address_is_listed_once_however_many_of_its_passages_are_there() -> None:
    context = packed(hit("First part.", score=0.9), hit("Second part.", score=0.8))
    assert context.sources == ("https://example.com/a",)
    assert context.text.count("https://example.com/a") == 2


def test_no_hits_give_an_empty_text() -> None:
    assert packed() == SearchContext(query="drawers", text="", sources=(), tokens=0, provider="local")


def test_four_thousand_tokens_are_the_default() -> None:
    context = packed(hit(WORDS))
    assert DEFAULT_MAX_TOKENS * 0.95 < context.tokens <= DEFAULT_MAX_TOKENS


def test_the_last_passage_is_cut_after_a_sentence_rather_than_dropped() -> None:
    content = "The first sentence says what a drawer is. The second one tells at length how it is made of oak and glue."
    context = packed(replace(hit(content), score=0.9), max_tokens=22)
    assert context.text.endswith("\n\nThe first sentence says what a drawer is.")


def test_a_sentence_too_long_for_the_rest_is_cut_after_a_word() -> None:
    context = packed(hit("drawer " * 200), max_tokens=40)
    assert context.text.endswith("drawer drawer …")
    assert 37 <= context.tokens <= 40


def test_japanese_is_cut_after_a_full_stop_or_any_letter() -> None:
    at_sentence = packed(hit("引き出しは家具の一部です。" * 50), max_tokens=60).text
    assert at_sentence.endswith("家具の一部です。")
    assert packed(hit("引き出し" * 200), max_tokens=60).text.endswith(" …")


def test_a_title_gives_way_before_the_passage_does() -> None:
    long_title = hit("A drawer.", title="Everything about furniture " * 10)
    assert packed(long_title, max_tokens=20).text == "https://example.com/a\n\nA drawer."


def test_where_no_address_fits_the_best_passage_is_cut_and_only_the_sources_name_it() -> None:
    context = packed(hit("A drawer of oak."), hit("Pine is soft.", url="u:2", score=0.1), max_tokens=4)
    assert (context.text, context.sources) == ("A drawer of …", ("https://example.com/a",))


@pytest.mark.parametrize(
    ("content", "text"),
    [("引き出し", "引"), ("Drawers slide.", "Drawers"), ("internationalization", "internationa")],
)
def test_one_token_still_says_something(content: str, text: str) -> None:
    assert packed(hit(content), max_tokens=1).text == text


def test_a_further_passage_without_room_for_its_address_is_left_out() -> None:
    context = packed(hit("Oak.", score=0.9), hit("Pine is soft.", url="https://example.com/b"), max_tokens=18)
    assert context.sources == ("https://example.com/a",)


def test_japanese_in_an_address_is_readable_and_the_source_is_the_address_itself() -> None:
    url = "file:///docs/%E7%A5%9D%E6%97%A5%20%E4%B8%80%E8%A6%A7.md"
    context = packed(hit("元日", title="", url=url))
    assert (context.text, context.sources) == ("file:///docs/祝日%20一覧.md\n\n元日", (url,))


@given(HITS, st.integers(1, 300))
def test_a_context_never_exceeds_its_limit(hits: list[SearchHit], max_tokens: int) -> None:
    context = packed(*hits, max_tokens=max_tokens)
    assert context.tokens == estimate_tokens(context.text) <= max_tokens


@given(HITS, st.integers(1, 300))
def test_every_source_is_in_the_text_and_every_passage_is_the_beginning_of_a_hit(
    hits: list[SearchHit], max_tokens: int
) -> None:
    context = packed(*hits, max_tokens=max_tokens)
    assert bool(context.text) == bool(context.sources)
    assert all(source in context.text for source in context.sources) or len(context.sources) == 1
    assert set(context.sources) <= {one.url for one in hits}


@given(st.lists(TEXTS.filter(lambda text: bool(text.strip())), min_size=1, max_size=5))
def test_with_room_for_everything_nothing_is_cut(contents: list[str]) -> None:
    context = packed(*map(hit, contents), max_tokens=100_000)
    assert all(" ".join(text.split()).casefold() in " ".join(context.text.split()).casefold() for text in contents)


@pytest.mark.parametrize("limit", [50, 200, 1_000])
def test_more_room_never_gives_less_text(limit: int) -> None:
    hits = [hit(WORDS, score=0.9), hit("引き出しは家具の一部です。" * 50, url="u:2")]
    assert packed(*hits, max_tokens=limit).tokens <= packed(*hits, max_tokens=limit * 2).tokens
