"""Fixtures for a user's own tests: `messages_server`, `claude_code_env`, `tavily_server` and `slack_server`.

pytest imports this file at every start, so it imports nothing else of hikidashi until a fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .messages import MessagesServer
    from .script import Script
    from .slack import SlackServer
    from .tavily import TavilyServer


@pytest.fixture
def messages_server() -> Iterator[Callable[[Script], MessagesServer]]:
    """A function that starts a `MessagesServer` with the given script; the end of the test closes it."""
    from .messages import MessagesServer

    with ExitStack() as running:
        yield lambda script: running.enter_context(MessagesServer(script))


@pytest.fixture
def claude_code_env(tmp_path: Path) -> Callable[[MessagesServer], dict[str, str]]:
    """A function that gives the environment in which the Claude Code CLI talks to the given server only."""
    return lambda server: server.env(tmp_path / "claude-home")


@pytest.fixture
def tavily_server() -> Iterator[Callable[..., TavilyServer]]:
    """A function that starts a `TavilyServer` with the given pages and options; the end of the test closes it."""
    from .tavily import TavilyServer

    with ExitStack() as running:
        yield lambda *pages, **options: running.enter_context(TavilyServer(*pages, **options))


@pytest.fixture
def slack_server() -> Iterator[Callable[..., SlackServer]]:
    """A function that starts a `SlackServer` with the given options; the end of the test closes it."""
    from .slack import SlackServer

    with ExitStack() as running:

        def start(**options: Any) -> SlackServer:
            return running.enter_context(SlackServer(**options))

        yield start
