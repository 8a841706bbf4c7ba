"""What a gateway adds to one call: the time through it, less the time of the same call straight to the server."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from time import perf_counter
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client

from ..registry import Case, Measurement, Plan, Sample
from .stage import PEER_NAME, Transport, Way, contestants, echo, stage

GROUP = "calls"
MEANING = "what the gateway adds to a call, over the same call straight to the server ÷ what FastMCP's proxy adds"

_AIM = 0.001
_WAYS: tuple[Way, ...] = ("direct", "ours", "FastMCP")


class Latencies:
    """The times of single calls of one contestant, by round."""

    def __init__(
        self, portal: BlockingPortal, client: Client, name: str, arguments: dict[str, Any], calls: int
    ) -> None:
        self.rounds: list[list[float]] = []
        self._call = partial(portal.call, _timed, client, name, arguments, calls)

    def __call__(self) -> float:
        """Run one round; return its median."""
        self.rounds.append(self._call())
        return statistics.median(self.rounds[-1])

    def percentile(self, share: float, rounds: int) -> Sample:
        """The figure of each of the last `rounds` below which `share` of the calls are."""
        return Sample(tuple(sorted(calls)[round(share * (len(calls) - 1))] for calls in self.rounds[-rounds:]))


async def _timed(client: Client, name: str, arguments: dict[str, Any], calls: int) -> list[float]:
    times: list[float] = []
    for _ in range(calls):
        start = perf_counter()
        result = await client.call_tool(name, arguments)
        times.append(perf_counter() - start)
        if result.is_error:
            raise RuntimeError(f"`{name}` failed: {result.content}")
    return times


def added(ways: Mapping[Way, Sample], way: Way) -> Sample:
    """What `way` adds to the direct one, round by round."""
    return Sample(tuple(a - b for a, b in zip(ways[way].values, ways["direct"].values, strict=True)))


def _calls(plan: Plan, transport: Transport, *, search: bool) -> Iterable[Measurement]:
    tools = 40 if search else 10
    rounds, calls = plan.rounds(9), 5 if plan.quick else 100
    with (
        stage() as here,
        start_blocking_portal() as portal,
        contestants(portal, here, _WAYS, tools, transport=transport, search=search) as clients,
    ):
        latencies = {
            way: Latencies(portal, client, *echo(way, search=search), calls) for way, client in clients.items()
        }
        timed: Mapping[str, Callable[[], float]] = {way: latencies[way] for way in clients}
        plan.alternate(timed, rounds)
    for share in (0.5, 0.99):
        whole = {way: latencies[way].percentile(share, rounds) for way in _WAYS}
        yield Measurement(
            group=GROUP,
            name=f"{transport}, {'found by search' if search else 'listed tool'}, p{share * 100:g}",
            unit="s",
            ours=added(whole, "ours"),
            peer=added(whole, "FastMCP"),
            peer_name=f"{PEER_NAME}{' with BM25' if search else ''}",
            aim=_AIM if share == 0.5 else None,
            note=f"straight to the server {1000 * whole['direct'].median:.2f} ms",
        )


CASES = tuple(
    Case(
        GROUP,
        f"{transport}, {'found by search' if search else 'listed tool'}",
        partial(_calls, transport=transport, search=search),
    )
    for transport in ("stdio", "http")
    for search in (False, True)
)
