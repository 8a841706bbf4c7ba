"""A SearXNG of one's own: found hits, refusals and silences, against a server that answers as SearXNG does."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, MissingExtra, TavilyAPIError
from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.web.pages.fetch import Fetcher
from hikidashi.web.provider import SearchProvider
from hikidashi.web.providers.searxng import SearxngProvider
from hikidashi.web.providers.transport import RetryPolicy
from hikidashi.web.results import SearchHit


def result(number: int, *, score: float | None = 1.0, **fields: Any) -> dict[str, Any]:
    """One result with the fields that SearXNG sends."""
    url = f"https://page{number}.example/"
    return {
        "url": url,
        "title": f"Page {number}",
        "content": f"Summary {number}",
        "publishedDate": None,
        "thumbnail": "",
        "engine": "duckduckgo",
        "template": "default.html",
        "parsed_url": ["https", f"page{number}.example", "/", "", "", ""],
        "img_src": "",
        "priority": "",
        "engines": ["duckduckgo", "brave"],
        "positions": [1, 2],
        "score": score,
        "category": "general",
        **fields,
    }


class Searxng(LoopbackServer):
    """SearXNG's `/search`: pages of results, or what the test says instead."""

    def __init__(self, *pages: list[Any], status: int = 200, raw: bytes | None = None, **extra: Any) -> None:
        super().__init__()
        self.pages = pages
        self.status = status
        self.raw = raw
        self.headers: dict[str, str] = extra.pop("headers", {})
        self.extra = extra
        self.texts: dict[str, str] = {}
        self.asked: list[dict[str, str]] = []
        self.seen_headers: list[dict[str, str]] = []
        self.waits = False
        self._lock = threading.Lock()

    def handle(self, exchange: Exchange) -> None:
        if exchange.path in self.texts:
            exchange.answer(200, self.texts[exchange.path].encode(), {"content-type": "text/html; charset=utf-8"})
            return
        query = dict(parse_qsl(exchange.query))
        with self._lock:
            self.asked.append(query)
            self.seen_headers.append(exchange.headers)
        if self.waits:
            exchange.wait(None)
        number = int(query["pageno"])
        body = {
            "query": query["q"],
            "number_of_results": 0,
            "results": self.pages[number - 1] if number <= len(self.pages) else [],
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [],
            **self.extra,
        }
        sent = json.dumps(body).encode() if self.raw is None else self.raw
        exchange.answer(self.status, sent, {"content-type": "application/json", **self.headers})


Start = Callable[..., Searxng]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as running:

        def enter(*pages: list[Any], **options: Any) -> Searxng:
            return running.enter_context(Searxng(*pages, **options))

        yield enter


def provider_of(server: Searxng, **options: Any) -> SearxngProvider:
    given: dict[str, Any] = {"max_retries": 0, **options}
    return SearxngProvider(server.url, language="en", **given)


async def test_hits_come_best_first_with_scores_from_0_to_1(start: Start) -> None:
    server = start(
        [
            result(1, score=0.5),
            result(2, score=9.0, title="祝日", content="日本の祝日", publishedDate="2026-01-01T00:00:00"),
            result(3, score=None),
        ]
    )
    async with provider_of(server) as provider:
        found = await provider.search("日本の祝日", max_results=2)
    assert found.results == (
        SearchHit(
            title="祝日",
            url="https://page2.example/",
            content="日本の祝日",
            score=0.9,
            published_date="2026-01-01T00:00:00",
        ),
        SearchHit(title="Page 1", url="https://page1.example/", content="Summary 1", score=0.3333),
    )
    assert (found.query, found.provider, found.answer, found.credits) == ("日本の祝日", "searxng", None, None)
    assert server.asked == [{"q": "日本の祝日", "format": "json", "pageno": "1"}]


async def test_further_pages_are_asked_until_there_is_enough(start: Start) -> None:
    server = start([result(1), result(2)], [result(2), result(3)], [result(4)])
    async with provider_of(server) as provider:
        assert len((await provider.search("q", max_results=2)).results) == 2
        assert len(server.asked) == 1
        assert len((await provider.search("q", max_results=3)).results) == 3
        assert len(server.asked) == 3
        assert len((await provider.search("q", max_results=20)).results) == 4
        assert len(server.asked) == 6


async def test_pages_that_bring_nothing_new_end_the_asking(start: Start) -> None:
    server = start([result(1)], [result(1)], [result(2)])
    async with provider_of(server) as provider:
        assert len((await provider.search("q")).results) == 1
    assert len(server.asked) == 2


