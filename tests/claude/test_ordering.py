"""Calls of one turn run in pydantic-ai's order: side by side, but for those that run alone."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from hikidashi.claude.request import CallOrder


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.booleans()), max_size=8))
def test_a_call_that_runs_alone_waits_for_all_before_it_and_holds_up_all_after_it(
    calls: list[tuple[bool, int, bool]],
) -> None:
    begun: list[int] = []
    running: set[int] = set()

    async def main() -> None:
        order = CallOrder()

        async def run(number: int, alone: bool, steps: int, fails: bool) -> None:
            async with order.admitted(alone=alone):
                assert not (alone and running)
                assert not any(calls[other][0] for other in running)
                assert all(earlier in begun for earlier in range(number) if alone or calls[earlier][0])
                begun.append(number)
                running.add(number)
                for _ in range(steps):
                    await asyncio.sleep(0)
                running.discard(number)
                if fails:
                    raise ValueError

        tasks = [asyncio.ensure_future(run(number, *given)) for number, given in enumerate(calls)]
        for task, (*_, fails) in zip(tasks, calls, strict=True):
            (outcome,) = await asyncio.gather(task, return_exceptions=True)
            assert isinstance(outcome, ValueError) == fails, outcome

    asyncio.run(main())
    assert sorted(begun) == list(range(len(calls)))


async def test_a_cancelled_call_holds_up_nobody() -> None:
    order = CallOrder()
    free, entered = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with order.admitted(alone=False):
            entered.set()
            await free.wait()

    async def alone() -> None:
        async with order.admitted(alone=True):
            raise AssertionError("it was cancelled before its turn")

    running = asyncio.create_task(first())
    await entered.wait()
    waiting = asyncio.create_task(alone())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    async with order.admitted(alone=False):
        free.set()
    await running
