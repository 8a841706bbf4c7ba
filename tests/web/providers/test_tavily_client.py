"""`TavilyAPIClient` asks the real client's questions of a Tavily on loopback."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import ErrorType, MissingExtra, TavilyAPIError
from hikidashi.testing import TavilyPage, TavilyServer, tavily_fault
from hikidashi.web.provider import SearchProvider
from hikidashi.web.providers.cache import ResultCache
from hikidashi.web.providers.tavily import TavilyAPIClient
from hikidashi.web.results import ExtractedPage, ExtractResults, FailedPage, SearchHit, SearchResults

TEA = TavilyPage(
    title="お茶の歴史",
    url="https://example.com/tea",
    content="お茶は中国から日本に伝わった。",
    raw_content="お茶の長い歴史。",
    score=0.875,
    published_date="2026-01-02",
)
COFFEE = TavilyPage(title="Coffee", url="https://example.org/coffee", content="Coffee and tea.", score=0.5)
HIT = SearchHit(title=TEA.title, url=TEA.url, content=TEA.content, score=0.875, published_date="2026-01-02")


def client(server: TavilyServer, **options: Any) -> TavilyAPIClient:
    return TavilyAPIClient("tvly-test", base_url=server.url, **options)


async def test_a_search_gives_typed_hits_and_counts_its_credit() -> None:
    with TavilyServer([TEA, COFFEE]) as server:
        async with client(server) as tavily:
            assert await tavily.search("お茶", max_results=1) == SearchResults(
                query="お茶", results=(HIT,), provider="tavily", credits=1.0
            )
            assert tavily.credits_used == server.credits_spent == 1
    assert server.requests[0].api_key == "tvly-test"


async def test_every_keyword_reaches_the_api() -> None:
    with TavilyServer([TEA, COFFEE], answer="Tea is a drink.") as server:
        async with client(server) as tavily:
            found = await tavily.search(
                "tea",
                search_depth="advanced",
                max_results=3,
                include_answer=True,
                topic="news",
                time_range="week",
                include_domains=["example.org"],
                exclude_domains="spam.example",
            )
    assert ([hit.title for hit in found.results], found.answer, found.credits) == (["Coffee"], "Tea is a drink.", 2)
    assert server.requests[0].body == {
        "query": "tea",
        "search_depth": "advanced",
        "max_results": 3,
        "include_answer": True,
        "topic": "news",
        "time_range": "week",
        "include_domains": ["example.org"],
        "exclude_domains": ["spam.example"],
        "include_usage": True,
    }


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {}),
        ("a" * 1001, {}),
        ("tea", {"search_depth": "deep"}),
        ("tea", {"max_results": 0}),
        ("tea", {"max_results": True}),
        ("tea", {"topic": "sport"}),
        ("tea", {"time_range": "decade"}),
        ("tea", {"include_domains": [1]}),
        ("tea", {"exclude_domains": [""]}),
    ],
)
async def test_what_is_refused_is_never_sent(query: str, options: dict[str, Any]) -> None:
    with TavilyServer([TEA]) as server:
        async with client(server) as tavily:
            with pytest.raises(TavilyAPIError) as error:
                await tavily.search(query, **options)
    assert error.value.error_type is ErrorType.VALIDATION_ERROR
    assert server.requests == []


async def test_a_long_query_is_sent_in_400_characters_and_shown_whole() -> None:
    query = " ".join(["tea"] * 250)
    with TavilyServer([COFFEE]) as server:
        async with client(server) as tavily:
            found = await tavily.search(query)
    assert found.query == query
    assert [hit.title for hit in found.results] == ["Coffee"]
    assert server.searches == [" ".join(["tea"] * 100)]


async def test_an_extraction_gives_pages_and_failures_in_the_order_asked(caplog: pytest.LogCaptureFixture) -> None:
    urls = [COFFEE.url, "nonsense", "https://example.com/gone", "http://127.0.0.1/", TEA.url, COFFEE.url]
    with TavilyServer([TEA, COFFEE]) as server, caplog.at_level(logging.WARNING, "hikidashi"):
        async with client(server, language="en") as tavily:
            read = await tavily.extract(urls)
            assert tavily.credits_used == server.credits_spent
    assert read == ExtractResults(
        results=(
            ExtractedPage(url=COFFEE.url, raw_content=COFFEE.content, title="Coffee"),
            ExtractedPage(url=TEA.url, raw_content="お茶の長い歴史。", title="お茶の歴史"),
        ),
        failed_results=(
            FailedPage(url="nonsense", error="it does not begin with http:// or https://"),
            FailedPage(url="https://example.com/gone", error="Failed to fetch url"),
            FailedPage(url="http://127.0.0.1/", error="it leads to a private, local or reserved address"),
        ),
        provider="tavily",
        credits=1.0,
    )
    assert server.requests[0].urls == [COFFEE.url, "https://example.com/gone", TEA.url]
    assert caplog.records == []


async def test_no_address_is_an_error_and_only_bad_ones_ask_nobody() -> None:
    with TavilyServer() as server:
        async with client(server) as tavily:
            with pytest.raises(TavilyAPIError, match="URLが指定されていません"):
                await tavily.extract([])
            read = await tavily.extract(["ftp://example.com", "http://10.0.0.1/"])
    assert (read.results, [page.url for page in read.failed_results]) == (
        (),
        ["ftp://example.com", "http://10.0.0.1/"],
    )
    assert server.requests == []


async def test_one_address_may_come_as_a_string_and_advanced_costs_double() -> None:
    with TavilyServer([TEA]) as server:
        async with client(server) as tavily:
            read = await tavily.extract(TEA.url, extract_depth="advanced")
    assert (read.results[0].url, read.credits) == (TEA.url, 2)


async def test_a_context_packs_what_a_search_found() -> None:
    with TavilyServer([TEA, COFFEE]) as server:
        async with client(server) as tavily:
            context = await tavily.context("お茶", max_tokens=100)
            assert tavily.credits_used == 1
            with pytest.raises(TavilyAPIError, match="max_tokens"):
                await tavily.context("お茶", max_tokens=0)
    assert TEA.content in context.text
    assert context.sources[0] == TEA.url
    assert (context.query, context.provider, context.credits) == ("お茶", "tavily", 1)
    assert context.tokens <= 100
    assert len(server.requests) == 1


async def test_it_is_a_search_provider() -> None:
    tavily = TavilyAPIClient("tvly-test")
    assert isinstance(tavily, SearchProvider)
    assert tavily.name == "tavily"
    await tavily.aclose()
    await tavily.aclose()


# Keys.


async def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with TavilyServer([TEA], keyless=True) as server:
        for key in (None, "", "  "):
            monkeypatch.delenv("TAVILY_API_KEY", raising=False)
            async with TavilyAPIClient(key, base_url=server.url, language="en") as tavily:
                with pytest.raises(TavilyAPIError) as error:
                    await tavily.search("tea")
            assert error.value.error_type is ErrorType.AUTH_ERROR
            assert error.value.message == "There is no Tavily API key. Set TAVILY_API_KEY, or pass `api_key`."
    assert server.requests == []


async def test_the_key_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with TavilyServer([TEA]) as server:
        async with TavilyAPIClient(base_url=server.url) as tavily:
            monkeypatch.setenv("TAVILY_API_KEY", " tvly-test\n")
            assert (await tavily.search("お茶")).results == (HIT,)


async def test_the_keyless_mode_is_used_where_it_is_asked_for_and_sends_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
    with TavilyServer([TEA], keyless=True) as server:
        async with TavilyAPIClient(base_url=server.url, keyless=True) as tavily:
            assert (await tavily.search("お茶")).results == (HIT,)
    assert server.requests[0].api_key is None
    assert server.requests[0].headers["x-tavily-access-mode"] == "keyless"
    with pytest.raises(TavilyAPIError, match="keyless"):
        TavilyAPIClient("tvly-test", keyless=True)


@pytest.mark.parametrize("key", ["tvly-\ntest", "tvly-鍵", "tvly test"])
async def test_a_key_that_http_cannot_carry_is_refused_without_being_shown(key: str) -> None:
    async with TavilyAPIClient(key, base_url="http://127.0.0.1:9", language="en") as tavily:
        with pytest.raises(TavilyAPIError) as error:
            await tavily.search("tea")
    assert error.value.message == "The Tavily API key has characters that no key has. Check what was copied."
    assert error.value.error_type is ErrorType.AUTH_ERROR


def test_its_repr_shows_no_key() -> None:
    assert repr(TavilyAPIClient("tvly-test")) == ("TavilyAPIClient(base_url='https://api.tavily.com', credits_used=0)")


@pytest.mark.parametrize(
    "base_url", ["", "api.tavily.com", "ftp://example.com", "https://", "http://[bad", "https://me:tvly-test@host"]
)
def test_a_base_url_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(TavilyAPIError) as error:
        TavilyAPIClient("tvly-test", base_url=base_url)
    assert error.value.error_type is ErrorType.VALIDATION_ERROR
    assert "base_url" in error.value.message
    assert "tvly-test" not in error.value.message


@pytest.mark.parametrize("settings", [{"timeout": 0}, {"timeout": float("nan")}, {"max_in_flight": 0}])
def test_settings_that_could_never_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(TavilyAPIError, match=next(iter(settings))) as error:
        TavilyAPIClient("tvly-test", **settings)
    assert error.value.error_type is ErrorType.VALIDATION_ERROR


def test_a_key_sent_in_the_clear_is_worth_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    TavilyAPIClient("tvly-test", base_url="http://search.example.com/")
    TavilyAPIClient("tvly-test", base_url="http://localhost:1/")
    assert [record.getMessage() for record in caplog.records] == [
        "The key goes to search.example.com unencrypted; prefer https://"
    ]


# Cache and credits.


async def test_the_second_answer_comes_from_the_cache_and_says_so(tmp_path: Path) -> None:
    with TavilyServer([TEA], answer="A drink.") as server:
        async with client(server, cache=ResultCache(tmp_path / "c.sqlite")) as tavily:
            first = await tavily.search("お茶", include_answer=True)
            second = await tavily.search("お茶", include_answer=True)
            assert (await tavily.search("お茶", include_answer=True, max_results=6)).cached is False
            assert (await tavily.context("お茶")).cached is False
            assert (await tavily.context("お茶")).cached is True
    assert (first.cached, first.credits) == (False, 1)
    assert (second.cached, second.credits) == (True, 0)
    assert (second.results, second.answer) == (first.results, first.answer)
    assert len(server.requests) == 3


async def test_of_cached_and_new_addresses_only_the_new_are_asked_for(tmp_path: Path) -> None:
    with TavilyServer([TEA, COFFEE]) as server:
        async with client(server, cache=ResultCache(tmp_path / "c.sqlite")) as tavily:
            await tavily.extract([TEA.url, "https://example.com/gone"])
            mixed = await tavily.extract([COFFEE.url, TEA.url])
            again = await tavily.extract([TEA.url, COFFEE.url, "bad"])
    assert [request.urls for request in server.requests] == [
        [TEA.url, "https://example.com/gone"],
        [COFFEE.url],
    ]
    assert ([page.url for page in mixed.results], mixed.cached) == ([COFFEE.url, TEA.url], False)
    assert ([page.title for page in again.results], again.cached, again.credits) == (["お茶の歴史", "Coffee"], True, 0)
    assert [page.url for page in again.failed_results] == ["bad"]


async def test_a_broken_cache_does_not_stop_a_search(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "c.sqlite").write_text("not a database at all, but long enough to look at")
    with TavilyServer([TEA]) as server:
        async with client(server, cache=ResultCache(tmp_path / "c.sqlite")) as tavily:
            for _ in range(2):
                assert (await tavily.search("お茶")).results == (HIT,)
    assert len(caplog.records) == 1


async def test_beyond_the_credit_limit_nothing_is_sent() -> None:
    with TavilyServer([TEA]) as server:
        async with client(server, credit_limit=3, language="en") as tavily:
            await tavily.search("one", search_depth="advanced")
            with pytest.raises(TavilyAPIError) as error:
                await tavily.search("two", search_depth="advanced")
            await tavily.search("three")
            with pytest.raises(TavilyAPIError, match="Raise `credit_limit`"):
                await tavily.extract([TEA.url])
            assert tavily.credits_used == 3
    assert error.value.error_type is ErrorType.API_ERROR
    assert server.searches == ["one", "three"]


async def test_of_many_searches_at_once_only_those_within_the_limit_are_sent() -> None:
    with TavilyServer([TEA]) as server:
        async with client(server, credit_limit=3) as tavily:
            done = await asyncio.gather(*(tavily.search(f"q{n}") for n in range(10)), return_exceptions=True)
    assert sum(isinstance(one, SearchResults) for one in done) == len(server.searches) == 3


async def test_where_the_api_says_no_cost_the_price_list_counts() -> None:
    answer = tavily_fault.raw(200, json.dumps({"results": [{"url": TEA.url, "raw_content": "text"}]}))
    with TavilyServer(faults=[answer] * 2) as server:
        async with client(server) as tavily:
            assert (await tavily.search("tea", search_depth="advanced")).credits == 2
            assert (await tavily.extract([TEA.url])).credits == 1
            assert tavily.credits_used == 3


# What has to be installed.


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("providers.tavily_answers", "tavily"),
        ("providers.tavily", "tavily"),
        ("providers.transport", "httpx"),
    ],
)
def test_without_its_package_a_module_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str
) -> None:
    name = f"hikidashi.web.{module}"
    importlib.import_module(name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtra, match="pip install 'hikidashi"):
        importlib.import_module(name)
