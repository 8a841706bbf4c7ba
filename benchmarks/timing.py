"""Contestants for `Plan.alternate` that score seconds."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from time import perf_counter


def seconds(function: Callable[[], object]) -> Callable[[], float]:
    """A contestant whose score is the time of one call, with the garbage collector out of the way, as in `timeit`."""

    def once() -> float:
        gc.collect()
        gc.disable()
        try:
            start = perf_counter()
            function()
            return perf_counter() - start
        finally:
            gc.enable()

    return once


def seconds_per_call(
    runner: asyncio.Runner, function: Callable[[], Awaitable[object]], *, at_least: float
) -> Callable[[], float]:
    """A contestant whose score is the mean time of a call, over as many calls as take `at_least` seconds."""

    async def many(times: int) -> float:
        start = perf_counter()
        for _ in range(times):
            await function()
        return perf_counter() - start

    times = 1
    while (spent := runner.run(many(times))) < at_least:
        times = max(times * 2, round(times * at_least / max(spent, 1e-6)))
    calls = times

    return lambda: seconds(lambda: runner.run(many(calls)))() / calls
