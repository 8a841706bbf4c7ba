"""Claude Code with our line: the real CLI, its rules, its hook and its question."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from hikidashi.testing import MessagesServer, call, say

NOTES = """
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("notes")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look(title: str) -> str:
    "Look at a note."
    return "seen " + title

def write(title: str) -> str:
    return "written " + title

for number in range(12):
    server.add_tool(write, name=f"write_{number}", description=f"Write a note of kind {number}.")

server.run()
"""


@pytest.mark.cli
async def test_claude_code_asks_with_the_name_of_the_real_tool(
    tmp_path: Path,
    messages_server: Callable[..., MessagesServer],
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
) -> None:
    server = messages_server(
        [
            call("mcp__hikidashi__call_read_tool", {"name": "notes__look", "arguments": {"title": "a"}}),
            call("mcp__hikidashi__call_tool", {"name": "notes__write_1", "arguments": {"title": "b"}}),
            call("mcp__hikidashi__call_tool", {"name": "notes__write_2", "arguments": {"title": "c"}}),
            call("mcp__hikidashi__call_tool", {"name": "notes__write_3", "arguments": {"title": "d"}}),
            say("done"),
        ]
    )
    env = {**claude_code_env(server), "XDG_RUNTIME_DIR": str(tmp_path / "run"), "MCP_TIMEOUT": "60000"}
    home = Path(env["HOME"])
    (tmp_path / "run").mkdir()
    (tmp_path / "notes.py").write_text(NOTES)
    (home / ".cursor").mkdir(parents=True)
    notes = {"command": sys.executable, "args": [str(tmp_path / "notes.py")]}
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"notes": notes}}))
    settings = Path(env["CLAUDE_CONFIG_DIR"]) / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    rules = {"deny": ["mcp__notes__write_2"], "allow": ["mcp__notes__write_3"]}
    settings.write_text(json.dumps({"permissions": rules}))
    before = settings.read_bytes()

    def hikidashi(*arguments: str) -> str:
        command = [sys.executable, "-m", "hikidashi", "serve", *arguments]
        outer = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        return subprocess.run(
            command, env={**outer, **env}, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    hikidashi("import", "notes", "--yes")
    hikidashi("install", "claude-code")
    asked: list[tuple[str, dict[str, Any], str | None]] = []

    async def ask(
        name: str, arguments: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        asked.append((name, arguments, context.decision_reason))
        return PermissionResultAllow()

    options = ClaudeAgentOptions(
        env={**env, "MCP_CONNECTION_NONBLOCKING": "0"},
        cwd=tmp_path,
        setting_sources=["user"],
        tools=[],
        can_use_tool=ask,
    )
    try:
        async with ClaudeSDKClient(options) as client:
            await client.query("Write notes.")
            async for _ in client.receive_response():
                pass
    finally:
        hikidashi("stop")
    results = [str(request.body["messages"][-1]["content"]) for request in server.requests[1:]]
    assert "seen a" in results[0]
    assert "written b" in results[1]
    assert "Tool 'write_2' of server 'notes', by your rule mcp__notes__write_2." in results[2]
    assert "written d" in results[3]
    assert asked == [
        (
            "mcp__hikidashi__call_tool",
            {"name": "notes__write_1", "arguments": {"title": "b"}},
            "Tool 'write_1' of server 'notes' wants to be called. Arguments: {\"title\": \"b\"}",
        )
    ]
    hikidashi("uninstall", "claude-code")
    assert settings.read_bytes() == before
    assert "hikidashi" not in json.loads((Path(env["CLAUDE_CONFIG_DIR"]) / ".claude.json").read_text())["mcpServers"]


@pytest.mark.cli
def test_claude_code_loses_what_is_moved_takes_our_commands_for_the_rest_and_gets_it_back(
    tmp_path: Path,
    messages_server: Callable[..., MessagesServer],
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
) -> None:
    env = {**os.environ, **claude_code_env(messages_server([]))}
    programs, project = tmp_path / "bin", tmp_path / "my project"
    programs.mkdir()
    project.mkdir()
    (programs / "claude").symlink_to(Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude")
    env = {name: value for name, value in env.items() if not name.startswith("XDG_")}
    env["PATH"] = f"{programs}{os.pathsep}{env['PATH']}"
    file = Path(env["CLAUDE_CONFIG_DIR"]) / ".claude.json"

    def shell(command: str) -> str:
        return subprocess.run(
            command, shell=True, env=env, cwd=project, check=True, capture_output=True, text=True
        ).stdout

    def hikidashi(*arguments: str) -> dict[str, Any]:
        return json.loads(shell(shlex.join([sys.executable, "-m", "hikidashi", "serve", *arguments, "--json"])))

    shell("claude mcp add notes --scope user --env KEY=sk-test -- notes-mcp --deep")
    shell("claude mcp add --scope project docs -- docs-mcp")
    shell("claude mcp add --scope local local -- local-mcp")
    before = json.loads(file.read_text())["mcpServers"]
    hikidashi("import", "--from", "claude-code", "--from", "claude-code-project", "--all", "--yes")
    done = hikidashi("install", "claude-code", "--move")
    assert (done["moved"], done["also_in_client"]) == (["notes"], ["local", "docs"])
    for one in done["not_moved"]:
        shell(one["command"])
    assert hikidashi("install", "claude-code")["also_in_client"] == []
    shell("claude mcp add --scope user another -- another-mcp")
    assert list(json.loads(file.read_text())["mcpServers"]) == ["hikidashi", "another"]
    assert hikidashi("uninstall", "claude-code")["put_back"] == ["notes"]
    after = json.loads(file.read_text())["mcpServers"]
    assert after == {"another": after["another"], **before}
    assert "notes" in shell("claude mcp remove notes --scope user")
