"""A real client of the loopback Messages API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anthropic import Anthropic

from hikidashi.testing import MessagesServer

Start = Callable[..., tuple[MessagesServer, Any]]


@pytest.fixture
def api() -> Iterator[Start]:
    """`api(*script, dialect=...)` gives a server and an anthropic client of it."""
    running: list[tuple[MessagesServer, Anthropic]] = []

    def start(*script: Any, dialect: Any = "2026") -> tuple[MessagesServer, Any]:
        server = MessagesServer(list(script), tool_search_dialect=dialect).start()
        client = Anthropic(base_url=server.url, api_key="sk-test", max_retries=0)
        running.append((server, client))
        return server, client

    yield start
    for server, client in running:
        client.close()
        server.close()
        assert server.failures == []
