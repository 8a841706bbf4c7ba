"""One client, many event loops, threads and callers at once."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.testing import TavilyPage, TavilyServer, tavily_fault
from hikidashi.testing.server import Exchange
from hikidashi.web.providers.cache import ResultCache
from hikidashi.web.providers.tavily import TavilyAPIClient
from hikidashi.web.providers.transport import RetryPolicy

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


def client(server: TavilyServer, **options: Any) -> TavilyAPIClient:
    return TavilyAPIClient("tvly-test", base_url=server.url, **options)


async def test_connections_are_used_again_and_never_more_than_allowed() -> None:
    with Counted() as server:
        async with client(server, max_in_flight=4) as tavily:
            await asyncio.gather(*(tavily.search(f"tea {n}") for n in range(40)))
            await asyncio.gather(*(tavily.search(f"cup {n}") for n in range(40)))
    assert len(server.requests) == 80
    assert server.most <= 4
    assert len(server.connections) <= 4


async def test_one_after_another_shares_one_connection() -> None:
    with Counted() as server:
        async with client(server) as tavily:
            for number in range(10):
                await tavily.search(f"tea {number}")
    assert len(server.connections) == 1


async def test_identical_requests_at_once_are_sent_and_paid_once() -> None:
    with Counted() as server:
        async with client(server) as tavily:
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
        async with client(server) as tavily:
            found = await asyncio.gather(*(tavily.search(start + end) for end in ("green", "black")))
    assert [one.query for one in found] == [start + "green", start + "black"]
    assert len(server.requests) == 1


async def arrived(server: Counted, count: int = 1) -> None:
    for _ in range(count):
        assert await asyncio.to_thread(server.arrived.acquire, timeout=30)


async def test_a_cancelled_caller_leaves_the_others_undisturbed() -> None:
    with Counted() as server:
        async with client(server) as tavily:
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
        async with client(server) as tavily:
            failed = await asyncio.gather(*(tavily.search("tea") for _ in range(5)), return_exceptions=True)
            assert (await tavily.search("tea")).results
    assert [type(error) for error in failed] == [TavilyAPIError] * 5
    assert len(server.requests) == 2


async def test_a_cancelled_search_gives_its_place_back() -> None:
    with Counted() as server:
        async with client(server, max_in_flight=1) as tavily:
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
        async with client(server, max_in_flight=1, retry=RetryPolicy(sleep=sleep)) as tavily:
            failing = asyncio.create_task(tavily.search("tea"))
            await waiting.wait()
            assert (await tavily.search("cup")).results
            go_on.set()
            assert (await failing).results


async def test_closing_fails_what_is_under_way_and_the_client_can_be_used_again() -> None:
    with Counted() as server:
        tavily = client(server, max_in_flight=1)
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
        tavily = client(server, cache=ResultCache(tmp_path / "c.sqlite"))
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
        tavily = client(server)
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
        tavily = client(server)
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
        async with client(server, timeout=0.2, max_retries=0) as tavily:
            with pytest.raises(TavilyAPIError) as error:
                await tavily.search("tea")
    assert error.value.error_type is ErrorType.TIMEOUT_ERROR


async def test_proxies_of_the_environment_stay_out_of_the_way_of_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "TAVILY_HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Counted() as server:
        async with client(server) as tavily:
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
