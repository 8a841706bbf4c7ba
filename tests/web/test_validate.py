from __future__ import annotations

import logging
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.texts import in_language
from hikidashi.web.provider import errors_in
from hikidashi.web.request import (
    CheckedUrls,
    SearchDepth,
    SearchRequest,
    check_choice,
    check_max_tokens,
    check_texts,
    check_urls,
)
from hikidashi.web.results import FailedPage


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
