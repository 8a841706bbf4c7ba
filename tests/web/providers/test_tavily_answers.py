"""Answers of unexpected shapes: whatever a server sends, a search gives results or a `TavilyAPIError`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import TavilyAPIError
from hikidashi.web.providers.tavily_answers import read_answer, read_credits, read_hits, read_pages
from hikidashi.web.results import ExtractedPage, FailedPage, SearchHit

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
ITEM = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("title", "url", "content", "score", "published_date", "raw_content", "error"), JSON | st.just("https://a.jp")
    ),
)
ANSWER = st.fixed_dictionaries(
    {},
    optional={
        "results": st.lists(ITEM | JSON, max_size=4) | JSON,
        "failed_results": st.lists(ITEM | JSON, max_size=4) | JSON,
        "answer": JSON,
        "usage": JSON | st.fixed_dictionaries({"credits": JSON}),
    },
)


@given(ANSWER)
def test_hits_of_any_answer_are_whole_or_refused(answer: dict[str, Any]) -> None:
    if not isinstance(answer.get("results", []), list | None):
        with pytest.raises(TavilyAPIError, match="results"):
            read_hits(answer, limit=3)
        return
    hits = read_hits(answer, limit=3)
    assert len(hits) <= 3
    for hit in hits:
        assert all(isinstance(text, str) for text in (hit.title, hit.url, hit.content))
        assert 0.0 <= hit.score <= 1.0


@given(ANSWER)
def test_credits_and_summary_of_any_answer_are_usable_or_none(answer: dict[str, Any]) -> None:
    cost, summary = read_credits(answer), read_answer(answer)
    assert cost is None or 0 <= cost < float("inf")
    assert summary is None or (isinstance(summary, str) and summary)


@given(ANSWER, st.lists(st.sampled_from(["https://a.jp", "https://b.jp", "https://c.jp/x"]), unique=True))
def test_every_address_asked_for_is_answered_once(answer: dict[str, Any], asked: list[str]) -> None:
    try:
        pages, failed = read_pages(answer, asked)
    except TavilyAPIError:
        return
    assert sorted([*pages, *(page.url for page in failed)]) == sorted(asked)
    assert all(url == page.url and page.raw_content.strip() for url, page in pages.items())
    assert all(page.error for page in failed)


@pytest.mark.parametrize(
    ("item", "hit"),
    [
        ({"url": "https://a.jp"}, SearchHit(title="https://a.jp", url="https://a.jp", content="", score=0)),
        (
            {"title": None, "url": "https://a.jp", "content": None, "score": None},
            SearchHit(title="https://a.jp", url="https://a.jp", content="", score=0),
        ),
        (
            {"title": 5, "url": "u", "content": "c", "score": "0.75", "published_date": 3},
            SearchHit(title="5", url="u", content="c", score=0.75),
        ),
        ({"title": "t", "url": "u", "score": 7}, SearchHit(title="t", url="u", content="", score=1.0)),
        ({"title": "t", "url": "u", "score": float("nan")}, SearchHit(title="t", url="u", content="", score=0.0)),
        ({"title": "t", "url": "u", "score": "good"}, SearchHit(title="t", url="u", content="", score=0.0)),
        ({"title": "t", "url": "u", "score": 10**400}, SearchHit(title="t", url="u", content="", score=0.0)),
    ],
)
def test_fields_that_are_missing_or_strange_get_a_value(item: dict[str, Any], hit: SearchHit) -> None:
    assert read_hits({"results": [item]}, limit=5) == (hit,)


def test_items_without_address_and_text_and_items_that_are_none_are_left_out() -> None:
    answer = {"results": [{"title": "empty"}, None, "text", 5, {"content": "c"}]}
    assert read_hits(answer, limit=9) == (SearchHit(title="", url="", content="c", score=0),)


def test_an_address_may_come_back_in_another_spelling() -> None:
    asked = ["https://Example.com/A/", "https://example.com", "https://例え.jp/茶"]
    answer = {
        "results": [
            {"url": "https://xn--r8jz45g.jp/%E8%8C%B6", "raw_content": "茶"},
            {"url": "https://example.com/", "raw_content": "home", "title": "H"},
            {"url": "https://example.com/A", "raw_content": "a"},
        ]
    }
    assert read_pages(answer, asked) == (
        {
            "https://example.com": ExtractedPage(url="https://example.com", raw_content="home", title="H"),
            "https://Example.com/A/": ExtractedPage(url="https://Example.com/A/", raw_content="a"),
            "https://例え.jp/茶": ExtractedPage(url="https://例え.jp/茶", raw_content="茶"),
        },
        (),
    )


def test_an_address_with_a_slash_at_its_end_and_one_without_are_two_pages() -> None:
    asked = ["https://a.jp/x", "https://a.jp/x/", "https://a.jp/y", "https://a.jp/y/"]
    answer = {
        "results": [
            {"url": "https://a.jp/x/", "raw_content": "with"},
            {"url": "https://a.jp/x", "raw_content": "without"},
            {"url": "https://a.jp/y/", "raw_content": "with"},
        ]
    }
    pages, failed = read_pages(answer, asked)
    assert {url: page.raw_content for url, page in pages.items()} == {
        "https://a.jp/x": "without",
        "https://a.jp/x/": "with",
        "https://a.jp/y/": "with",
    }
    assert failed == (FailedPage(url="https://a.jp/y", error="the API returned nothing for it"),)


def test_the_one_address_that_is_left_was_sent_on() -> None:
    answer = {"results": [{"url": "https://www.example.com/new", "raw_content": "text"}]}
    pages, failed = read_pages(answer, ["https://example.com/old"])
    assert (pages["https://example.com/old"].raw_content, failed) == ("text", ())


def test_of_several_strangers_none_is_guessed() -> None:
    answer = {"results": [{"url": f"https://other.jp/{n}", "raw_content": "text"} for n in range(2)]}
    pages, failed = read_pages(answer, ["https://a.jp", "https://b.jp"])
    assert pages == {}
    assert [page.error for page in failed] == ["the API returned nothing for it"] * 2


def test_a_page_given_twice_answers_for_no_other() -> None:
    answer = {"results": [{"url": "https://a.jp", "raw_content": "a"}] * 2}
    pages, failed = read_pages(answer, ["https://a.jp", "https://b.jp"])
    assert list(pages) == ["https://a.jp"]
    assert [page.url for page in failed] == ["https://b.jp"]


def test_a_page_without_text_and_a_failure_without_words_get_a_reason() -> None:
    answer = {"results": [{"url": "https://a.jp", "raw_content": None}], "failed_results": [{"url": "https://b.jp"}]}
    assert read_pages(answer, ["https://a.jp", "https://b.jp"])[1] == (
        FailedPage(url="https://a.jp", error="the page has no text"),
        FailedPage(url="https://b.jp", error="the page could not be extracted"),
    )


@pytest.mark.parametrize("usage", [None, {}, [], {"credits": None}, {"credits": -1}, {"credits": True}, "5"])
def test_a_cost_that_is_none_is_not_read(usage: Any) -> None:
    assert read_credits({"usage": usage}) is None


def test_a_cost_may_be_a_fraction_or_nothing() -> None:
    assert [read_credits({"usage": {"credits": cost}}) for cost in (0, 0.4, "2")] == [0, 0.4, 2]
