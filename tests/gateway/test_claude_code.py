"""The real Claude Code CLI with `hikidashi serve` as its one MCP server, over stdio and over HTTP."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage
from tests.gateway.servers import LEGACY, MODERN, free_port, program

from hikidashi.testing import MessagesServer, call, say

pytestmark = pytest.mark.cli

HIKIDASHI = str(Path(sys.executable).with_name("hikidashi"))


@asynccontextmanager
async def gateway(transport: str, folder: Path) -> AsyncGenerator[dict[str, Any]]:
    """How Claude Code is told of a gateway in front of two servers."""
    servers = [program(folder, "modern", MODERN), program(folder, "legacy", LEGACY)]
    config = folder / "mcp.json"
    entries = {one.name: {"command": one.command, "args": list(one.args)} for one in servers}
    config.write_text(json.dumps({"mcpServers": entries}))
    homes = {"HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state"), "XDG_RUNTIME_DIR": str(folder)}
    arguments = ["serve", "--config", str(config), "--yes", "--search", "on"]
    if transport == "stdio":
        yield {"type": "stdio", "command": HIKIDASHI, "args": arguments, "env": homes}
        await anyio.run_process([HIKIDASHI, "serve", "stop"], env={**os.environ, **homes})
        return
    port = free_port()
    process = await anyio.open_process([HIKIDASHI, *arguments, "--http", str(port)], env={**os.environ, **homes})
    try:
        assert process.stderr is not None
        await process.stderr.receive()
        yield {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_claude_code_searches_finds_calls_and_asks_its_person(
    transport: str,
    messages_server: Callable[..., MessagesServer],
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
    tmp_path: Path,
) -> None:
    script = [
        call("search_tools", {"query": "add two numbers"}),
        call("call_tool", {"name": "modern__add", "arguments": {"a": 2, "b": 40}}),
        call("call_read_tool", {"name": "legacy__read", "arguments": {"path": "x"}}),
        call("call_tool", {"name": "legacy__ask", "arguments": {}}),
        say("done"),
    ]
    person = {"hookEventName": "Elicitation", "action": "accept", "content": {"colour": "blue"}}
    answers = {"type": "command", "command": f"echo {shlex.quote(json.dumps({'hookSpecificOutput': person}))}"}
    server = messages_server(script)
    answer: ResultMessage | None = None
    async with gateway(transport, tmp_path) as config:
        settings = ClaudeAgentOptions(
            mcp_servers={"hikidashi": config},  # pyright: ignore[reportArgumentType]
            allowed_tools=["mcp__hikidashi__*", "mcp__hikidashi"],
            settings=json.dumps({"hooks": {"Elicitation": [{"hooks": [answers]}]}}),
            setting_sources=[],
            tools=[],
            cwd=tmp_path,
            env=claude_code_env(server),
        )
        async with ClaudeSDKClient(settings) as client:
            await client.query("What is 2 + 40?")
            async for message in client.receive_response():
                answer = message if isinstance(message, ResultMessage) else answer

    assert answer is not None
    assert (answer.result, server.refusals) == ("done", [])
    own = {f"mcp__hikidashi__{name}" for name in ("search_tools", "call_read_tool", "call_tool", "read_result")}
    assert own <= set(server.requests[0].tool_names)
    results = [request.tool_result_texts[0] for request in server.requests[1:]]
    assert '{"name":"modern__add","call_with":"call_tool"' in results[0]
    assert "42" in results[1]
    assert '"pid"' in results[2]
    assert "chosen: {'action': 'accept', 'content': {'colour': 'blue'}}" in results[3]


async def test_a_long_result_reaches_the_model_up_to_the_cap_and_with_its_handle(
    messages_server: Callable[..., MessagesServer],
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
    tmp_path: Path,
) -> None:
    server = messages_server([call("call_tool", {"name": "legacy__long", "arguments": {}}), say("done")])
    async with gateway("stdio", tmp_path) as config:
        settings = ClaudeAgentOptions(
            mcp_servers={"hikidashi": config},  # pyright: ignore[reportArgumentType]
            allowed_tools=["mcp__hikidashi__*", "mcp__hikidashi"],
            setting_sources=[],
            tools=[],
            cwd=tmp_path,
            env=claude_code_env(server),
        )
        async with ClaudeSDKClient(settings) as client:
            await client.query("Say a lot.")
            async for _ in client.receive_response():
                pass

    shown = "".join(server.requests[1].tool_result_texts)
    assert shown.startswith("word word ")
    assert "more characters: read them with read_result(handle=" in shown[-200:]
    assert 99_000 < len(shown) < 101_000
