"""Memory of ten clients with the same ten servers: one daemon and one process per server, or ten of everything."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client

from ..registry import Case, Measurement, Plan, Sample
from .stage import PEER_NAME, WAYS, Stage, Way, connected, stage

GROUP = "memory"
MEANING = "all processes of 10 clients with the same 10 servers (PSS, the clients not counted) ÷ ten of everything"

_AT_ONCE = 4  # processes that are started together, to use all cores


def _processes(here: Stage) -> list[Path]:
    """The processes that were started in this stage, at any depth below this one: their environment says so."""
    mark = f"\0HOME={here.folder}\0".encode()
    found: list[Path] = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark in b"\0" + (process / "environ").read_bytes():
                found.append(process)
        except OSError:  # it has ended, or belongs to another user
            continue
    return found


def _pss(process: Path) -> int:
    """Bytes of memory of a process, pages shared with others counted in part."""
    lines = (process / "smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _memory(portal: BlockingPortal, way: Way, clients: int, servers: int) -> tuple[int, int]:
    """Bytes, and how many processes, once every client has called a tool of every server."""
    with stage() as here, ExitStack() as stack:
        config = here.config(10, servers=servers)
        command = here.command(way, config, 10, search=True)
        # Without a gateway, a client has a connection of its own to each server.
        connections = clients * servers if way == "direct" else clients

        def opening(_: int) -> Client:
            return stack.enter_context(connected(portal, here.stdio(command)))

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            opened = list(threads.map(opening, range(connections)))
        for client in opened if way != "direct" else ():
            portal.call(_call_each, client, way, servers)
        processes = _processes(here)
        return sum(map(_pss, processes)), len(processes)


async def _call_each(client: Client, way: Way, servers: int) -> None:
    caller, joined = ("call_read_tool", "__") if way == "ours" else ("call_tool", "_")
    for place in range(servers):
        name = f"backend{place}{joined}echo"
        result = await client.call_tool(caller, {"name": name, "arguments": {"text": "hello"}})
        if result.is_error:
            raise RuntimeError(f"{way}: {result.content}")


def _measured(plan: Plan) -> Iterable[Measurement]:
    if not Path("/proc/self/smaps_rollup").exists():
        return  # only Linux reports which pages are shared
    each = 2 if plan.quick else 10
    figures: dict[Way, tuple[int, int]] = {}
    with start_blocking_portal() as portal:
        for done, way in enumerate(WAYS):
            plan.progress(done / len(WAYS))
            figures[way] = _memory(portal, way, each, each)
    peers: dict[Way, str] = {"FastMCP": PEER_NAME, "direct": "every client its own servers"}
    for peer, name in peers.items():
        if peer not in figures:
            continue
        yield Measurement(
            group=GROUP,
            name=f"{each} servers, {each} clients",
            unit="bytes",
            ours=Sample((figures["ours"][0],)),
            peer=Sample((figures[peer][0],)),
            peer_name=name,
            note=f"{figures['ours'][1]} processes against {figures[peer][1]}",
        )


CASES = (Case(GROUP, "servers and clients", _measured),)
