"""A search through the whole protocol: the official client calls `search_tools` over stdio."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import cycle
from time import perf_counter

from anyio.from_thread import start_blocking_portal
from mcp import Client

from ..registry import Case, Measurement, Plan
from ..search.catalogue import questions
from .stage import PEER_NAME, WAYS, Way, contestants, stage

GROUP = "search"
MEANING = "one `search_tools` call of the official client ÷ the same with FastMCP's BM25 search"

_AIM_RATIO = 0.02


async def _seconds_per_search(client: Client, queries: Sequence[str]) -> float:
    start = perf_counter()
    for query in queries:
        result = await client.call_tool("search_tools", {"query": query})
        if result.is_error:
            raise RuntimeError(f"The search for {query!r} failed: {result.content}")
    return (perf_counter() - start) / len(queries)


def _search(plan: Plan, tools: int) -> Iterable[Measurement]:
    size = 60 if plan.quick else tools
    per_round: dict[Way, int] = {"ours": 20, "FastMCP": 1 if tools > 1_000 else 2}
    queries = questions(size, 60)
    with (
        stage() as here,
        start_blocking_portal() as portal,
        contestants(portal, here, size, route="stdio", search=True) as clients,
    ):

        def contestant(way: Way) -> Callable[[], float]:
            endless = cycle(queries)
            return lambda: portal.call(
                _seconds_per_search, clients[way], [next(endless) for _ in range(per_round[way])]
            )

        figures = plan.alternate(
            {way: contestant(way) for way in WAYS if way != "direct"}, plan.rounds(3 if tools > 1_000 else 7)
        )
    yield Measurement(
        group=GROUP,
        name=f"{size:,} tools",
        unit="s",
        ours=figures["ours"],
        peer=figures.get("FastMCP"),
        peer_name=f"{PEER_NAME} with BM25" if "FastMCP" in figures else "",
        aim_ratio=_AIM_RATIO,
    )


CASES = tuple(Case(GROUP, f"{tools:,} tools", partial(_search, tools=tools)) for tools in (1_000, 10_000))
