"""Tavily on loopback, and the tool in front of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

import pytest
from strands.types.tools import ToolContext

from hikidashi.config import WebSearchConfig
from hikidashi.testing import TavilyServer
from hikidashi.web.strands import WebSearchToolsFactory, web_search

Search = Callable[..., Coroutine[Any, Any, str]]


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)


@pytest.fixture
async def search() -> AsyncGenerator[Search]:
    """`await search(server, query, **config)` is what `web_search` says."""
    made: list[WebSearchToolsFactory] = []

    async def run(server: TavilyServer, query: str, **options: Any) -> str:
        config = WebSearchConfig(enabled=True, api_key="tvly-test", base_url=server.url, **options)
        factory = WebSearchToolsFactory(config)
        made.append(factory)
        use: Any = {"toolUseId": "t1", "name": "web_search", "input": {"query": query}}
        nobody: Any = None
        context = ToolContext(tool_use=use, agent=nobody, invocation_state=factory.get_invocation_state())
        return await web_search(query, context)

    yield run
    for factory in made:
        await factory.aclose()
