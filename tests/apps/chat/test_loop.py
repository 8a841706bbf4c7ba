"""What Ctrl-C does to work under way."""

from __future__ import annotations

import asyncio
import signal

import pytest

from hikidashi.apps.chat.loop import run_interruptible


def test_work_gives_what_it_gives() -> None:
    async def work() -> str:
        return "done"

    before = signal.getsignal(signal.SIGINT)
    with asyncio.Runner() as runner:
        assert run_interruptible(runner, work()) == "done"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_does_not_tear_what_the_first_one_stops() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(0)
            ended.append("in order")

    with asyncio.Runner() as runner:
        with pytest.raises(KeyboardInterrupt):
            run_interruptible(runner, work())
        assert ended == ["in order"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
