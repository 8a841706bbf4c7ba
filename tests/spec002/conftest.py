"""The real Claude Code CLI, asked through the Claude Agent SDK itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from claude_agent_sdk import ClaudeAgentOptions, McpSdkServerConfig, ResultMessage, query

from hikidashi.testing import MessagesServer
from hikidashi.testing.script import Script

Ask = Callable[[McpSdkServerConfig, Script], Awaitable[tuple[MessagesServer, ResultMessage]]]


@pytest.fixture
def ask_claude(
    messages_server: Callable[[Script], MessagesServer],
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
    tmp_path: Path,
) -> Ask:
    """`await ask_claude(config, script)` gives the API that Claude Code talked to, and the end of the conversation."""

    async def ask(config: McpSdkServerConfig, script: Script) -> tuple[MessagesServer, ResultMessage]:
        server = messages_server(script)
        options = ClaudeAgentOptions(
            mcp_servers={config["name"]: config},
            allowed_tools=[f"mcp__{config['name']}"],
            tools=[],
            setting_sources=[],
            system_prompt="You are a test.",
            cwd=tmp_path,
            env=claude_code_env(server),
        )
        messages = [message async for message in query(prompt="Go.", options=options)]
        [end] = [message for message in messages if isinstance(message, ResultMessage)]
        return server, end

    return ask
