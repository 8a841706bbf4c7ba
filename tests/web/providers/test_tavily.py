"""The provider Tavily: requests, event loops, costs, and long queries."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import logging
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, MissingExtra, TavilyAPIError
from hikidashi.testing import TavilyPage, TavilyServer, tavily_fault
from hikidashi.testing.server import Exchange
from hikidashi.texts import in_language
from hikidashi.web.provider import SearchProvider
from hikidashi.web.providers.cache import ResultCache
from hikidashi.web.providers.tavily import CreditMeter, TavilyAPIClient, extract_cost, search_cost, shorten_query
from hikidashi.web.providers.transport import RetryPolicy
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


PAGE = TavilyPage(title="Tea", url="https://example.com/tea", content="Tea.", score=0.5)


class Counted(TavilyServer):
    """Counts connections and the most requests that were under way at once; holds them all while `gate` is closed."""

    def __init__(self, **options: Any) -> None:
        super().__init__([PAGE], **options)
        self.gate = threading.Event()
        self.gate.set()
        self.connections: set[int] = set()
        self.now = self.most = 0
        self.arrived = threading.Semaphore(0)
        self._count = threading.Lock()

    def handle(self, exchange: Exchange) -> None:
        with self._count:
            self.connections.add(threading.get_ident())
            self.now += 1
            self.most = max(self.most, self.now)
        self.arrived.release()
        try:
            self.gate.wait(30)
            super().handle(exchange)
        finally:
            with self._count:
                self.now -= 1


def client_of(server: TavilyServer, **options: Any) -> TavilyAPIClient:
    return TavilyAPIClient("tvly-test", base_url=server.url, **options)


async def test_connections_are_used_again_and_never_more_than_allowed() -> None:
    with Counted() as server:
        async with client_of(server, max_in_flight=4) as tavily:
            await asyncio.gather(*(tavily.search(f"tea {n}") for n in range(40)))
            await asyncio.gather(*(tavily.search(f"cup {n}") for n in range(40)))
    assert len(server.requests) == 80
    assert server.most <= 4
    assert len(server.connections) <= 4


async def test_one_after_another_shares_one_connection() -> None:
    with Counted() as server:
        async with client_of(server) as tavily:
            for number in range(10):
                await tavily.search(f"tea {number}")
    assert len(server.connections) == 1


async def test_identical_requests_at_once_are_sent_and_paid_once() -> None:
    with Counted() as server:
        async with client_of(server) as tavily:
            found = await asyncio.gather(*(tavily.search("tea") for _ in range(20)))
            read = await asyncio.gather(*(tavily.extract([PAGE.url]) for _ in range(20)))
            assert tavily.credits_used == 2
    assert [request.path for request in server.requests] == ["/search", "/extract"]
    assert {one.results for one in found} == {found[0].results}
    assert [one.credits for one in found] == [1.0] + [0.0] * 19
    assert {one.results for one in read} == {read[0].results}


async def test_queries_that_differ_only_beyond_what_is_sent_share_too() -> None:
    start = "tea " * 100
    with Counted() as server:
        async with client_of(server) as tavily:
            found = await asyncio.gather(*(tavily.search(start + end) for end in ("green", "black")))
    assert [one.query for one in found] == [start + "green", start + "black"]
    assert len(server.requests) == 1


async def arrived(server: Counted, count: int = 1) -> None:
    for _ in range(count):
        assert await asyncio.to_thread(server.arrived.acquire, timeout=30)


async def test_a_cancelled_caller_leaves_the_others_undisturbed() -> None:
    with Counted() as server:
        async with client_of(server) as tavily:
            server.gate.clear()
            first, second, third = (asyncio.create_task(tavily.search("tea")) for _ in range(3))
            await arrived(server)
            second.cancel()
            await asyncio.wait([second])
            server.gate.set()
            assert (await first).results == (await third).results
            assert len(server.requests) == 1

            server.gate.clear()
            leader, follower = (asyncio.create_task(tavily.search("cup")) for _ in range(2))
            await arrived(server)
            leader.cancel()
            await arrived(server)
            server.gate.set()
            assert (await follower).query == "cup"
    assert second.cancelled()
    assert leader.cancelled()


async def test_a_failure_reaches_all_who_wait_for_it() -> None:
    with Counted(faults=[tavily_fault.unauthorized()]) as server:
        async with client_of(server) as tavily:
            failed = await asyncio.gather(*(tavily.search("tea") for _ in range(5)), return_exceptions=True)
            assert (await tavily.search("tea")).results
    assert [type(error) for error in failed] == [TavilyAPIError] * 5
    assert len(server.requests) == 2


async def test_a_cancelled_search_gives_its_place_back() -> None:
    with Counted() as server:
        async with client_of(server, max_in_flight=1) as tavily:
            server.gate.clear()
            task = asyncio.create_task(tavily.search("slow"))
            await arrived(server)
            task.cancel()
            await asyncio.wait([task])
            server.gate.set()
            assert (await tavily.search("tea")).results


async def test_waiting_for_a_retry_keeps_nobody_from_its_place() -> None:
    waiting, go_on = asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        waiting.set()
        await go_on.wait()

    with Counted(faults=[tavily_fault.server_error()]) as server:
        async with client_of(server, max_in_flight=1, retry=RetryPolicy(sleep=sleep)) as tavily:
            failing = asyncio.create_task(tavily.search("tea"))
            await waiting.wait()
            assert (await tavily.search("cup")).results
            go_on.set()
            assert (await failing).results


async def test_closing_fails_what_is_under_way_and_the_client_can_be_used_again() -> None:
    with Counted() as server:
        tavily = client_of(server, max_in_flight=1)
        server.gate.clear()
        tasks = [asyncio.create_task(tavily.search(f"tea {n}")) for n in range(3)]
        await arrived(server)
        await tavily.aclose()
        errors = await asyncio.gather(*tasks, return_exceptions=True)
        assert {(type(error), getattr(error, "error_type", None)) for error in errors} == {
            (TavilyAPIError, ErrorType.API_ERROR)
        }
        assert "閉じられました" in str(errors[0])
        server.gate.set()
        assert (await tavily.search("tea")).results
        await tavily.aclose()


def test_eight_threads_with_loops_of_their_own_share_one_client(tmp_path: Path) -> None:
    with Counted() as server:
        tavily = client_of(server, cache=ResultCache(tmp_path / "c.sqlite"))
        together = threading.Barrier(8)

        async def use(number: int) -> int:
            together.wait(30)
            found = await asyncio.gather(*(tavily.search(f"tea {number} {n}") for n in range(5)))
            return sum(len(one.results) for one in found)

        def run(number: int) -> int:
            return asyncio.run(use(number))

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(run, range(8))) == [5] * 8
            assert list(pool.map(run, range(8, 16))) == [5] * 8
        assert tavily.credits_used == 80
        asyncio.run(tavily.aclose())
    assert server.failures == []


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_loops_that_end_without_closing_the_client_leave_no_connection_behind() -> None:
    with Counted() as server:
        tavily = client_of(server)
        asyncio.run(tavily.search("warm up"))
        gc.collect()
        before = open_files()
        for number in range(5):
            assert asyncio.run(tavily.search(f"tea {number}")).results
        gc.collect()
        # The server's side of a connection ends in a thread of its own: leave it a little slack.
        assert open_files() <= before + 2


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_was_closed_the_hard_way_harms_no_other() -> None:
    with Counted() as server:
        tavily = client_of(server)
        for number in range(3):
            loop = asyncio.new_event_loop()
            assert loop.run_until_complete(tavily.search(f"tea {number}")).results
            loop.close()
        assert asyncio.run(tavily.search("at last")).results
        asyncio.run(tavily.aclose())
        gc.collect()


async def test_an_answer_that_trickles_in_ends_with_the_timeout() -> None:
    class Trickle(Counted):
        def handle(self, exchange: Exchange) -> None:
            exchange.begin_stream(200, {"content-type": "application/json"})
            while True:
                exchange.send(b" ")
                exchange.wait(0.01)

    with Trickle() as server:
        async with client_of(server, timeout=0.2, max_retries=0) as tavily:
            with pytest.raises(TavilyAPIError) as error:
                await tavily.search("tea")
    assert error.value.error_type is ErrorType.TIMEOUT_ERROR


async def test_proxies_of_the_environment_stay_out_of_the_way_of_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "TAVILY_HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Counted() as server:
        async with client_of(server) as tavily:
            assert (await tavily.search("tea")).results


@pytest.mark.parametrize("variable", ["http_proxy", "all_proxy"])
async def test_proxies_of_the_environment_are_used_for_other_hosts(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Counted() as proxy:
        monkeypatch.setenv(variable, proxy.url)
        async with TavilyAPIClient("tvly-test", base_url="http://tavily.invalid") as tavily:
            assert (await tavily.search("tea")).results
    assert proxy.requests[0].headers["host"] == "tavily.invalid"


async def test_tavilys_own_proxy_variable_is_used_for_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    with Counted() as proxy:
        monkeypatch.setenv("TAVILY_HTTP_PROXY", proxy.url)
        async with TavilyAPIClient("tvly-test", base_url="http://tavily.invalid") as tavily:
            assert (await tavily.search("tea")).results
    assert proxy.requests[0].headers["host"] == "tavily.invalid"


def test_prices_are_those_of_the_api() -> None:
    assert [search_cost("basic"), search_cost("advanced")] == [1, 2]
    assert [extract_cost(pages) for pages in (0, 1, 5, 6, 20)] == [0, 1, 1, 2, 4]
    assert extract_cost(6, "advanced") == 4


def test_what_is_charged_adds_up() -> None:
    meter = CreditMeter()
    for cost in (1.0, 0.5, 0.0):
        with meter.charge(1.0) as charge:
            charge.cost = cost
    assert meter.used == 1.5


def test_a_request_that_fails_costs_nothing_and_gives_its_room_back() -> None:
    meter = CreditMeter(limit=1)
    with pytest.raises(ValueError), meter.charge(1):
        raise ValueError
    assert meter.used == 0
    with meter.charge(1):
        pass


def test_requests_under_way_count_against_the_limit() -> None:
    meter = CreditMeter(limit=3)
    with meter.charge(2), pytest.raises(TavilyAPIError) as error, meter.charge(2):
        pass
    assert error.value.error_type is ErrorType.API_ERROR
    assert not error.value.is_retryable
    assert in_language(error.value.message, "en") == (
        "Not sent: it would cost 2 credits, and 2 of the limit of 3 are used. Raise `credit_limit`."
    )


WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=120)


@given(st.text(max_size=200) | st.text("あ亜ア、。a \u0301🇯", max_size=200), st.integers(1, 100))
def test_the_shortened_query_is_a_beginning_of_the_query_that_fits(query: str, limit: int) -> None:
    short = shorten_query(query, limit)
    assert len(short) <= limit
    assert query.strip().startswith(short)
    assert bool(short) == bool(query.strip())


@given(st.text(max_size=400))
def test_a_query_that_fits_only_loses_the_space_around_it(query: str) -> None:
    assert shorten_query(query, 400) == query.strip()


@given(WORDS)
def test_spaced_words_stay_whole(words: list[str]) -> None:
    query = " ".join(words)
    assert shorten_query(query, 40).split(" ") == words[: len(shorten_query(query, 40).split(" "))]


@pytest.mark.parametrize(
    ("query", "limit", "short"),
    [
        ("東京の天気を教えてください", 9, "東京の天気を"),
        ("機械学習の仕組みについて", 11, "機械学習の"),
        ("今日は、とてもとても良い", 7, "今日は、"),
        ("検索エンジンの比較、価格と性能", 11, "検索エンジンの比較、"),
        ("最新のPythonとasyncioの使い方", 14, "最新のPythonと"),
        ("最新のPython入門", 10, "最新のPython"),
    ],
)
def test_japanese_is_cut_where_a_word_ends(query: str, limit: int, short: str) -> None:
    assert shorten_query(query, limit) == short


def test_punctuation_just_beyond_the_limit_does_not_come_along() -> None:
    assert shorten_query("あ" * 10 + "、" + "い" * 10, 10) == "あ" * 10


def test_an_address_is_not_cut_at_its_dots() -> None:
    assert shorten_query("see the notes at docs.example.com/guide", 30) == "see the notes at"


def test_one_long_word_is_cut_anywhere() -> None:
    assert shorten_query("あ" * 500, 400) == "あ" * 400
