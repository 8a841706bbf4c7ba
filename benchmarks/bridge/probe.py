"""One process that does one thing and prints how much memory that took: `python -m benchmarks.bridge.probe ...`."""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import tracemalloc
from pathlib import Path
from typing import cast


def peak_rss() -> int:
    """The most memory this process ever held, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # `ru_maxrss` would start at the size of the parent
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def converted(way: str, count: int, *, traced: bool) -> int:
    """Bytes at the peak of converting `count` tools: of Python's own memory if `traced`, else of the whole process."""
    from .conversion import converter
    from .tools import many

    convert, tools = converter(way), many(count)
    convert(tools[:1])
    gc.collect()
    if traced:
        tracemalloc.start()
    server = convert(tools)
    peak = tracemalloc.get_traced_memory()[1] if traced else peak_rss()
    del server
    return peak


def ran(way: str) -> int:
    """Bytes at the peak of this process, the CLI not counted, in an agent run with one tool call."""
    from . import runs

    with runs.loopback() as (env, folder):
        run = (
            runs.raw_run(env, folder, tools=True)
            if way == "raw"
            else runs.agent_run(env, folder, "agent" if way == "agent" else "mcp", tools=True)
        )
        asyncio.run(runs.finished(run))
    return peak_rss()


if __name__ == "__main__":
    what, way, count = sys.argv[1:]
    figure = ran(way) if what == "run" else converted(way, int(count), traced=what == "traced")
    sys.stdout.write(json.dumps(cast("object", figure)))
