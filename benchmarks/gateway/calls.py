"""What a gateway adds to one call: the time through it, less the time of the same call straight to the server."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from functools import partial
from time import perf_counter
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client

from ..registry import Case, Measurement, Plan, Sample
from .stage import FLOOR_NAME, PEER_NAME, Route, Way, contestants, echo, stage

GROUP = "calls"
MEANING = "time added to a call straight to the server ÷ what FastMCP's proxy adds; and the whole call at p99"

_AIM = 0.001


class Latencies:
    """The times of single calls of one contestant, by round."""

    def __init__(
        self, portal: BlockingPortal, client: Client, name: str, arguments: dict[str, Any], calls: int
    ) -> None:
        self.rounds: list[list[float]] = []
        self._call = partial(_timed, client, name, arguments, calls)
        self._portal = portal

    def __call__(self) -> float:
        """Run one round; return its median."""
        self.rounds.append(self._portal.call(self._call))
        return statistics.median(self.rounds[-1])

    def medians(self, rounds: int) -> Sample:
        """The median of each of the last `rounds`."""
        return Sample(tuple(map(statistics.median, self.rounds[-rounds:])))

    def slowest(self, rounds: int) -> Sample:
        """The 99th percentile of the last `rounds`."""
        calls = sorted(time for times in self.rounds[-rounds:] for time in times)
        return Sample((calls[round(0.99 * (len(calls) - 1))],))


async def _timed(client: Client, name: str, arguments: dict[str, Any], calls: int) -> list[float]:
    times: list[float] = []
    for _ in range(calls):
        start = perf_counter()
        result = await client.call_tool(name, arguments)
        times.append(perf_counter() - start)
        if result.is_error:
            raise RuntimeError(f"`{name}` failed: {result.content}")
    return times


def added(through: Sample, direct: Sample) -> Sample:
    """The time added to the direct way, round by round."""
    return Sample(tuple(a - b for a, b in zip(through.values, direct.values, strict=True)))


def _calls(plan: Plan, route: Route, *, search: bool) -> Iterable[Measurement]:
    tools = 40 if search else 10
    rounds = plan.rounds(7)
    calls: dict[Way, int] = {"direct": 60, "ours": 60, "FastMCP": 15, "forwarding": 60}
    with (
        stage() as here,
        start_blocking_portal() as portal,
        contestants(portal, here, tools, route=route, search=search) as clients,
    ):
        latencies = {
            way: Latencies(portal, client, *echo(way, search=search), 3 if plan.quick else calls[way])
            for way, client in clients.items()
        }
        timed: dict[str, Callable[[], float]] = {way: latencies[way] for way in clients}
        plan.alternate(timed, rounds)
    whole = {way: figures.medians(rounds) for way, figures in latencies.items()}
    slow = {way: figures.slowest(rounds) for way, figures in latencies.items()}
    peer_name = f"{PEER_NAME}{' with BM25' if search else ''}" if "FastMCP" in clients else ""
    yield Measurement(
        group=GROUP,
        name=f"{route}, {_kind(search)}, added at p50",
        unit="s",
        ours=added(whole["ours"], whole["direct"]),
        peer=added(whole["FastMCP"], whole["direct"]) if "FastMCP" in whole else None,
        peer_name=peer_name,
        aim=_AIM if route != "HTTP to stdio" else None,
        note=f"straight {1000 * whole['direct'].median:.2f} ms",
    )
    if "forwarding" in whole:
        yield Measurement(
            group=GROUP,
            name=f"{route}, {_kind(search)}, added at p50",
            unit="s",
            ours=added(whole["ours"], whole["direct"]),
            peer=added(whole["forwarding"], whole["direct"]),
            peer_name=FLOOR_NAME,
            note="the floor of a proxy in Python: it knows no MCP",
        )
    yield Measurement(
        group=GROUP,
        name=f"{route}, {_kind(search)}, whole call at p99",
        unit="s",
        ours=slow["ours"],
        peer=slow.get("FastMCP"),
        peer_name=peer_name,
        note=f"straight {1000 * slow['direct'].median:.2f} ms",
    )


def _kind(search: bool) -> str:
    return "tool found by search" if search else "listed tool"


_ROUTES: tuple[tuple[Route, bool], ...] = (
    ("stdio", False),
    ("stdio", True),
    ("HTTP", False),
    ("HTTP to stdio", False),
)
CASES = tuple(
    Case(GROUP, f"{route}, {_kind(search)}", partial(_calls, route=route, search=search)) for route, search in _ROUTES
)
