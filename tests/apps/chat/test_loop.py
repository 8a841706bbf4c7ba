"""What Ctrl-C does to work under way, and a responder that is made in the background."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Sequence

import pytest

from hikidashi.apps.chat.loop import BackgroundResponder, run_interruptible
from hikidashi.apps.responder import AnswerEvent, Message, TextDelta
from hikidashi.errors import MissingExtra


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


HELLO = [Message(role="user", text="Hello?")]


class Echo:
    """Says what it hears."""

    def __init__(self) -> None:
        self.closed = 0

    @property
    def tool_names(self) -> list[str]:
        return ["echo"]

    async def stream(self, conversation: Sequence[Message]) -> AsyncGenerator[AnswerEvent]:
        yield TextDelta(conversation[-1].text)

    async def respond(self, conversation: Sequence[Message]) -> str:
        return conversation[-1].text

    async def aclose(self) -> None:
        self.closed += 1


async def test_once_made_it_does_what_was_made() -> None:
    echo = Echo()
    late = BackgroundResponder(lambda: echo)
    assert [event async for event in late.stream(HELLO)] == [TextDelta("Hello?")]
    assert await late.respond(HELLO) == "Hello?"
    assert late.tool_names == ["echo"]
    await late.aclose()
    assert echo.closed == 1


async def test_whoever_stops_waiting_leaves_it_to_the_next() -> None:
    go = threading.Event()

    def make() -> Echo:
        assert go.wait(60)
        return Echo()

    late = BackgroundResponder(make)
    impatient = asyncio.create_task(late.respond(HELLO))
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    go.set()
    assert await late.respond(HELLO) == "Hello?"


async def test_a_failure_is_told_to_each_who_needs_the_responder_and_not_to_who_leaves() -> None:
    def make() -> Echo:
        raise MissingExtra("anthropic", "anthropic")

    late = BackgroundResponder(make)
    await late.wait_until_made()
    with pytest.raises(MissingExtra):
        await late.respond(HELLO)
    with pytest.raises(MissingExtra):
        await anext(late.stream(HELLO))
    with pytest.raises(MissingExtra):
        late.tool_names  # noqa: B018 - to ask for them is enough
    await late.aclose()
