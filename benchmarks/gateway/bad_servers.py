"""What a server that does not come costs the others: the very first `tools/list`, with nothing known from before."""

from __future__ import annotations

import json
import math
import shutil
import socket
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.stdio import stdio_client

from ..registry import Case, Measurement, Plan
from .stage import PEER_NAME, WAYS, Stage, stage

GROUP = "faults"
MEANING = (
    "the very first list of 3 servers of 3 tools, with a bad fourth one ÷ the same without it, or of FastMCP's proxy"
)

_MOST = 10.0  # seconds; FastMCP's proxy waits for a silent server for longer
_UNAUTHORIZED = (
    b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)
_PROGRAMS = {
    "hangs": "import time; time.sleep(3600)",
    "spins": "while True: pass",
    "sends garbage": "import time\nwhile True: print('no JSON', flush=True); time.sleep(0.01)",
}


@contextmanager
def _bad_servers(plan: Plan) -> Generator[dict[str, dict[str, Any]]]:
    """The entries of bad servers, by what each does."""
    # Nobody accepts: the system completes the connection, and requests are never read.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        programs = {what: {"command": sys.executable, "args": ["-c", code]} for what, code in _PROGRAMS.items()}
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        yield {"hangs": programs["hangs"]} if plan.quick else {**programs, "never answers over HTTP": {"url": address}}


def _config(here: Stage, bad: dict[str, Any] | None, file: str) -> Path:
    command, *arguments = here.backend(3)
    good = {f"backend{place}": {"command": command, "args": arguments} for place in range(3)}
    path = here.folder / f"{file}.json"
    path.write_text(json.dumps({"mcpServers": {**({} if bad is None else {"bad": bad}), **good}}), "utf-8")
    return path


def _first_list(portal: BlockingPortal, here: Stage, command: list[str], tools: int, most: float = math.inf) -> float:
    """Seconds to the first list, which has at least so many tools, or `most`; with nothing kept from before."""
    here.stop()
    for kept in here.folder.glob("*/"):
        shutil.rmtree(kept)

    async def seconds() -> float:
        start = perf_counter()
        took = most
        # FastMCP's proxy reports each line of garbage on standard error.
        with (here.folder / "stderr.log").open("w") as log, anyio.move_on_after(most):
            async with Client(stdio_client(here.stdio(command), errlog=log)) as client:
                listed = (await client.list_tools()).tools
                took = perf_counter() - start
                if len(listed) < tools:
                    raise RuntimeError(f"Only {len(listed)} tools were listed: {[tool.name for tool in listed]}.")
        return took

    return portal.call(seconds)


def _cost(plan: Plan) -> Iterable[Measurement]:
    with stage() as here, _bad_servers(plan) as bad, start_blocking_portal() as portal:
        ways: dict[str, Callable[[], float]] = {}
        for place, (what, entry) in enumerate({"": None, **bad}.items()):
            config = _config(here, entry, f"bad-{place}")
            ours = here.command("ours", config, 3, search=False)
            ways[what] = partial(_first_list, portal, here, ours, 9)
            ways[f"{what}, --no-daemon"] = partial(_first_list, portal, here, [*ours, "--no-daemon"], 9)
            if "FastMCP" in WAYS and what:
                theirs = here.command("FastMCP", config, 3, search=False)
                ways[f"{what}, FastMCP"] = partial(_first_list, portal, here, theirs, 0, _MOST)
        figures = plan.alternate(ways, plan.rounds(3, quick=1), warm_up=False)
    for what in bad:
        for way in ("", ", --no-daemon"):
            ours, without = figures[f"{what}{way}"], figures[way]
            yield Measurement(
                group=GROUP, name=f"one {what}{way}", unit="s", ours=ours, peer=without, peer_name="without it"
            )
        if theirs := figures.get(f"{what}, FastMCP"):
            note = f"theirs was stopped after {_MOST:g} s" if theirs.median >= _MOST else ""
            yield Measurement(
                group=GROUP,
                name=f"one {what}",
                unit="s",
                ours=figures[what],
                peer=theirs,
                peer_name=PEER_NAME,
                note=note,
            )


CASES = (Case(GROUP, "first list", _cost),)
