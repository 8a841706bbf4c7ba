"""Requests, filters and options: checked once, carried out or refused by name."""

from __future__ import annotations

import logging
import math
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.texts import in_language
from hikidashi.web.messages import wait_message
from hikidashi.web.passages import BETWEEN, extracted_as, plain_text, relevant_passages
from hikidashi.web.provider import errors_in
from hikidashi.web.request import (
    CheckedUrls,
    ExtractOptions,
    SearchDepth,
    SearchFilters,
    SearchRequest,
    check_choice,
    check_extract_options,
    check_max_tokens,
    check_texts,
    check_urls,
    refuse_filters,
)
from hikidashi.web.results import ExtractedPage, FailedPage


def refusal(error: pytest.ExceptionInfo[TavilyAPIError]) -> str:
    assert error.value.error_type is ErrorType.VALIDATION_ERROR
    assert not error.value.is_retryable
    return error.value.message


@given(st.text(min_size=1, max_size=1000).filter(str.strip))
def test_a_query_of_up_to_a_thousand_characters_is_given_back_as_it_is(query: str) -> None:
    assert SearchRequest(query).query == query


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "\u3000"])
def test_an_empty_query_is_refused_with_the_allowed_length(query: str) -> None:
    with pytest.raises(TavilyAPIError) as error:
        SearchRequest(query)
    assert refusal(error) == (
        f"検索クエリが空です（受け取った値: {query!r}）。1文字以上1000文字以下で指定してください。"
    )


def test_a_query_of_1001_characters_is_refused_with_its_length() -> None:
    with pytest.raises(TavilyAPIError) as error, errors_in("en"):
        SearchRequest("a" * 1001)
    assert refusal(error).startswith("The query is too long: 1001 characters, 'aaa")
    assert refusal(error).endswith("Give at most 1000.")
    assert len(refusal(error)) < 150


def test_a_query_that_is_no_text_is_refused() -> None:
    with pytest.raises(TavilyAPIError) as error:
        SearchRequest(5)  # pyright: ignore[reportArgumentType]
    assert refusal(error) == "検索クエリは文字列で指定してください（受け取った値: 5）。"


@pytest.mark.parametrize("depth", get_args(SearchDepth))
def test_every_depth_is_taken(depth: SearchDepth) -> None:
    assert SearchRequest("q", search_depth=depth).search_depth == depth


@pytest.mark.parametrize("depth", ["", "deep", "Basic", None])
def test_another_depth_is_refused_with_the_allowed_ones(depth: Any) -> None:
    with pytest.raises(TavilyAPIError) as error, errors_in("en"):
        SearchRequest("q", search_depth=depth)
    assert (
        refusal(error) == f'`search_depth` is {depth!r}. It must be one of "basic", "advanced", "fast", "ultra-fast".'
    )


@given(st.integers(1, 20))
def test_one_to_twenty_results_are_taken(count: int) -> None:
    assert SearchRequest("q", max_results=count).max_results == count


@given(st.one_of(st.integers(max_value=0), st.integers(min_value=21), st.booleans(), st.floats(), st.text(max_size=5)))
def test_any_other_number_of_results_is_refused_with_the_range(count: Any) -> None:
    with pytest.raises(TavilyAPIError) as error:
        SearchRequest("q", max_results=count)
    assert refusal(error).endswith("1以上20以下の整数を指定してください。")
    assert "max_results" in refusal(error)


@pytest.mark.parametrize("tokens", [None, 1, 10**9])
def test_tokens_are_none_or_at_least_one(tokens: int | None) -> None:
    assert check_max_tokens(tokens) == tokens


@pytest.mark.parametrize("tokens", [0, -5, True, 1.5, "9"])
def test_any_other_number_of_tokens_is_refused(tokens: Any) -> None:
    with pytest.raises(TavilyAPIError) as error, errors_in("en"):
        check_max_tokens(tokens)
    assert refusal(error) == f"`max_tokens` is {tokens!r}. It must be an integer of 1 or more."


def test_a_choice_is_given_back_or_refused_by_name() -> None:
    assert check_choice("news", "topic", ("general", "news")) == "news"
    with pytest.raises(TavilyAPIError, match='topic が不正です（受け取った値: \'sport\'）。"general", "news" の'):
        check_choice("sport", "topic", ("general", "news"))


def test_texts_lose_repetitions_and_space_and_one_is_a_list() -> None:
    assert check_texts([" a.com ", "b.com", "a.com"], "include_domains") == ("a.com", "b.com")
    assert check_texts("a.com", "include_domains") == ("a.com",)
    assert check_texts(None, "include_domains") == ()


@pytest.mark.parametrize("values", [[5], [""], {"a": 1}, 7])
def test_texts_that_are_none_are_refused(values: Any) -> None:
    with pytest.raises(TavilyAPIError) as error, errors_in("en"):
        check_texts(values, "include_domains")
    assert refusal(error) == f"`include_domains` is {values!r}. It must be a list of strings."


@pytest.mark.parametrize("urls", [[], (), None, 5, {}])
def test_no_address_at_all_is_an_error_at_once(urls: Any) -> None:
    with pytest.raises(TavilyAPIError) as error:
        check_urls(urls)
    assert refusal(error).startswith(f"URLが指定されていません（受け取った値: {urls!r}）")


