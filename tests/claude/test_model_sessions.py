"""What a session leaves behind: nothing in memory, in the temporary folder or in the log."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from pathlib import Path
from typing import Any, cast

import pytest
from mcp.client import Client
from mcp.types import CallToolResult
from pydantic_ai import Agent
from pydantic_ai.tools import ToolDefinition
from tests.support import ClaudeCode, cli_processes

from hikidashi import ToolValidationError
from hikidashi.claude.session import CALL_ID_META, ParkedTools, Session
from hikidashi.errors import ClaudeCodeProcessError
from hikidashi.testing import call, say

WAIT = ToolDefinition(name="wait", parameters_json_schema={"type": "object", "properties": {}})


def sessions() -> list[Session]:
    gc.collect()
    return [found for found in gc.get_objects() if type(found) is Session]


@pytest.mark.cli
async def test_ended_sessions_are_not_kept(claude_code: ClaudeCode) -> None:
    before = len(sessions())

    async def run() -> None:
        model, _ = claude_code([call("seen", {}), say("ok")], tool_execution="agent")
        agent = Agent(model)
        agent.tool_plain(name="seen")(lambda: str(len(sessions())))
        assert (await agent.run("Go.")).output == "ok"

    for _ in range(2):  # in one context, as a long-running program has it
        await run()
    assert len(sessions()) == before


@pytest.mark.cli
async def test_temporary_files_of_claude_code_go_with_it(claude_code: ClaudeCode, tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    during: list[Path] = []

    def answer(_: Any) -> Any:
        during.extend(folder.iterdir())
        if len(during) == 1:
            return say("ok")
        for pid in cli_processes():
            os.kill(pid, signal.SIGKILL)
        return say("too late", delay=0.5)

    model, _ = claude_code(answer, env={"CLAUDE_CODE_TMPDIR": str(folder)})
    agent = Agent(model, instructions="川" * 50_000)
    assert (await agent.run("Hello.")).output == "ok"
    assert list(folder.iterdir()) == []
    with pytest.raises(ClaudeCodeProcessError):
        await agent.run("Hello.")
    assert list(folder.iterdir()) == []
    assert len(set(during)) == 2


async def test_options_that_cannot_be_made_leave_no_temporary_files(claude_code: ClaudeCode, tmp_path: Path) -> None:
    def fail(_: Any) -> Any:
        raise ZeroDivisionError

    folder = tmp_path / "temporary"
    folder.mkdir()
    model, _ = claude_code([], env={"CLAUDE_CODE_TMPDIR": str(folder)}, customize=fail)
    with pytest.raises(ZeroDivisionError):
        await Agent(model).run("Hello.")
    assert list(folder.iterdir()) == []


async def test_a_released_call_ends_with_an_error_and_the_server_lives_on(caplog: pytest.LogCaptureFixture) -> None:
    parked = ParkedTools([WAIT], server_name="t")

    async def called(client: Client, call_id: str) -> CallToolResult:
        return await client.call_tool("wait", {}, meta=cast("Any", {CALL_ID_META: call_id}))

    with caplog.at_level(logging.WARNING):
        async with Client(cast("Any", parked.config())["instance"]) as client:
            first = asyncio.create_task(called(client, "1"))
            while "1" not in parked._calls:
                await asyncio.sleep(0)
            parked.release()
            assert (await first).is_error
            parked.answer([{"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "ok"}]}])
            second = await called(client, "2")
            assert not second.is_error
    assert caplog.text == ""


async def test_a_turn_goes_on_only_if_all_its_calls_were_answered() -> None:
    parked = ParkedTools([WAIT], server_name="t")
    parked.answer([{"type": "tool_result", "tool_use_id": "1", "content": []}])
    batch: dict[str, Any] = {"tool_calls": [{"tool_use_id": "1"}, {"tool_use_id": "Read's"}]}
    assert parked.end_abandoned_turn(batch) == {}
    assert not parked.abandoned
    parked.release(["2"])
    batch["tool_calls"].append({"tool_use_id": "2"})
    assert parked.end_abandoned_turn(batch).get("continue_") is False
    assert parked.abandoned


@pytest.mark.cli
async def test_a_tool_that_claude_code_leaves_out_is_named(claude_code: ClaudeCode) -> None:
    def deny(options: Any) -> Any:
        options.disallowed_tools = ["mcp__pydantic_tools__tool_500", "mcp__pydantic_tools__tool_7"]
        return options

    model, server = claude_code([say("never")], tool_execution="agent", customize=deny)
    agent = Agent(model)
    for number in range(1_000):
        agent.tool_plain(name=f"tool.{number}")(lambda: "")
    with pytest.raises(ToolValidationError, match=r"2 of the tools.*tool_500', 'mcp__pydantic_tools__tool_7'.*Likely"):
        await agent.run("Go.")
    assert cli_processes() == set()
    assert len(server.requests) <= 1


@pytest.mark.cli
@pytest.mark.parametrize("tool_execution", ["mcp", "agent"])
async def test_a_thousand_tools_are_all_offered(claude_code: ClaudeCode, tool_execution: str) -> None:
    model, server = claude_code([call("tool_999", {}), say("ok")], tool_execution=tool_execution)
    agent = Agent(model)
    for number in range(1_000):
        agent.tool_plain(name=f"tool.{number}")(lambda: "")
    if tool_execution == "mcp":
        model.set_agent_toolsets(agent._function_toolset)
    assert (await agent.run("Go.")).output == "ok"
    assert len(server.requests[0].tool_names) == 1_000
