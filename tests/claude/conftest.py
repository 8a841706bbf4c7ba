"""The real Claude Code CLI, with a private home, in front of a scripted Messages API."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support import ClaudeCode

from hikidashi import ClaudeCodeModel
from hikidashi.testing import MessagesServer


@pytest.fixture
def claude_code(
    messages_server: Callable[..., MessagesServer],
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
    tmp_path: Path,
) -> ClaudeCode:
    """`claude_code(script, **options)` gives a model and the server behind it."""

    def make(script: Any, **options: Any) -> tuple[ClaudeCodeModel, MessagesServer]:
        server = messages_server(script)
        env = {**claude_code_env(server), **options.pop("env", {})}
        options.setdefault("working_directory", tmp_path)
        options.setdefault("max_retries", 0)
        options.setdefault("timeout", 60.0)
        return ClaudeCodeModel("sonnet", env=env, **options), server

    return make