async def test_what_is_no_web_page_is_left_out(start: Start) -> None:
    server = start([{"title": "a file"}, "odd", result(1, url="magnet:?xt=1"), result(2, title="", content=None)])
    async with provider_of(server) as provider:
        (hit,) = (await provider.search("q")).results
    assert (hit.title, hit.content) == ("https://page2.example/", "")


@pytest.mark.parametrize(
    ("answers", "answer"),
    [
        (["42"], "42"),
        ([{"answer": "42", "url": None, "engine": "x"}], "42"),
        ([" ", 7, {"answer": ""}, "last"], "last"),
        ([], None),
        (None, None),
    ],
)
async def test_an_instant_answer_is_given_when_asked_for(start: Start, answers: Any, answer: str | None) -> None:
    server = start([result(1)], answers=answers)
    async with provider_of(server) as provider:
        assert (await provider.search("q", include_answer=True)).answer == answer
        assert (await provider.search("q")).answer is None


async def test_engines_and_language_are_passed_on(start: Start) -> None:
    server = start([result(1)])
    async with provider_of(server, engines=["brave", "wikipedia"], search_language="ja-JP") as provider:
        await provider.search("q", max_results=1)
    assert server.asked[0] == {
        "q": "q",
        "format": "json",
        "pageno": "1",
        "engines": "brave,wikipedia",
        "language": "ja-JP",
    }


async def test_nothing_found_is_an_empty_result(start: Start) -> None:
    async with provider_of(start([])) as provider:
        assert (await provider.search("q", search_depth="advanced")).results == ()


async def test_nothing_found_because_engines_were_silent_is_a_failure(start: Start) -> None:
    server = start([], unresponsive_engines=[["google", "Suspended: CAPTCHA"], ["brave", "timeout"], "odd"])
    async with provider_of(server) as provider:
        with pytest.raises(TavilyAPIError) as raised:
            await provider.search("q")
    assert raised.value.error_type is ErrorType.SERVICE_UNAVAILABLE
    assert "google (Suspended: CAPTCHA), brave (timeout)" in str(raised.value)


@pytest.mark.parametrize(
    ("options", "kind", "status", "words"),
    [
        ({"status": 403}, "AUTH_ERROR", 403, "search: {formats: [html, json]}"),
        ({"status": 401}, "AUTH_ERROR", 401, "HTTP 401"),
        ({"status": 429, "headers": {"retry-after": "5"}}, "RATE_LIMIT_ERROR", 429, "Try again in 5 seconds"),
        ({"status": 429}, "RATE_LIMIT_ERROR", 429, "server.limiter"),
        ({"status": 500}, "SERVER_ERROR", 500, "HTTP 500"),
        ({"status": 503}, "SERVICE_UNAVAILABLE", 503, "HTTP 503"),
        ({"status": 301}, "API_ERROR", 301, "base_url"),
        ({"status": 418}, "API_ERROR", 418, "HTTP 418"),
        ({"raw": b"<html>a search page</html>"}, "API_ERROR", 200, "not JSON"),
        ({"raw": b"[" * 100_000}, "API_ERROR", 200, "not JSON"),
        ({"raw": b"[]"}, "API_ERROR", 200, "results"),
        ({"raw": b'{"results": null}'}, "API_ERROR", 200, "results"),
    ],
)
async def test_a_refusal_says_what_it_is_and_what_to_do(
    start: Start, options: dict[str, Any], kind: str, status: int, words: str
) -> None:
    async with provider_of(start(**options)) as provider:
        with pytest.raises(TavilyAPIError) as raised:
            await provider.search("q")
    assert (raised.value.error_type.value, raised.value.status_code) == (kind, status)
    assert words in str(raised.value)


async def test_refusals_speak_japanese_unless_told_otherwise(start: Start) -> None:
    async with SearxngProvider(start(status=403).url) as provider:
        with pytest.raises(TavilyAPIError, match=r"search: \{formats: \[html, json\]\}）、再起動してください。"):
            await provider.search("q")


async def test_a_failure_that_passes_is_tried_again(start: Start) -> None:
    server = start([result(1)], status=503)
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)
        server.status = 200

    async with provider_of(server, retry=RetryPolicy(sleep=wait)) as provider:
        assert len((await provider.search("q", max_results=1)).results) == 1
    assert len(waited) == 1


async def test_a_server_that_is_silent_is_a_timeout(start: Start) -> None:
    server = start()
    server.waits = True
    async with provider_of(server, timeout=0.1) as provider:
        with pytest.raises(TavilyAPIError) as raised:
            await provider.search("q")
    assert raised.value.error_type is ErrorType.TIMEOUT_ERROR


async def test_a_server_that_is_not_there_is_a_network_error(start: Start) -> None:
    server = start()
    provider = provider_of(server)
    server.close()
    with pytest.raises(TavilyAPIError) as raised:
        await provider.search("q")
    await provider.aclose()
    await provider.aclose()
    assert raised.value.error_type is ErrorType.NETWORK_ERROR


