"""A stream that its reader cancels: it ends at once, keeps what arrived, and the conversation can go on."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest, ModelResponse
from tests.support import ClaudeCode, cli_processes

from hikidashi.testing import call, say

pytestmark = pytest.mark.cli

LONG = say("One word after another. " * 100, chunk=4, pause=0.01)


async def test_a_cancelled_stream_ends_with_what_has_arrived(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([LONG])
    pieces: list[str] = []
    async with Agent(model).run_stream("Go.") as result:
        async for piece in result.stream_text(delta=True, debounce_by=None):
            pieces.append(piece)
            if len(pieces) == 3:
                await result.cancel()
                assert cli_processes() == set()
    answer = result.all_messages()[-1]
    assert isinstance(answer, ModelResponse)
    assert answer.state == "interrupted"
    assert answer.text == "".join(pieces)
    assert len(pieces) < 20


async def test_a_run_goes_on_from_a_stream_that_was_cancelled_after_a_tool_ran(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("look"), LONG, say("And so on.")])
    agent = Agent(model)

    @agent.tool_plain
    def look() -> str:
        return "seen"

    async with agent.run_stream("Go.") as result:
        async for _ in result.stream_text(delta=True, debounce_by=None):
            await result.cancel()
    later = await agent.run("Go on.", message_history=result.all_messages())

    assert later.output == "And so on."
    assert len(server.requests) == 3
    assert cli_processes() == set()


async def test_a_stream_can_be_cancelled_while_its_reader_waits(claude_code: ClaudeCode) -> None:
    asked, answer = threading.Event(), threading.Event()

    def held_back(_: Any) -> Any:
        asked.set()
        answer.wait(30)
        return say("Too late.")

    model, _ = claude_code(held_back)
    async with model_request_stream(model, [ModelRequest.user_text_prompt("Go.")]) as stream:

        async def cancel() -> None:
            await asyncio.to_thread(asked.wait)
            await stream.cancel()
            answer.set()

        cancelling = asyncio.create_task(cancel())
        assert [event async for event in stream] == []
        await cancelling
    assert stream.get().state == "interrupted"


async def test_a_stream_that_is_cancelled_before_it_is_read_has_no_events(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([LONG])
    async with model_request_stream(model, [ModelRequest.user_text_prompt("Go.")]) as stream:
        await stream.cancel()
        assert [event async for event in stream] == []
    assert cli_processes() == set()
