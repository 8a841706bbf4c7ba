"""`to_mcp_search` with the official client over stdio, streamable HTTP and SSE."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from tests.mcp_support import call, names, search, served, text_of

from hikidashi import from_function
from hikidashi.search import to_mcp_search


def send_mail(to: str) -> str:
    """Send a mail to somebody."""
    return f"sent to {to}"


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


TOOLS = [from_function(send_mail), from_function(get_weather)]


class Told:
    """What a client is told beside its answers."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.something = anyio.Event()

    async def __call__(self, message: Any) -> None:
        self.messages.append(type(message).__name__)
        self.something.set()


PROGRAM = """
from hikidashi import from_function
from hikidashi.search import to_mcp_search

def send_mail(to: str) -> str:
    '''Send a mail to somebody.'''
    return f"sent to {to}"

to_mcp_search([from_function(send_mail)]).run()
"""


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_stdio_what_was_found_is_listed(mode: str) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=["-c", textwrap.dedent(PROGRAM)])
    told = Told()
    async with Client(parameters, mode=mode, message_handler=told) as client:
        assert (await client.call_tool("call_tool", {"name": "send_mail", "arguments": {}})).is_error
        await search(client, "send a mail")
        assert await names(client) == ["search_tools", "call_tool", "send_mail"]
        assert text_of(await client.call_tool("send_mail", {"to": "Ada"})) == "sent to Ada"
    assert told.messages == (["ToolListChangedNotification"] if mode == "legacy" else [])


@asynccontextmanager
async def served_over(transport: str) -> AsyncGenerator[Callable[..., Client]]:
    """A function that gives clients of one server."""
    server = to_mcp_search(TOOLS)
    app = server.sse_app() if transport == "sse" else server.streamable_http_app()
    async with served(app) as url:

        def client(**options: Any) -> Client:
            target: Any = sse_client(f"{url}/sse") if transport == "sse" else f"{url}/mcp"
            return Client(target, mode="legacy", **options)

        yield client


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_over_http_each_session_has_what_it_found_and_is_told(transport: str) -> None:
    told = Told()
    async with served_over(transport) as client, client(message_handler=told) as finder, client() as other:
        assert (await call(finder, "get_weather", {"city": "Kyoto"})).is_error
        await search(finder, "send a mail")
        with anyio.fail_after(30):
            await told.something.wait()
        assert set(told.messages) == {"ToolListChangedNotification"}
        assert await names(finder) == ["search_tools", "call_tool", "get_weather", "send_mail"]
        assert await names(other) == ["search_tools", "call_tool"]
        assert text_of(await finder.call_tool("send_mail", {"to": "Ada"})) == "sent to Ada"


async def test_over_http_a_session_that_is_forgotten_is_told_to_search_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hikidashi.search.mcp._MOST_SESSIONS", 1)
    async with served_over("http") as client, client() as finder, client() as other:
        await search(finder, "send a mail")
        await names(other)
        assert text_of(await finder.call_tool("send_mail", {"to": "Ada"})).startswith("'send_mail' was not called")
        assert text_of(await finder.call_tool("send_mail", {"to": "Ada"})) == "sent to Ada"


@pytest.mark.parametrize(("mode", "options"), [("auto", {}), ("legacy", {"stateless_http": True})])
async def test_over_http_without_sessions_everything_can_be_called_and_errors_show_the_tool(
    mode: str, options: dict[str, Any]
) -> None:
    app = to_mcp_search(TOOLS).streamable_http_app(**options)
    async with served(app) as url, Client(f"{url}/mcp", mode=mode) as client:
        await search(client, "send a mail")
        assert await names(client) == ["search_tools", "call_tool"]
        assert text_of(await call(client, "send_mail", {"to": "Ada"})) == "sent to Ada"
        assert text_of(await call(client, "get_weather", {"city": "Kyoto"})) == "rain in Kyoto"
        refused = text_of(await call(client, "send_mail", {"address": "Ada"}))
        assert json.loads(refused.split("\n")[-1])["input_schema"]["required"] == ["to"]
