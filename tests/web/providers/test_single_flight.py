from __future__ import annotations

import asyncio

import pytest

from hikidashi.web.providers.transport import Shared, SingleFlight


class Work:
    """Work that begins, and ends when it is told to."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.times = 0
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()

    async def __call__(self) -> int:
        self.times += 1
        self.begun.set()
        await self.may_end.wait()
        if self.error is not None:
            raise self.error
        return self.times


async def started(flights: SingleFlight[int], work: Work, count: int) -> list[asyncio.Task[Shared[int]]]:
    tasks = [asyncio.create_task(flights.run("key", work)) for _ in range(count)]
    await work.begun.wait()
    await asyncio.sleep(0)
    return tasks


async def test_all_who_ask_meanwhile_get_the_same_and_one_of_them_leads() -> None:
    flights, work = SingleFlight[int](), Work()
    tasks = await started(flights, work, 5)
    work.may_end.set()
    assert await asyncio.gather(*tasks) == [Shared(1, leader=True), *[Shared(1, leader=False)] * 4]
    assert len(flights) == 0


async def test_other_keys_and_later_callers_do_their_own_work() -> None:
    flights, work = SingleFlight[int](), Work()
    work.may_end.set()
    assert await flights.run("a", work) == (1, True)
    assert await flights.run("a", work) == (2, True)
    assert await asyncio.gather(flights.run("b", work), flights.run("c", work)) == [(3, True), (4, True)]


async def test_a_failure_reaches_all() -> None:
    flights, work = SingleFlight[int](), Work(error=ValueError("no"))
    tasks = await started(flights, work, 3)
    work.may_end.set()
    assert [str(error) for error in await asyncio.gather(*tasks, return_exceptions=True)] == ["no"] * 3
    assert work.times == 1
    assert len(flights) == 0


async def test_a_cancelled_caller_leaves_the_others_undisturbed() -> None:
    flights, work = SingleFlight[int](), Work()
    first, second, third = await started(flights, work, 3)
    second.cancel()
    await asyncio.wait([second])
    work.may_end.set()
    assert (await first, await third) == ((1, True), (1, False))
    assert work.times == 1


async def test_if_the_first_is_cancelled_the_next_one_takes_over_for_all() -> None:
    flights, work = SingleFlight[int](), Work()
    first, second, third = await started(flights, work, 3)
    work.begun.clear()
    first.cancel()
    await work.begun.wait()
    work.may_end.set()
    assert (await second, await third) == ((2, True), (2, False))
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_when_all_are_cancelled_nothing_is_left() -> None:
    flights, work = SingleFlight[int](), Work()
    tasks = await started(flights, work, 3)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert (work.times, len(flights)) == (1, 0)


async def test_a_failure_is_no_complaint_where_its_last_reader_is_cancelled_at_that_moment(
    caplog: pytest.LogCaptureFixture,
) -> None:
    flights, work = SingleFlight[int](), Work(error=ValueError("no"))
    first, second = await started(flights, work, 2)
    work.may_end.set()
    await asyncio.wait([first])
    second.cancel()
    await asyncio.wait([second])
    with pytest.raises(ValueError):
        await first
    assert caplog.records == []
