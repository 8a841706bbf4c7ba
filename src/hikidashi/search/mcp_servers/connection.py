"""A connected client for an MCP server of any transport, and the reason in one line if it fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Protocol

from ...errors import MissingExtra
from ._bounded_http import BoundedClient
from ._diagnostics import Diagnostics
from ._process import stdio_transport
from .entries.config import McpServer
from .message_lines import LONGEST_MESSAGE
from .messages.large_events import LargeEvents

try:
    import httpx2
    from mcp.client import Client, IncomingMessage
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["Diagnostics", "connected"]


class OnMessage(Protocol):
    """Called with each notification of a server."""

    async def __call__(self, message: IncomingMessage) -> None:
        """Handle `message`."""
        ...


@asynccontextmanager
async def connected(
    server: McpServer,
    diagnostics: Diagnostics,
    *,
    seconds: float,
    grace: Callable[[], float],
    on_message: OnMessage | None = None,
    on_start: Callable[[int], None] = lambda _: None,
    on_end: Callable[[], None] = lambda: None,
    wrap: Callable[[AbstractAsyncContextManager[Any]], AbstractAsyncContextManager[Any]] = lambda transport: transport,
    on_request: Callable[[httpx2.Request], Awaitable[None]] | None = None,
    auth: httpx2.Auth | None = None,
    **callbacks: Any,
) -> AsyncGenerator[Client]:
    """A client that is connected to `server`, which is started where it is a process, and then ended.

    Args:
        server: How to reach it.
        diagnostics: Where its diagnostics go.
        seconds: Timeout of an HTTP request.
        grace: Returns how many seconds a process has to end by itself.
        on_message: Called with each notification of the server.
        on_start: Called with the id of a process.
        on_end: Called when a process has closed its output.
        wrap: Wraps the transport.
        on_request: Called with each HTTP request before it is sent.
        auth: Authorizes requests over HTTP.
        callbacks: Handlers of the server's own requests, for `mcp.Client`.
    """
    events = LargeEvents(LONGEST_MESSAGE)
    async with AsyncExitStack() as stack:
        match server.transport:
            case "stdio":
                transport = stdio_transport(
                    server, diagnostics=diagnostics, grace=grace, on_start=on_start, on_end=on_end
                )
            case "http":
                http = BoundedClient(
                    server.name,
                    events,
                    headers=dict(server.headers),
                    auth=auth,
                    follow_redirects=True,
                    timeout=httpx2.Timeout(seconds, read=None if on_message else seconds),
                    event_hooks={
                        "request": [] if on_request is None else [on_request],
                        "response": [_writing_errors(diagnostics)],
                    },
                )
                transport = events.wrap(
                    streamable_http_client(server.url, http_client=await stack.enter_async_context(http))
                )
            case _:
                transport = events.wrap(
                    sse_client(
                        server.url,
                        headers=dict(server.headers),
                        timeout=seconds,
                        auth=auth,
                        httpx_client_factory=partial(_event_client, server.name, events),
                    )
                )
        client = Client(wrap(transport), message_handler=on_message, cache=None, **callbacks)
        yield await stack.enter_async_context(client)


def _event_client(
    name: str,
    events: LargeEvents,
    headers: dict[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    return BoundedClient(name, events, headers=headers, timeout=timeout, auth=auth, follow_redirects=True)


def _writing_errors(diagnostics: Diagnostics) -> Callable[[httpx2.Response], Awaitable[None]]:
    # The exceptions of the mcp client leave out the status.
    async def note(response: httpx2.Response) -> None:
        # Servers may refuse a GET, which only opens an optional stream.
        if response.is_error and response.request.method == "POST":
            diagnostics.write(f"{response.status_code} {response.reason_phrase}")

    return note
