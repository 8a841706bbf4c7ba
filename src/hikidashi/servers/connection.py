"""A connected client for an MCP server of any transport, with bounds on what the server sends over HTTP.

The client of the `mcp` package reads bodies as a whole, and up to 2.2 it refuses server-sent events of over 1 MiB, such
as the list of a few thousand tools. Here each body is bounded, and the message of a large event is kept: the package
gets a short one in its place with a key, and behind the package, what was kept is put back.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from functools import partial
from typing import Any, Protocol

import httpx2
from mcp import types
from mcp.client import Client, IncomingMessage
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from .config import McpServer
from .failure import Diagnostics
from .messages import LONGEST_MESSAGE, FilteredStream
from .process import stdio_transport

_LARGE = 100_000  # characters; at most 400,000 bytes
_KEY = "hikidashi/largeEvent"


class LargeEvents:
    """The large events of one connection.

    Args:
        longest: Maximum number of bytes of an event.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._kept: dict[str, types.JSONRPCMessage] = {}

    async def shortened(self, response: httpx2.Response) -> AsyncGenerator[str]:
        """The events of a streamed response, with short ones in place of the large.

        Raises:
            httpx2.SSEError: an event is larger than allowed.
        """
        async for event in httpx2.EventSource(response, max_event_size=self._longest):
            data = event.data if len(event.data) <= _LARGE else self._short(event.data)
            fields = [f"event: {event.event}", f"id: {event.id}", *(f"data: {line}" for line in data.split("\n"))]
            fields += [] if event.retry is None else [f"retry: {event.retry}"]
            yield "\n".join([*fields, "", ""])

    @asynccontextmanager
    async def wrap(self, transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[tuple[Any, Any]]:
        """`transport` with the messages of large events put back."""
        async with transport as (read, write):
            yield FilteredStream(read, self.restore), write

    def restore(self, message: types.JSONRPCMessage) -> None:
        """Put back what was kept in place of `message`."""
        match message:
            case types.JSONRPCResponse():
                kept = self._kept.pop(str(message.result.get(_KEY)), None)
                if isinstance(kept, types.JSONRPCResponse):
                    message.result = kept.result
            case types.JSONRPCError():
                kept = self._kept.pop(message.error.message, None)
                if isinstance(kept, types.JSONRPCError):
                    message.error = kept.error
            case _:
                kept = self._kept.pop(str((message.params or {}).get(_KEY)), None)
                if isinstance(kept, types.JSONRPCRequest | types.JSONRPCNotification):
                    message.params = kept.params

    def _short(self, data: str) -> str:
        try:
            message = types.jsonrpc_message_adapter.validate_json(data, by_name=False)
        except ValueError:  # the package says what is wrong with it
            return data
        key = secrets.token_hex()
        self._kept[key] = message
        return _with_key(message, key).model_dump_json(by_alias=True, exclude_unset=True)


def _with_key(message: types.JSONRPCMessage, key: str) -> types.JSONRPCMessage:
    match message:
        case types.JSONRPCResponse():
            return message.model_copy(update={"result": {_KEY: key}})
        case types.JSONRPCError():
            return message.model_copy(update={"error": types.ErrorData(code=message.error.code, message=key)})
        case _:
            return message.model_copy(update={"params": {_KEY: key}})


_PIECE = 1 << 16


class BoundedClient(httpx2.AsyncClient):
    """An HTTP client for one server.

    Args:
        name: The name of the server, for errors.
        events: Keeps the large events of streams.
        options: As those of `httpx2.AsyncClient`.
    """

    def __init__(self, name: str, events: LargeEvents, **options: Any) -> None:
        super().__init__(**options)
        self._name = name
        self._events = events

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Send a request. The body of a streamed response is bounded."""
        response = await super().send(request, stream=stream, **options)
        if not stream:
            return response
        if response.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream":
            return _EventStream(response, self._name, self._events)
        return _BoundedResponse(response, self._name)


class _Response(httpx2.Response):
    """A response as it came, for one server."""

    def __init__(self, response: httpx2.Response, name: str) -> None:
        super().__init__(
            response.status_code,
            headers=response.headers,
            stream=response.stream,
            request=response.request,
            extensions=response.extensions,
            history=response.history,
        )
        self._server_name = name

    def _too_large(self) -> httpx2.StreamError:
        # The mcp client answers the request with the message of this error.
        return httpx2.StreamError(
            f"The server {self._server_name!r} sent a message of more than {LONGEST_MESSAGE:,} bytes, "
            "which is the limit. Ask it for less at once."
        )


class _EventStream(_Response):
    def __init__(self, response: httpx2.Response, name: str, events: LargeEvents) -> None:
        super().__init__(response, name)
        self._response = response
        self._events = events

    async def aiter_text(self, chunk_size: int | None = None) -> AsyncGenerator[str, None]:
        async with aclosing(self._events.shortened(self._response)) as parts:
            try:
                async for text in parts:
                    yield text
            except httpx2.SSEError as error:
                raise self._too_large() from error


class _BoundedResponse(_Response):
    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        size, held = 0, bytearray()  # small chunks are joined: each takes memory of its own
        async with aclosing(super().aiter_bytes(chunk_size)) as parts:
            async for part in parts:
                size += len(part)
                if size > LONGEST_MESSAGE:
                    raise self._too_large()
                held += part
                if len(held) >= _PIECE:
                    yield bytes(held)
                    held.clear()
        if held:
            yield bytes(held)


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
                factory: Any = partial(BoundedClient, server.name, events, follow_redirects=True)
                transport = events.wrap(
                    sse_client(
                        server.url,
                        headers=dict(server.headers),
                        timeout=seconds,
                        auth=auth,
                        httpx_client_factory=factory,
                    )
                )
        client = Client(wrap(transport), message_handler=on_message, cache=None, **callbacks)
        yield await stack.enter_async_context(client)


def _writing_errors(diagnostics: Diagnostics) -> Callable[[httpx2.Response], Awaitable[None]]:
    # The exceptions of the mcp client leave out the status.
    async def note(response: httpx2.Response) -> None:
        # Servers may refuse a GET, which only opens an optional stream.
        if response.is_error and response.request.method == "POST":
            diagnostics.write(f"{response.status_code} {response.reason_phrase}")

    return note
