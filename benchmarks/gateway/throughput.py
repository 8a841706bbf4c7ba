"""Calls per second of many clients at once, over HTTP, on one server behind stdio."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from time import perf_counter
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client

from ..registry import Case, Measurement, Plan
from .stage import PEER_NAME, WAYS, Way, connected, echo, stage

GROUP = "throughput"
MEANING = "time per call with many clients at once over HTTP ÷ the same through FastMCP's proxy, or straight"


async def _all_at_once(clients: Sequence[Client], name: str, arguments: dict[str, Any], calls: int) -> float:
    async def one(client: Client) -> None:
        for _ in range(calls):
            result = await client.call_tool(name, arguments)
            if result.is_error:
                raise RuntimeError(f"`{name}` failed: {result.content}")

    start = perf_counter()
    async with anyio.create_task_group() as tasks:
        for client in clients:
            tasks.start_soon(one, client)
    return (perf_counter() - start) / (len(clients) * calls)


def _throughput(plan: Plan, clients: int) -> Iterable[Measurement]:
    many = min(clients, 3) if plan.quick else clients
    calls: dict[Way, int] = {"direct": max(2, 200 // many), "ours": max(2, 200 // many), "FastMCP": max(1, 50 // many)}
    if plan.quick:
        calls = dict.fromkeys(calls, 1)
    _allow_files(10 * many * len(WAYS))
    with stage() as here, start_blocking_portal() as portal, ExitStack() as stack:
        config = here.config(10)

        def contestant(way: Way) -> partial[float]:
            url = stack.enter_context(here.http(way, config, 10, search=False))
            connections = [stack.enter_context(connected(portal, url)) for _ in range(many)]
            return partial(_round, portal, connections, *echo(way, search=False), calls[way])

        figures = plan.alternate({way: contestant(way) for way in WAYS}, plan.rounds(5))
    per_second = 1 / figures["ours"].median
    peers: dict[Way, str] = {"FastMCP": PEER_NAME, "direct": "straight to the server"}
    for peer, name in peers.items():
        if peer not in figures:
            continue
        yield Measurement(
            group=GROUP,
            name=f"{many} client{'s' if many > 1 else ''}",
            unit="s",
            ours=figures["ours"],
            peer=figures[peer],
            peer_name=name,
            note=f"{per_second:.0f} calls per second against {1 / figures[peer].median:.0f}",
        )


def _allow_files(needed: int) -> None:
    """Raise the limit of open files for this process and its children, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(needed, hard)), hard))


def _round(portal: BlockingPortal, clients: Sequence[Client], name: str, arguments: dict[str, Any], n: int) -> float:
    return portal.call(_all_at_once, clients, name, arguments, n)


CASES = tuple(Case(GROUP, f"{clients} clients", partial(_throughput, clients=clients)) for clients in (1, 16, 200))
