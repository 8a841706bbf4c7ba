"""The neutral tools: what becomes of an error, and how another contract presents the same calls."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from hikidashi.errors import HikidashiError, MissingExtra, WebIndexError
from hikidashi.web import Presentation, SearchProvider, SearchRequest, SearchResults, WebTools
from hikidashi.web.tools import META, WebResults


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
    assert [line.split(":")[0] for line in caplog.messages] == [
        "find start",
        "find success",
        "find start",
        "find failed",
    ]


async def test_a_cancelled_call_is_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        await tools(asyncio.CancelledError()).search("bread")
