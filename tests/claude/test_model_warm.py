"""`warm=1`: the next CLI is started before it is needed, and used for nothing but what it was started for."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest
from tests.support import ClaudeCode, cli_processes

from hikidashi import ClaudeCodeModel
from hikidashi.errors import InvalidSettingError
from hikidashi.testing import MessagesServer, RecordedRequest, call, say

pytestmark = pytest.mark.cli

PLACE: ContextVar[str] = ContextVar("place", default="nowhere")


def script(request: RecordedRequest) -> Any:
    if request.tool_results or not request.tools:
        return say(" ".join(["ok", *request.tool_result_texts]))
    return call("seen", {})


async def waiting(model: ClaudeCodeModel) -> set[int]:
    """The processes of the CLIs that listen and wait."""
    await model._warm.ready()
    return cli_processes()


@pytest.mark.parametrize("tool_execution", ["mcp", "agent"])
async def test_the_next_run_uses_the_waiting_cli_with_its_own_tools_and_context(
    claude_code: ClaudeCode, tool_execution: str
) -> None:
    model, server = claude_code(script, tool_execution=tool_execution, warm=1)

    async def run(name: str) -> str:
        tools = FunctionToolset[object]()

        @tools.tool_plain
        def seen() -> str:
            """See."""
            return f"{name} in {PLACE.get()} by {cli_processes()}"

        if tool_execution == "mcp":
            model.set_agent_toolsets(tools)
        PLACE.set(f"place of {name}")
        return (await Agent(model, toolsets=[tools]).run("Go.")).output

    async with model:
        await run("first")
        for name in ("second", "third"):
            ready = await waiting(model)
            assert len(ready) == 1
            assert await run(name) == f"ok {name} in place of {name} by {ready}"
            assert ready & cli_processes() == set()
        assert len(await waiting(model)) == 1
    assert cli_processes() == set()
    assert len(server.requests) == 6


async def test_a_cli_is_not_used_for_anything_else_than_it_was_started_for(
    claude_code: ClaudeCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, server = claude_code(script, tool_execution="agent", warm=1)
    async with model:
        first = await Agent(model, instructions="Be brief.").run("Go.")
        ready = await waiting(model)
        others: list[tuple[Agent[None, str], dict[str, Any]]] = [
            (Agent(model, instructions="Be long."), {}),
            (Agent(model, instructions="Be brief."), {"model_settings": {"temperature": 0.5}}),
            (Agent(model, instructions="Be brief."), {"message_history": first.all_messages()}),
        ]
        for agent, options in others:
            await agent.run("Go.", **options)
            assert "brief" in server.requests[-1].system_text or agent is others[0][0]
            assert len(await waiting(model)) <= 1
        monkeypatch.setenv("SOMETHING", "else")
        before = await waiting(model)
        await Agent(model, instructions="Be brief.").run("Go.")
        assert not before & await waiting(model)
    assert "long" in server.requests[1].system_text
    assert server.requests[2].body["temperature"] == 0.5
    assert ready
    assert cli_processes() == set()


async def test_a_cli_that_ended_while_it_waited_is_replaced(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(script, warm=1)
    async with model:
        await Agent(model).run("Go.")
        for pid in await waiting(model):
            os.kill(pid, signal.SIGKILL)
        assert (await Agent(model).run("Go.")).output == "ok"


async def test_a_cli_that_nobody_uses_ends(claude_code: ClaudeCode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hikidashi.claude.launch._MAX_AGE", 0.01)
    model, _ = claude_code(script, warm=1)
    await Agent(model).run("Go.")
    while await model._warm.ready() or cli_processes():
        await asyncio.sleep(0.01)
    assert await model._warm.ready() == 0


def test_a_number_of_clis_is_a_number(claude_code: ClaudeCode) -> None:
    for wrong in (-1, True):
        with pytest.raises(InvalidSettingError, match="warm"):
            claude_code(script, warm=wrong)


async def test_nothing_waits_unless_asked_for_and_not_after_a_failure(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(script)
    await Agent(model).run("Go.")
    assert await waiting(model) == set()
    model, _ = claude_code([call("fail", {})], warm=1, tool_execution="agent")
    agent = Agent(model)

    @agent.tool_plain
    def fail() -> str:
        """Fail."""
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await agent.run("Go.")
    assert await waiting(model) == set()


async def test_a_request_without_an_agent_uses_it_too(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(script, warm=1)
    async with model:
        for _ in range(2):
            assert (await model_request(model, [ModelRequest.user_text_prompt("Hello.")])).text == "ok"
        assert len(await waiting(model)) == 1
    assert cli_processes() == set()


def test_event_loops_do_not_share_clis(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(script, warm=1)
    agent = Agent(model)

    async def run() -> set[int]:
        assert (await agent.run("Go.")).output == "ok"
        return await waiting(model)

    first = asyncio.run(run())
    assert cli_processes() == set()
    second = asyncio.run(run())
    assert cli_processes() == set()
    assert first
    assert second
    assert not first & second


async def test_entering_the_model_again_starts_a_cli_like_the_last_one(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(script, warm=1)
    agent = Agent(model)
    async with model:
        assert await waiting(model) == set()  # nothing is known yet of what will be asked
        await agent.run("Go.")
    async with model:
        ready = await waiting(model)
        assert len(ready) == 1
        await agent.run("Go.")
        assert not ready & cli_processes()
    assert cli_processes() == set()


def test_an_event_loop_that_ends_right_after_its_run_ends_at_once(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(script, warm=1)
    agent = Agent(model)

    async def run() -> str:
        return (await agent.run("Go.")).output

    assert [asyncio.run(run()) for _ in range(2)] == ["ok", "ok"]
    assert cli_processes() == set()


def test_a_program_that_ends_leaves_no_cli_and_no_complaint(
    messages_server: Callable[..., MessagesServer], claude_code_env: Callable[[MessagesServer], dict[str, str]]
) -> None:
    server = messages_server(script)
    program = """
from pydantic_ai import Agent
from hikidashi import ClaudeCodeModel
from tests.support import cli_processes

agent = Agent(ClaudeCodeModel("sonnet", warm=1))
print(agent.run_sync("Go.").output, agent.run_sync("Go.").output)
print(*cli_processes(), flush=True)
"""
    # Since Python 3.12, `run_sync` of pydantic-ai warns in a program without an event loop.
    no_loop = "ignore:There is no current event loop:DeprecationWarning"
    done = subprocess.run(
        [sys.executable, "-W", "default", "-W", no_loop, "-c", program],
        env={**os.environ, **claude_code_env(server), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    answers, processes = done.stdout.splitlines()
    assert answers == "ok ok"
    assert done.stderr == ""
    assert not any(Path(f"/proc/{pid}").exists() for pid in processes.split())