def test_invalid_addresses_are_listed_and_the_others_stay() -> None:
    urls: list[Any] = ["https://example.com/a", "example.com", "https:///path", 5, " https://example.com/b "]
    assert check_urls(urls).valid == ("https://example.com/a", "https://example.com/b")
    assert check_urls(urls).failed == (
        FailedPage(url="example.com", error="it does not begin with http:// or https://"),
        FailedPage(url="https:///path", error="it names no valid host"),
        FailedPage(url="5", error="a URL must be a string"),
    )


def test_reasons_are_known_in_japanese_too() -> None:
    (failed,) = check_urls(["example.com"]).failed
    assert in_language(failed.error, "ja") == "http:// または https:// で始まっていません"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/admin",
        "http://10.0.0.8/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://2130706433/",
        "https://metadata.google.internal/",
    ],
)
def test_private_addresses_are_refused(url: str) -> None:
    checked = check_urls([url])
    assert checked.valid == ()
    assert checked.failed == (FailedPage(url=url, error="it leads to a private, local or reserved address"),)


def test_plain_http_is_taken_with_one_warning_that_does_not_name_the_address(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "hikidashi"):
        assert check_urls(["http://example.com/?token=1", "https://example.com/"]).valid == (
            "http://example.com/?token=1",
            "https://example.com/",
        )
    assert [record.getMessage() for record in caplog.records] == [
        "1 of 2 addresses use http://, which others can read and change; prefer https://"
    ]


def test_repetitions_merge_before_they_are_counted() -> None:
    urls = [f"https://example.com/{number}" for number in range(20)]
    assert check_urls([*urls, *urls, "HTTPS://EXAMPLE.com:443/0"]).valid == tuple(urls)
    assert check_urls([*urls, *urls]).failed == ()


def test_the_root_of_a_host_is_one_address_with_and_without_its_slash() -> None:
    urls = ["https://example.com", "https://example.com/", "https://example.com?a", "https://example.com/?a"]
    assert check_urls(urls) == CheckedUrls(valid=(urls[0], urls[2]), failed=(), asked=tuple(urls))
    assert len(check_urls(["https://example.com/a", "https://example.com/a/"]).valid) == 2


def test_repetitions_beyond_the_twentieth_merge_too() -> None:
    urls = [f"https://example.com/{number}" for number in range(21)]
    assert [page.url for page in check_urls([*urls, "HTTPS://example.com/20", urls[20]]).failed] == urls[20:]


def test_pages_at_hand_need_no_check_and_count_among_the_twenty() -> None:
    urls = [f"file:///docs/{number}.md" for number in range(21)]
    checked = check_urls([*urls, "file:///other.md"], at_hand=urls)
    assert checked.valid == tuple(urls[:20])
    assert [page.url for page in checked.failed] == [urls[20], "file:///other.md"]


def test_the_twenty_first_address_and_all_after_it_fail_with_the_reason() -> None:
    urls = [f"https://example.com/{number}" for number in range(23)]
    checked = check_urls(["nonsense", *urls])
    assert checked.valid == tuple(urls[:20])
    assert list(checked.failed[1:]) == [
        FailedPage(url=url, error="one call takes at most 20 URLs") for url in urls[20:]
    ]
    assert in_language(checked.failed[1].error, "ja") == "1回の呼び出しで処理できるURLは20件までです"


def test_later_failures_take_their_place_in_the_order_asked() -> None:
    checked = check_urls(["https://example.com/a", "bad", "https://example.com/b", "worse"])
    late = FailedPage(url="https://example.com/b", error="gone")
    assert [page.url for page in checked.all_failed([late])] == ["bad", "https://example.com/b", "worse"]


def test_one_string_is_one_address() -> None:
    assert check_urls("https://example.com").valid == ("https://example.com",)


@given(st.lists(st.one_of(st.text(max_size=40), st.integers(), st.none()), min_size=1, max_size=30))
def test_every_address_is_either_valid_or_failed_whatever_it_is(urls: list[Any]) -> None:
    checked = check_urls(urls)
    assert {*checked.valid, *(page.url for page in checked.failed)} == set(checked.asked)


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


NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
HOUR, DAY = 3600, 86_400


@pytest.mark.parametrize(
    ("seconds", "english", "japanese"),
    [
        (0, "Try again in 0 seconds.", "0秒後に再試行できます。"),
        (2.5, "Try again in 2.5 seconds.", "2.5秒後に再試行できます。"),
        (60.2, "Try again in 61 seconds.", "61秒後に再試行できます。"),
        (600, "Try again in about 10 minutes.", "約10分後に再試行できます。"),
        (5 * HOUR, "Try again in about 5 hours.", "約5時間後に再試行できます。"),
        (9 * DAY, "Try again after 2026-11-25 (UTC).", "2026-11-25（UTC）以降に再試行できます。"),
    ],
)
def test_a_wait_is_told_in_the_unit_a_person_would_use(seconds: float, english: str, japanese: str) -> None:
    assert in_language(wait_message(seconds, now=NOW), "en").strip() == english
    assert wait_message(seconds, now=NOW) == japanese


@pytest.mark.parametrize("seconds", [None, 2_301_440_000, 1e300, math.inf, math.nan, -1])
def test_a_wait_that_makes_no_sense_is_not_repeated(seconds: float | None) -> None:
    assert wait_message(seconds, now=NOW) == ""


@given(st.floats(0, allow_infinity=True))
def test_no_wait_is_told_with_an_exponent(seconds: float) -> None:
    assert "e+" not in wait_message(seconds, now=NOW)
