"""Many runs, many of them cut short: slow, so `make soak` only."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_ai import Agent, UnexpectedModelBehavior
from tests.support import cli_processes

from hikidashi import ClaudeCodeError, ClaudeCodeModel
from hikidashi.testing import Answer, MessagesServer, RecordedRequest, call, fault, say

pytestmark = [pytest.mark.soak, pytest.mark.cli]


@pytest.mark.parametrize("tool_execution", ["mcp", "agent"])
async def test_a_hundred_runs_with_every_kind_of_end_leave_nothing_behind(
    messages_server: Callable[..., MessagesServer],
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
    tmp_path: Path,
    tool_execution: str,
) -> None:
    chance = random.Random(7)
    faults = [fault.overloaded(), fault.cut(after_events=2, reply=say("half")), fault.malformed(), fault.hang()]

    def answer(request: RecordedRequest) -> Answer:
        if chance.random() < 0.15:
            return chance.choice(faults)
        return say("done") if len(request.messages) > 6 else call("work", {"n": chance.randrange(100)})

    server = messages_server(answer)
    model = ClaudeCodeModel(
        "sonnet",
        tool_execution=tool_execution,  # pyright: ignore[reportArgumentType]
        env=claude_code_env(server),
        working_directory=tmp_path,
        max_retries=0,
        timeout=8,
    )
    agent = Agent(model)

    @agent.tool_plain
    async def work(n: int) -> int:
        """Work."""
        await asyncio.sleep(0.01)
        if n < 5:
            raise ZeroDivisionError
        if n < 10:
            for pid in cli_processes():
                os.kill(pid, signal.SIGKILL)
                break
        return n

    if tool_execution == "mcp":
        model.set_agent_toolsets(agent._function_toolset)
    limit = asyncio.Semaphore(3)
    ends: dict[str, int] = {}

    async def one() -> None:
        async with limit:
            run = asyncio.create_task(agent.run("Go."))
            cut_short = chance.random() < 0.2
            try:
                await asyncio.wait_for(run, chance.uniform(0.1, 2) if cut_short else None)
                end = "answered"
            # The last is pydantic-ai's: where the API's answer was cut twice before its first word, Claude Code reports
            # an empty answer as a success, and the agent asks again once.
            except (ClaudeCodeError, ZeroDivisionError, TimeoutError, UnexpectedModelBehavior) as error:
                end = type(error).__name__
            ends[end] = ends.get(end, 0) + 1

    before = asyncio.all_tasks()
    await asyncio.gather(*(one() for _ in range(100)))
    assert ends["answered"] > 10
    assert sum(ends.values()) == 100
    assert cli_processes() == set()
    assert asyncio.all_tasks() == before
