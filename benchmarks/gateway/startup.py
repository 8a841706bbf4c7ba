"""From the start of the process to the first `tools/list`, by the official client over stdio."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters

from ..registry import Case, Measurement, Plan
from .stage import PEER_NAME, WAYS, Way, connected, stage

GROUP = "start"
MEANING = "start of the process to the first `tools/list` with 10 servers of 10 tools ÷ the same of FastMCP's proxy"

_AIM = 0.300


def _first_list(portal: BlockingPortal, target: StdioServerParameters) -> float:
    async def seconds() -> float:
        start = perf_counter()
        async with Client(target) as client:
            await client.list_tools()
            return perf_counter() - start

    return portal.call(seconds)


def _start(plan: Plan) -> Iterable[Measurement]:
    servers = 2 if plan.quick else 10
    with stage() as here, start_blocking_portal() as portal:
        config = here.config(10, servers=servers)

        def target(way: Way) -> StdioServerParameters:
            return here.stdio(here.command(way, config, 10, search=True))

        def cold() -> float:
            here.stop()
            return _first_list(portal, target("ours"))

        def warm() -> float:
            with connected(portal, target("ours")):  # whose daemon the next client finds
                return _first_list(portal, target("ours"))

        ways: dict[str, Callable[[], float]] = {
            "direct": lambda: _first_list(portal, target("direct")),
            "warm": warm,
            "cold": cold,
        }
        if "FastMCP" in WAYS:
            ways["FastMCP"] = lambda: _first_list(portal, target("FastMCP"))
        cold()  # from now on the tools are known
        figures = plan.alternate(ways, plan.rounds(4, quick=1), warm_up=False)
    for name, way, peer, peer_name, aim in (
        ("daemon running", "warm", "FastMCP", f"{PEER_NAME} with BM25", _AIM),
        ("daemon running", "warm", "direct", "one server, straight", _AIM),
        ("no daemon yet, tools known from before", "cold", "FastMCP", f"{PEER_NAME} with BM25", None),
    ):
        if peer not in figures:
            continue
        yield Measurement(
            group=GROUP,
            name=name,
            unit="s",
            ours=figures[way],
            peer=figures[peer],
            peer_name=peer_name,
            aim=aim,
        )


CASES = (Case(GROUP, "first list", _start),)
