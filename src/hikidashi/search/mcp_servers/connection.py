"""A connected client for an MCP server of any transport, and the reason in one line if it fails."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self, TextIO, cast

from ...errors import MissingExtra
from ._process import stdio_transport
from .config import McpServer

try:
    import httpx2
    from mcp.client import Client, IncomingMessage
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["Diagnostics", "connected"]

_LONGEST = 10_000


class OnMessage(Protocol):
    """Called with each notification of a server."""

    async def __call__(self, message: IncomingMessage) -> None:
        """Handle `message`."""
        ...


class Diagnostics:
    """The standard error of a server, or the status lines of its HTTP errors."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - see `__exit__`

    @property
    def file(self) -> TextIO:
        """The file to write to."""
        return cast("TextIO", self._file)

    def explain(self, failure: BaseException | str) -> str:
        """`failure` and the last line of the diagnostics, in one line and without secrets."""
        reason = failure if isinstance(failure, str) else _one_line(failure)
        lines = [line.strip() for line in self._end().splitlines() if line.strip()]
        if lines:
            source = "stderr ended with" if self._server.transport == "stdio" else "last HTTP error"
            reason = f"{reason}; {source}: {lines[-1]}"
        return self._server.without_secrets(reason)

    def _end(self) -> str:
        """The last lines; a server may have written more than fits into memory."""
        self._file.flush()
        buffer = cast("BinaryIO", cast("Any", self._file).buffer)
        buffer.seek(max(0, os.fstat(buffer.fileno()).st_size - _LONGEST))
        return buffer.read().decode("utf-8", "replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


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
    auth: httpx2.Auth | None = None,
    **callbacks: Any,
) -> AsyncGenerator[Client]:
    """A client that is connected to `server`, which is started where it is a process, and then ended.

    Args:
        server: How to reach it.
        diagnostics: Where its diagnostics go.
        seconds: How long it may take to answer over HTTP.
        grace: How long a process has to end by itself.
        on_message: Called with each notification of the server.
        on_start: Called with the id of a process.
        on_end: Called when a process has closed its output.
        wrap: Stands between the client and the transport.
        auth: Authorizes requests over HTTP.
        callbacks: What answers the server's own requests, as `mcp.Client` takes it.
    """
    async with AsyncExitStack() as stack:
        match server.transport:
            case "stdio":
                transport = stdio_transport(
                    server, stderr=diagnostics.file, grace=grace, on_start=on_start, on_end=on_end
                )
            case "http":
                http = httpx2.AsyncClient(
                    headers=dict(server.headers),
                    auth=auth,
                    follow_redirects=True,
                    timeout=httpx2.Timeout(seconds, read=None if on_message else seconds),
                    event_hooks={"response": [_writing_errors(diagnostics.file)]},
                )
                transport = streamable_http_client(server.url, http_client=await stack.enter_async_context(http))
            case _:
                transport = sse_client(server.url, headers=dict(server.headers), timeout=seconds, auth=auth)
        client = Client(wrap(transport), message_handler=on_message, cache=None, **callbacks)
        yield await stack.enter_async_context(client)


def _writing_errors(diagnostics: TextIO) -> Callable[[httpx2.Response], Awaitable[None]]:
    # The exceptions of the mcp client leave out the status.
    async def note(response: httpx2.Response) -> None:
        # Servers may refuse a GET, which only opens an optional stream.
        if response.is_error and response.request.method == "POST":
            diagnostics.write(f"{response.status_code} {response.reason_phrase}\n")

    return note


def _one_line(error: BaseException) -> str:
    """The first error inside nested exception groups, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