@pytest.mark.parametrize(
    "arguments",
    [{"query": " "}, {"query": "q" * 1001}, {"query": "q", "max_results": 0}, {"query": "q", "search_depth": "deep"}],
)
async def test_bad_arguments_are_refused_before_anything_is_sent(start: Start, arguments: dict[str, Any]) -> None:
    server = start([result(1)])
    with pytest.raises(TavilyAPIError) as raised:
        await provider_of(server).search(**arguments)
    assert raised.value.error_type is ErrorType.VALIDATION_ERROR
    assert server.asked == []


@pytest.mark.parametrize(
    "address", ["", "searx.example", "ftp://searx.example", "http://", "http://x:port/", "http://[x"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(TavilyAPIError, match="base_url"):
        SearxngProvider(address)


async def test_a_login_in_the_address_is_sent_and_never_shown(start: Start) -> None:
    server = start([result(1)])
    provider = SearxngProvider(server.url.replace("://", "://me:hunter2@") + "/search/")
    await provider.search("q", max_results=1)
    await provider.aclose()
    assert server.seen_headers[0]["authorization"].startswith("Basic ")
    assert repr(provider) == f"SearxngProvider({server.url!r})"
    with pytest.raises(TavilyAPIError) as raised:
        SearxngProvider("me:hunter2@searx.example")
    assert "hunter2" not in str(raised.value)


def test_one_provider_serves_several_event_loops(start: Start) -> None:
    provider: SearchProvider = provider_of(start([result(1)]))
    assert provider.name == "searxng"
    for _ in range(2):
        assert len(asyncio.run(provider.search("q", max_results=1)).results) == 1


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "hikidashi.web.providers.searxng")
    with pytest.raises(MissingExtra, match=r"hikidashi\[web\]"):
        importlib.import_module("hikidashi.web.providers.searxng")


PAGE = """<html><head><title>Tides</title></head><body><article><h1>Tides</h1>
<p>This article explains at length, and with many words, why the sea rises and falls twice a day everywhere.</p>
<p>The moon pulls at the ocean, and the ocean follows the moon around the turning earth without ever resting.</p>
</article></body></html>"""


@pytest.fixture
def with_page(start: Start) -> tuple[Searxng, SearxngProvider, str]:
    """A server that finds one page of its own and one that is nowhere."""
    server = start()
    server.texts["/tides"] = PAGE
    url = f"{server.url}/tides"
    server.pages = ([result(1, url=url, title="Tides"), result(2, url="http://127.0.0.1:1/")],)
    host = server.url.removeprefix("http://")
    provider = provider_of(server, fetcher=Fetcher(allowed_hosts={host}))
    return server, provider, url


async def test_an_advanced_search_shows_what_the_pages_say(with_page: tuple[Searxng, SearxngProvider, str]) -> None:
    _, provider, _ = with_page
    found = await provider.search("moon", search_depth="advanced", max_results=2)
    await provider.aclose()
    assert "The moon pulls at the ocean" in found.results[0].content
    assert found.results[1].content == "Summary 2"


async def test_an_extraction_reads_pages_and_names_what_failed(with_page: tuple[Searxng, SearxngProvider, str]) -> None:
    _, provider, url = with_page
    got = await provider.extract([url, "http://127.0.0.1:1/"])
    await provider.aclose()
    assert [page.url for page in got.results] == [url]
    assert "The moon pulls" in got.results[0].raw_content
    assert [page.url for page in got.failed_results] == ["http://127.0.0.1:1/"]
    assert got.provider == "searxng"


async def test_a_context_is_made_of_what_the_pages_say(with_page: tuple[Searxng, SearxngProvider, str]) -> None:
    _, provider, url = with_page
    context = await provider.context("moon", max_tokens=200)
    await provider.aclose()
    assert "The moon pulls at the ocean" in context.text
    assert context.sources[0] == url
    assert context.tokens <= 200
    with pytest.raises(TavilyAPIError):
        await provider.context("moon", max_tokens=0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["url", "title", "content", "score", "answer"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.lists(json_values), json_values, json_values)
def test_whatever_a_server_sends_gives_hits_within_bounds(results: list[Any], answers: Any, silent: Any) -> None:
    from hikidashi.web.providers import searxng

    found = {"results": results, "answers": answers, "unresponsive_engines": silent}
    assert all(0 <= hit.score <= 1 and hit.url and hit.title for hit in searxng._hits(found))
    assert searxng._answer(found) != ""
    assert isinstance(searxng._silent_engines(found), str)
