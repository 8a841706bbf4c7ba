"""The neutral tools: what becomes of an error, and how another contract presents the same calls."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import HikidashiError, MissingExtra, WebIndexError
from hikidashi.web import Presentation, SearchProvider, SearchRequest, SearchResults, WebTools
from hikidashi.web.tools import (
    META,
    WebResults,
    log_verbose_tool_done,
    log_verbose_tool_failed,
    log_verbose_tool_start,
    shown_urls,
)


class Failing(SearchProvider):
    name = "failing"

    def __init__(self, error: BaseException | None) -> None:
        self._error = error

    async def _search(self, request: SearchRequest) -> SearchResults:
        if self._error is not None:
            raise self._error
        return SearchResults(query=request.query, results=(), provider=self.name)


def tools(error: BaseException | None, **options: Any) -> WebTools:
    return WebTools(provider=Failing(error), language="en", **options)


@pytest.mark.parametrize("error", [MissingExtra("httpx", "web"), WebIndexError("web.db", "is not a database")])
async def test_an_error_of_ours_is_told_with_its_remedy(error: HikidashiError) -> None:
    result = await tools(error).search("bread")
    assert result.is_error
    assert str(error) in result.text
    assert result.meta == {}


async def test_the_text_of_an_unexpected_error_is_shown_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")
    result = await tools(KeyError("tvly-test")).search("bread")
    assert "An unexpected KeyError occurred." in result.text
    assert "tvly-test" not in result.text + caplog.text
    assert "tavily_search failed with an unexpected KeyError" in caplog.text


class Short(Presentation):
    search_tool = "find"

    def empty_text(self, results: WebResults, language: Any) -> str | None:
        return "Nothing."

    def error_text(self, tool: str, error: Any, language: Any) -> str:
        return f"{tool} failed."


async def test_another_presentation_has_its_own_names_and_texts_and_the_reason_for_programs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")
    found = await tools(None, presentation=Short(), untrusted="fence").search("bread")
    assert (found.text, found.is_error) == ("Nothing.", False)
    failed = await tools(MissingExtra("httpx", "web"), presentation=Short()).search("bread")
    assert (failed.text, failed.is_error) == ("find failed.", True)
    assert failed.meta == {META: {"reason": str(MissingExtra("httpx", "web"))}}
    said = [record.getMessage() for record in caplog.records if record.name == "hikidashi.web"]
    assert [line.split(":")[0] for line in said] == [
        "find start",
        "find success",
        "find start",
        "find failed",
    ]


async def test_a_cancelled_call_is_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        await tools(asyncio.CancelledError()).search("bread")


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
