"""Whatever breaks, nothing hangs, nothing is left running, and the error says what to do."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ModelAPIError, ModelHTTPError
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.test import TestModel
from tests.support import ClaudeCode, cli_processes

from hikidashi import ClaudeCodeError, ClaudeCodeModel
from hikidashi.errors import (
    ClaudeCodeAPIError,
    ClaudeCodeLimitError,
    ClaudeCodeNotFoundError,
    ClaudeCodeProcessError,
    ClaudeCodeTimeoutError,
)
from hikidashi.testing import Answer, MessagesServer, RecordedRequest, call, fault, say

pytestmark = pytest.mark.cli


def adder(model: ClaudeCodeModel) -> Agent[None, str]:
    agent = Agent(model)

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    if model.tool_execution == "mcp":
        model.set_agent_toolsets(agent._function_toolset)
    return agent


def always(answer: Answer) -> Callable[[RecordedRequest], Answer]:
    return lambda _: answer


FAULTS: list[tuple[str, Any, int | None, str]] = [
    ("rate limit", fault.rate_limited(retry_after=1), 429, "Wait and try again"),
    ("server error", fault.server_error(), 500, "try again later"),
    ("overloaded", fault.overloaded(), 529, "try again later"),
    ("refused key", fault.status(401, "authentication_error", "invalid x-api-key"), 401, "ANTHROPIC_API_KEY"),
    ("unknown model", fault.status(404, "not_found_error", "model: sonnet"), 404, "model name"),
    ("bad request", fault.status(400, "invalid_request_error", "nope"), 400, "Check the request"),
]


# Tools run in either place for half of the failures: the error is made in one.
@pytest.mark.parametrize(
    ("tool_execution", "answer", "status", "remedy"),
    [(mode, *row[1:]) for mode, row in zip(["mcp", "agent"] * 3, FAULTS, strict=True)],
    ids=[row[0] for row in FAULTS],
)
async def test_an_api_failure_after_a_tool_is_typed_and_says_what_to_do(
    claude_code: ClaudeCode, tool_execution: str, answer: Any, status: int | None, remedy: str
) -> None:
    """Failures of a first request are compared with `AnthropicModel` in `test_model_errors`."""

    def script(request: RecordedRequest) -> Any:
        return answer if request.tool_results else call("add", {"a": 1, "b": 2})

    model, _ = claude_code(script, tool_execution=tool_execution)
    with pytest.raises(ClaudeCodeAPIError, match=remedy) as caught:
        await adder(model).run("Go.")
    assert caught.value.status_code == status
    assert isinstance(caught.value, ModelHTTPError)
    assert cli_processes() == set()


@pytest.mark.parametrize("tool_execution", ["mcp", "agent"])
@pytest.mark.parametrize(
    "answer", [fault.cut(after_events=2, reply=say("half an answer")), fault.malformed()], ids=["cut", "malformed"]
)
async def test_a_broken_stream_is_typed(claude_code: ClaudeCode, tool_execution: str, answer: Any) -> None:
    model, _ = claude_code(always(answer), tool_execution=tool_execution)
    with pytest.raises((ClaudeCodeAPIError, ClaudeCodeProcessError)) as caught:
        await adder(model).run("Go.")
    assert isinstance(caught.value, ModelAPIError)
    assert cli_processes() == set()


async def test_an_api_that_is_not_there_is_typed(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([], env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    with pytest.raises(ClaudeCodeAPIError, match="ANTHROPIC_BASE_URL"):
        await Agent(model).run("Go.")


async def test_an_api_that_never_answers_ends_at_the_timeout(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([fault.hang()])
    with pytest.raises(ClaudeCodeTimeoutError, match="2 s"):
        await Agent(model).run("Go.", model_settings={"timeout": 2})
    assert cli_processes() == set()


@pytest.mark.parametrize("tool_execution", ["mcp", "agent"])
@pytest.mark.parametrize("sync", [False, True], ids=["async", "thread"])
async def test_a_tool_that_never_returns_ends_at_the_timeout(
    claude_code: ClaudeCode, sync: bool, tool_execution: str
) -> None:
    model, server = claude_code([call("stuck", {})], timeout=2.5, tool_execution=tool_execution)
    agent = Agent(model)
    release = threading.Event()

    async def forever() -> str:
        """Never return."""
        await asyncio.Event().wait()
        return ""

    def forever_in_a_thread() -> str:
        """Return only when there is no CLI left to wait for the answer."""
        while cli_processes() and not release.wait(0.05):
            pass
        return ""

    agent.tool_plain(name="stuck")(forever_in_a_thread if sync else forever)
    if tool_execution == "mcp":
        model.set_agent_toolsets(agent._function_toolset)
    try:
        with pytest.raises(ClaudeCodeTimeoutError, match=r"2\.5 s.*(tool that it called|pydantic-ai to run 'stuck')"):
            await agent.run("Go.")
        assert cli_processes() == set()
        assert len(server.requests) == 1
    finally:
        release.set()


async def test_a_timeout_of_a_tool_itself_is_not_taken_for_that_of_the_request(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([call("late", {})], tool_execution="agent")
    agent = Agent(model)

    @agent.tool_plain
    async def late() -> str:
        """Be late."""
        raise TimeoutError("the tool's own")

    with pytest.raises(TimeoutError, match="the tool's own"):
        await agent.run("Go.")
    assert cli_processes() == set()


async def test_a_cli_killed_while_it_answers_is_typed(claude_code: ClaudeCode) -> None:
    def kill(_: Any) -> Any:
        for pid in cli_processes():
            os.kill(pid, signal.SIGKILL)
        return say("too late", delay=0.5)

    model, _ = claude_code(kill)
    with pytest.raises(ClaudeCodeProcessError, match="hikidashi doctor") as caught:
        await Agent(model).run("Go.")
    assert isinstance(caught.value, ModelAPIError)
    assert cli_processes() == set()


# The SDK complains to the event loop when it cannot write to a dead CLI, so these runs get a loop of their own.


def test_a_cli_killed_while_a_tool_runs_is_started_again_with_nothing_lost(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("kill", {}), say("alive")], tool_execution="agent")
    agent = Agent(model)

    @agent.tool_plain
    async def kill() -> str:
        """Kill the CLI."""
        for pid in cli_processes():
            os.kill(pid, signal.SIGKILL)
        while cli_processes():
            await asyncio.sleep(0.01)
        return "killed"

    assert asyncio.run(agent.run("Go.")).output == "alive"
    assert server.requests[1].tool_result_texts == ["killed"]
    assert cli_processes() == set()


def test_a_cli_killed_while_the_mcp_server_runs_a_tool_is_typed(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([call("kill", {}), say("never")])
    agent = Agent(model)

    @agent.tool_plain
    def kill() -> str:
        """Kill the CLI."""
        for pid in cli_processes():
            os.kill(pid, signal.SIGKILL)
        return "killed"

    model.set_agent_toolsets(agent._function_toolset)
    with pytest.raises(ClaudeCodeProcessError):
        asyncio.run(agent.run("Go."))


async def test_a_tool_that_raises_is_told_to_claude_in_mcp_mode(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("fail", {}), say("It failed.")])
    agent = Agent(model)

    @agent.tool_plain
    def fail() -> str:
        """Fail."""
        raise ZeroDivisionError("by nothing")

    model.set_agent_toolsets(agent._function_toolset)
    assert (await agent.run("Go.")).output == "It failed."
    (result,) = server.requests[1].tool_results
    assert result["is_error"]
    assert "by nothing" in str(result["content"])


async def test_a_tool_whose_inner_task_was_cancelled_is_a_failure_and_the_next_call_runs(
    claude_code: ClaudeCode,
) -> None:
    model, server = claude_code([call("inner", {}), call("add", {"a": 1, "b": 2}), say("3")])
    agent = adder(model)

    @agent.tool_plain
    async def inner() -> str:
        """Wait for a task that is cancelled."""
        task = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(task.cancel)
        await task
        return ""

    model.set_agent_toolsets(agent._function_toolset)
    assert (await agent.run("Go.")).output == "3"
    (failed,) = server.requests[1].tool_results
    assert failed["is_error"]
    assert "CancelledError" in str(failed["content"])
    assert server.requests[2].tool_result_texts == ["3"]


async def test_a_cancelled_run_cancels_the_tool_that_the_mcp_server_runs(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("wait", {})])
    agent = Agent(model)
    heard: list[str] = []
    started = asyncio.Event()

    @agent.tool_plain
    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise
        return ""

    model.set_agent_toolsets(agent._function_toolset)
    run = asyncio.create_task(agent.run("Go."))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert heard == ["cancelled"]
    assert cli_processes() == set()
    assert len(server.requests) == 1


@pytest.mark.parametrize("tool_execution", ["mcp", "agent"])
async def test_a_result_of_a_megabyte_does_not_break_the_run(claude_code: ClaudeCode, tool_execution: str) -> None:
    model, server = claude_code([call("big", {}), say("long")], tool_execution=tool_execution)
    agent = Agent(model)

    @agent.tool_plain
    def big() -> str:
        """A long text."""
        return "あ" * 350_000

    if tool_execution == "mcp":
        model.set_agent_toolsets(agent._function_toolset)
    assert (await agent.run("Go.")).output == "long"
    assert len(server.requests[1].tool_results) == 1


async def test_cancelling_while_the_model_answers_ends_the_process(claude_code: ClaudeCode) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def never(_: RecordedRequest) -> Any:
        loop.call_soon_threadsafe(asked.set)
        return fault.hang()

    model, server = claude_code(never)
    run = asyncio.create_task(Agent(model).run("Go."))
    await asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert cli_processes() == set()
    assert len(server.requests) == 1


async def test_max_turns_is_a_limit_with_a_name(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(always(call("add", {"a": 1, "b": 2})), max_turns=2, tool_execution="mcp")
    with pytest.raises(ClaudeCodeLimitError, match="max_turns"):
        await adder(model).run("Go.")


async def test_max_budget_is_a_limit_with_a_name(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(always(call("add", {"a": 1, "b": 2})), max_budget_usd=0.000001)
    with pytest.raises(ClaudeCodeLimitError, match="max_budget_usd"):
        await adder(model).run("Go.")


async def test_a_missing_cli_is_named(claude_code: ClaudeCode, tmp_path: Path) -> None:
    model, _ = claude_code([], cli_path=tmp_path / "nowhere" / "claude")
    with pytest.raises(ClaudeCodeNotFoundError, match="nowhere"):
        await Agent(model).run("Go.")


async def test_a_cli_that_is_no_cli_is_typed(claude_code: ClaudeCode, tmp_path: Path) -> None:
    fake = tmp_path / "claude"
    fake.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    fake.chmod(0o755)
    model, _ = claude_code([], cli_path=fake)
    with pytest.raises(ClaudeCodeProcessError, match="broken"):
        await Agent(model).run("Go.")


async def test_another_model_can_take_over(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([fault.overloaded()])
    result = await Agent(FallbackModel(model, TestModel(custom_output_text="from the other one"))).run("Go.")
    assert result.output == "from the other one"


async def test_a_killed_parent_takes_the_cli_with_it(
    messages_server: Callable[..., MessagesServer], claude_code_env: Callable[[MessagesServer], dict[str, str]]
) -> None:
    server = messages_server(always(call("wait", {})))
    program = """
import asyncio, os
from pydantic_ai import Agent
from hikidashi import ClaudeCodeModel

agent = Agent(ClaudeCodeModel("sonnet", tool_execution="agent"))

@agent.tool_plain
async def wait() -> str:
    print("parked", flush=True)
    await asyncio.Event().wait()
    return ""

asyncio.run(agent.run("Go."))
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, **claude_code_env(server)}, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    with parent.stdout:
        assert await asyncio.to_thread(parent.stdout.readline) == b"parked\n"
        (cli,) = cli_processes(parent.pid)
        parent.kill()
        parent.wait()
    async with asyncio.timeout(30):
        while Path(f"/proc/{cli}").exists():
            await asyncio.sleep(0.05)


def test_errors_survive_pickle() -> None:
    import pickle

    from hikidashi.claude.failures import api_failure, failed_process

    for error in (api_failure("no", 429, "m"), api_failure("no", None, "m"), failed_process(None, "m", "words")):
        again = pickle.loads(pickle.dumps(error))
        assert isinstance(again, ClaudeCodeError)
        assert str(again) == str(error)
