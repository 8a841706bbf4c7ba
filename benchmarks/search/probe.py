"""One process that measures one engine on one catalogue: `python -m benchmarks.search.probe ENGINE SIZE SECONDS`."""

from __future__ import annotations

import gc
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from time import perf_counter

from .catalogue import catalogue, questions
from .data import Definition
from .engines import Growing, Kept, Late, Searcher, all_engines
from .ours import Lexical

_WARM_UP = 20


def resident() -> int | None:
    """Bytes of memory this process holds now; `None` where the system does not tell."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def measured(name: str, size: int, seconds: float) -> dict[str, float | None]:
    """What the engine `name` needs for `size` tools, asking for about `seconds`."""
    engine = all_engines()[name]
    *tools, one_more = catalogue(size + 1)
    engine.searching(tools[:10]).search("warm up", 5)  # imports are not what is measured
    prepared = engine.prepare(tools)
    words = _counting(tools)
    gc.collect()
    before, start = resident(), perf_counter()
    searcher = engine.build(prepared)
    if isinstance(searcher, Lexical):
        searcher.wait_for_index()
    built = perf_counter() - start
    if isinstance(searcher, Late):
        searcher.ready()
    asked = _latencies(searcher, questions(size, _WARM_UP, seed=22), questions(size, 2_000), seconds)
    gc.collect()
    after = resident()
    cuts = quantiles(asked, n=100, method="inclusive")
    saved, loaded = _kept(searcher)
    return {
        "words": words,
        "build": built,
        "add": _added(searcher, one_more),
        "save": saved,
        "load": loaded,
        "p50": cuts[49],
        "p99": cuts[98],
        "bytes": None if before is None or after is None else after - before,
        "asked": len(asked),
    }


def _counting(tools: Sequence[Definition]) -> float:
    """Seconds to count the words of all tools: the least that any engine must do, and how memory slows it down."""
    start = perf_counter()
    counts: dict[str, int] = {}
    for tool in tools:
        for word in json.dumps(tool).split():
            counts[word] = counts.get(word, 0) + 1
    return perf_counter() - start


def _latencies(searcher: Searcher, others: list[str], queries: list[str], seconds: float) -> list[float]:
    """The seconds of each of `queries`; what is remembered of `others`, asked before, helps with none of them."""
    for query in others:
        start = perf_counter()
        searcher.search(query, 5)
        if perf_counter() - start > seconds / _WARM_UP:
            break
    figures: list[float] = []
    end = perf_counter() + seconds
    for query in queries:
        start = perf_counter()
        searcher.search(query, 5)
        figures.append(perf_counter() - start)
        if start > end and len(figures) >= 5:
            break
    return figures


def _added(searcher: Searcher, tool: Definition) -> float | None:
    """Seconds until one more tool is found, the search included: some do the work of adding there."""
    if not isinstance(searcher, Growing):
        return None
    start = perf_counter()
    searcher.add(tool)
    searcher.search(tool["name"], 5)
    return perf_counter() - start


def _kept(searcher: Searcher) -> tuple[float | None, float | None]:
    """Seconds to save it, and to load it and answer a first question."""
    if not isinstance(searcher, Kept):
        return None, None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved"
        start = perf_counter()
        searcher.save(path)
        saved = perf_counter() - start
        start = perf_counter()
        searcher.load(path).search("warm up", 5)
        return saved, perf_counter() - start


if __name__ == "__main__":
    engine, size, seconds = sys.argv[1:]
    sys.stdout.write(json.dumps(measured(engine, int(size), float(seconds))))
