"""What the web tools log, and what they never do."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.web.tools import log_verbose_tool_done, log_verbose_tool_failed, log_verbose_tool_start, shown_urls


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def test_the_start_of_a_tool_names_its_query(caplog: pytest.LogCaptureFixture) -> None:
    log_verbose_tool_start("tavily_search", {"query": "春の花"})

    assert caplog.record_tuples == [("hikidashi.web", logging.INFO, "tavily_search start: {'query': '春の花'}")]


def test_a_query_cannot_pose_as_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    log_verbose_tool_start("tavily_search", {"query": "x\ntavily_search success: 1.0 ms"})

    assert "\n" not in caplog.messages[0]


def test_a_query_that_is_far_too_long_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    log_verbose_tool_start("tavily_search", {"query": "x" * 100_000})

    assert len(caplog.messages[0]) < 1_100


@pytest.mark.parametrize("status", ["success", "failed"])
def test_the_end_of_a_tool_has_its_status_and_its_milliseconds(caplog: pytest.LogCaptureFixture, status: str) -> None:
    log_verbose_tool_done("tavily_search", "success" if status == "success" else "failed", 12.345)

    assert caplog.messages == [f"tavily_search {status}: 12.3 ms"]


def test_an_answer_from_the_cache_is_told(caplog: pytest.LogCaptureFixture) -> None:
    log_verbose_tool_done("tavily_search", "success", 0.1, provider="tavily", cached=True)

    assert caplog.messages == ["tavily_search success: 0.1 ms provider=tavily cached"]


def test_an_unforeseen_error_is_told_by_type_and_place_but_not_by_its_text(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise LookupError("Bearer tvly-test")
    except LookupError as error:
        log_verbose_tool_failed("tavily_search", error)
    log_verbose_tool_failed("tavily_search", KeyError("tvly-test"))

    assert "unexpected LookupError at " in caplog.messages[0]
    assert caplog.messages[1] == "tavily_search failed with an unexpected KeyError"
    assert "tvly-test" not in caplog.text


def test_addresses_are_shown_without_what_may_be_secret() -> None:
    urls = [
        "https://user:pass@example.com:8443/a/b?api_key=sk-test#token",
        "https://example.com",
        "example.com?key=sk-test",
        "http://[::1",
        "",
        7,
    ]

    assert shown_urls(urls) == [
        "https://example.com/a/b",
        "https://example.com",
        "<not a URL>",
        "<not a URL>",
        "<not a URL>",
        "<int>",
    ]
    assert shown_urls("https://example.com/?key=sk-test") == "<str>"
    assert shown_urls(None) == "<NoneType>"
    assert shown_urls([f"https://example.com/{n}" for n in range(30)]) == [
        f"https://example.com/{n}" for n in range(20)
    ]


@given(url=st.text())
def test_no_address_is_too_odd_to_be_shown(url: str) -> None:
    assert shown_urls([url])
