"""Searches by `TavilyAPIClient`, beside the `tavily-python` client it is built on.

The peers are one `AsyncTavilyClient` for all searches, and one for each, which is what a tool function that makes its
own client does. All ask the same server, in a process of its own, which answers at once: a real search takes about a
second, and then only the calls per second of a client for each search matter. Everybody has the settings it comes
with: of 128 searches at once ours has 16 under way, the shared client up to 100.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from tavily import AsyncTavilyClient  # pyright: ignore[reportMissingTypeStubs]

from hikidashi.web.providers.cache import ResultCache
from hikidashi.web.providers.tavily import TavilyAPIClient

from ..registry import Case, Measurement, Plan, Sample

GROUP = "throughput"
MEANING = "seconds per Tavily search ÷ tavily-python's own, same loopback server"

OURS, CACHED, SHARED, PER_CALL = "ours", "ours, cached", "one shared client", "a client per call"

Search = Callable[[str], Awaitable[Any]]
Clock = Callable[[], float]


@contextmanager
def running_server() -> Generator[str]:
    """The address of a server that runs until the block ends."""
    command = [sys.executable, "-m", f"{__package__}.server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate(timeout=10)


@asynccontextmanager
async def contestants(url: str, folder: Path) -> AsyncGenerator[dict[str, Search]]:
    """The ways to search, by name; each gives the same five hits."""
    shared: Any = AsyncTavilyClient("tvly-test", api_base_url=url)
    ours = TavilyAPIClient("tvly-test", base_url=url)
    cached = TavilyAPIClient("tvly-test", base_url=url, cache=ResultCache(folder / "cache.sqlite"))

    async def per_call(query: str) -> Any:
        async with AsyncTavilyClient("tvly-test", api_base_url=url) as client:
            own: Any = client
            return await own.search(query, search_depth="basic", max_results=5)

    async with ours, cached, shared:
        yield {
            OURS: ours.search,
            CACHED: lambda _: cached.search("always the same"),
            SHARED: lambda query: shared.search(query, search_depth="basic", max_results=5),
            PER_CALL: per_call,
        }


async def load(search: Search, count: int, concurrency: int) -> None:
    """Nothing, once `count` different searches are done, `concurrency` at a time."""
    queries = iter([f"tea {next(_numbers)}" for _ in range(count)])

    async def worker() -> None:
        for query in queries:
            await search(query)

    await asyncio.gather(*(worker() for _ in range(concurrency)))


_numbers = itertools.count()


def _measured(
    plan: Plan, rounds: int, counts: Mapping[str, int], concurrency: int, clock: Clock = perf_counter
) -> dict[str, Sample]:
    with running_server() as url, tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        ways = contestants(url, Path(folder))
        searches = runner.run(ways.__aenter__())

        def contestant(name: str, count: int) -> Callable[[], float]:
            def once() -> float:
                gc.collect()
                start = clock()
                runner.run(load(searches[name], count, concurrency))
                return (clock() - start) / count

            return once

        try:
            return plan.alternate(
                {name: contestant(name, count) for name, count in counts.items()}, plan.rounds(rounds)
            )
        finally:
            runner.run(ways.__aexit__(None, None, None))


def _at(plan: Plan, concurrency: int) -> Iterable[Measurement]:
    many = max(concurrency, 20) if plan.quick else max(4 * concurrency, 100)
    few = concurrency if plan.quick else max(concurrency, 10)
    figures = _measured(plan, 9, {OURS: many, SHARED: many, CACHED: many, PER_CALL: few}, concurrency)
    for ours, peer, aim in ((OURS, SHARED, 1.05), (OURS, PER_CALL, 0.2), (CACHED, SHARED, None)):
        rate = f"{1 / figures[ours].median:,.0f} searches per second, {peer} {1 / figures[peer].median:,.0f}"
        cached = ", from the cache" if ours == CACHED else ""
        yield Measurement(
            group=GROUP,
            name=f"{concurrency} at once{cached}",
            unit="s",
            ours=figures[ours],
            peer=figures[peer],
            peer_name=peer,
            aim_ratio=aim,
            note=rate,
        )


def _cpu(plan: Plan) -> Iterable[Measurement]:
    count = 20 if plan.quick else 200
    figures = _measured(plan, 15, {OURS: count, SHARED: count}, 1, process_time)
    lost = figures[OURS].median - figures[SHARED].median
    yield Measurement(
        group=GROUP,
        name="CPU time of one search",
        unit="s",
        ours=figures[OURS],
        peer=figures[SHARED],
        peer_name=SHARED,
        aim_ratio=1.05,
        note=f"our layer: {lost * 1e6:+.0f} µs per call",
    )


CASES = (
    Case(GROUP, "CPU", _cpu),
    *(Case(GROUP, f"{concurrency} at once", partial(_at, concurrency=concurrency)) for concurrency in (1, 16, 128)),
)
