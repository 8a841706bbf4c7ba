"""Filters and options: checked once, carried out or refused by name."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.texts import in_language
from hikidashi.web.passages import BETWEEN, extracted_as, plain_text, relevant_passages
from hikidashi.web.provider import errors_in
from hikidashi.web.request import (
    ExtractOptions,
    SearchFilters,
    SearchRequest,
    check_extract_options,
    refuse_filters,
)
from hikidashi.web.results import ExtractedPage


def checked(**given: Any) -> SearchFilters:
    return SearchRequest.of("q", **given).filters


def test_domains_are_read_from_addresses_and_wildcards() -> None:
    filters = checked(include_domains=["https://Docs.Example.com/a?b", "*.example.org", "www.example.net", "例え.jp"])
    assert filters.include_domains == ("docs.example.com", "example.org", "example.net", "例え.jp")
    assert filters.allows_host("https://sub.example.org/page")
    assert not filters.allows_host("https://notexample.org/page")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"topic": "sports"}, "topic"),
        ({"time_range": "decade"}, "time_range"),
        ({"start_date": "tomorrow"}, "start_date"),
        ({"end_date": "2026-02-30"}, "end_date"),
        ({"end_date": "20260201"}, "end_date"),
        ({"start_date": "2026-03-01", "end_date": "2026-02-01"}, "start_date"),
        ({"time_range": "day", "start_date": "2026-03-01"}, "time_range"),
        ({"include_domains": ["two words"]}, "include_domains"),
        ({"exclude_domains": [7]}, "exclude_domains"),
        ({"exclude_domains": [f"d{number}.example" for number in range(301)]}, "exclude_domains"),
        ({"country": "J4pan"}, "country"),
        ({"country": ""}, "country"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(TavilyAPIError) as caught:
        checked(**given)
    assert caught.value.error_type is ErrorType.VALIDATION_ERROR
    assert named in caught.value.message
    assert named in in_language(caught.value.message, "en")


def test_a_range_of_time_becomes_days() -> None:
    today = date(2026, 11, 16)
    assert checked(time_range="w").days(today) == ("2026-11-09", None)
    assert checked(start_date="2026-01-02").days(today) == ("2026-01-02", None)
    assert SearchFilters().days(today) == (None, None)


def test_only_what_restricts_counts_as_given() -> None:
    assert SearchFilters(topic="general").given() == {}
    assert checked(topic="news", include_domains=["a.example"]).given() == {
        "topic": "news",
        "include_domains": ("a.example",),
    }
    refuse_filters(["topic"], SearchFilters(topic="general"), provider="It")
    with pytest.raises(TavilyAPIError, match=r"It cannot do `country` \('japan'\)"), errors_in("en"):
        refuse_filters(["country"], SearchFilters(country="japan"), provider="It")


@pytest.mark.parametrize(
    "options",
    [
        ExtractOptions(depth="deep"),  # pyright: ignore[reportArgumentType]
        ExtractOptions(format="html"),  # pyright: ignore[reportArgumentType]
        ExtractOptions(query="q", chunks_per_source=0),
        ExtractOptions(query="q", chunks_per_source=6),
        ExtractOptions(query="q", chunks_per_source=True),
        ExtractOptions(chunks_per_source=3),
    ],
)
def test_an_option_out_of_range_is_refused(options: ExtractOptions) -> None:
    with pytest.raises(TavilyAPIError):
        check_extract_options(options)


TEXT = "# Oven\n\nHow to bake.\n\n# Returns\n\nSend it back within *30 days*.\n\n# Contact\n\nWrite to us.\n"


def test_a_question_chooses_the_passages_that_have_its_words() -> None:
    assert relevant_passages(TEXT, "how many days for returns", limit=1) == [
        "# Returns\n\nSend it back within *30 days*."
    ]
    assert relevant_passages(TEXT, "zebra", limit=1) == ["# Oven\n\nHow to bake."]
    page = ExtractedPage(url="https://a.example", raw_content=TEXT)
    chosen = extracted_as(page, ExtractOptions(query="write days", chunks_per_source=2, format="text"))
    assert chosen.raw_content == f"Returns\n\nSend it back within 30 days.{BETWEEN}Contact\n\nWrite to us."


def test_plain_text_has_the_words_without_the_marks() -> None:
    markdown = (
        '## A *bold* `step` ##\n> Quoted [link](https://a.example/x_(y) "title") and ![alt](i.png)\n\n'
        "| a | b |\n|---|:-:|\n| 1 | **2** |\n```py\nsnake_case_name = 2 * 3 * 4\n```\n1 \\* 2\n"
    )
    assert plain_text(markdown) == (
        "A bold step\nQuoted link and alt\n\na\tb\n1\t2\nsnake_case_name = 2 * 3 * 4\n1 * 2"
    )


@given(st.text(max_size=300), st.text(max_size=40), st.integers(1, 5))
def test_passages_and_plain_text_never_fail(text: str, query: str, limit: int) -> None:
    plain_text(text)
    chosen = relevant_passages(text, query, limit=limit)
    assert len(chosen) <= limit
    assert all(passage in text for passage in chosen)


@given(st.dictionaries(st.sampled_from(["topic", "time_range", "start_date", "country"]), st.text(max_size=12)))
def test_any_text_is_a_filter_or_a_refusal_of_ours(given: dict[str, Any]) -> None:
    with suppress(TavilyAPIError):
        checked(**given)
