"""The real client of Tavily in front of a loopback Tavily, and the context that pydantic-ai hands to tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from hikidashi.testing.tavily import TavilyServer
from hikidashi.web import TavilyAPIClient, TavilySearchDeps
from hikidashi.web.providers.transport import RetryPolicy

Start = Callable[..., tuple[TavilyServer, RunContext[TavilySearchDeps]]]


@pytest.fixture
async def tavily() -> AsyncIterator[Start]:
    """`tavily(pages, **options)` gives a server and a context whose `deps.client` asks it; retries do not wait."""
    async with AsyncExitStack() as clients:
        with ExitStack() as servers:

            def start(pages: Any = (), **options: Any) -> tuple[TavilyServer, RunContext[TavilySearchDeps]]:
                server = servers.enter_context(TavilyServer(pages, **options))
                client = TavilyAPIClient("tvly-test", base_url=server.url, retry=RetryPolicy(first=0.0))
                clients.push_async_callback(client.aclose)
                deps = TavilySearchDeps(client=client)
                return server, RunContext(deps=deps, model=TestModel(), usage=RunUsage())

            yield start
            await clients.aclose()
