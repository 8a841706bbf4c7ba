from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

from hikidashi.common.per_loop import PerLoop, _closed_elsewhere


class Line:
    """Something that belongs to a loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.closed_in: asyncio.AbstractEventLoop | None = None

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.closed_in = asyncio.get_running_loop()


def lines() -> PerLoop[Line]:
    return PerLoop(Line, Line.aclose)


async def test_a_loop_always_gets_the_same_value_also_when_asked_at_once() -> None:
    values = lines()
    first, second = await asyncio.gather(values.get(), values.get())
    assert first is second
    assert await values.get() is first
    await values.aclose()
    assert first.closed_in is first.loop


def test_each_of_eight_threads_has_its_own_and_it_is_closed_with_the_loop() -> None:
    values, together = lines(), threading.Barrier(8)

    async def use() -> Line:
        line = await values.get()
        together.wait(10)
        return line

    with ThreadPoolExecutor(8) as pool:
        used = [future.result() for future in [pool.submit(asyncio.run, use()) for _ in range(8)]]
    assert len({id(line) for line in used}) == 8
    assert all(line.closed_in is line.loop for line in used)
    assert len(values) == 0


async def test_after_closing_there_is_a_new_one() -> None:
    values = lines()
    first = await values.get()
    await values.aclose()
    await values.aclose()
    assert await values.get() is not first
    await values.aclose()


async def test_closing_reaches_loops_that_run_in_other_threads() -> None:
    values, ready, done = lines(), threading.Event(), asyncio.Event()
    there: list[Line] = []

    async def stay() -> None:
        there.append(await values.get())
        ready.set()
        while there[0].closed_in is None:
            await asyncio.sleep(0.001)

    def run() -> None:
        asyncio.run(stay())
        loop.call_soon_threadsafe(done.set)

    loop = asyncio.get_running_loop()
    thread = threading.Thread(target=run)
    thread.start()
    await asyncio.to_thread(ready.wait, 10)
    await values.aclose()
    await done.wait()
    thread.join(10)
    assert there[0].closed_in is there[0].loop
    assert len(values) == 0


def test_a_loop_that_was_closed_without_farewell_is_forgotten() -> None:
    values = lines()
    dead = asyncio.new_event_loop()
    dead.run_until_complete(values.get())
    dead.close()
    assert len(values) == 1

    async def use() -> int:
        await values.get()
        return len(values)

    assert asyncio.run(use()) == 1


def test_a_loop_that_stands_still_is_closed_when_it_ends() -> None:
    values = lines()
    still = asyncio.new_event_loop()
    line = still.run_until_complete(values.get())
    asyncio.run(values.aclose())
    assert line.closed_in is None
    still.run_until_complete(still.shutdown_asyncgens())
    still.close()
    assert line.closed_in is still
    assert len(values) == 0


async def test_an_owner_that_is_dropped_closes_what_it_had() -> None:
    line = await lines().get()
    while line.closed_in is None:
        gc.collect()
        await asyncio.sleep(0)
    assert line.closed_in is line.loop


def test_a_loop_that_ends_while_others_say_farewell_needs_none() -> None:
    values = lines()
    ended = asyncio.new_event_loop()
    ended.run_until_complete(values.get())
    guard = values._kept[ended].guard
    ended.run_until_complete(ended.shutdown_asyncgens())
    ended.close()
    assert _closed_elsewhere(guard, ended) is None
