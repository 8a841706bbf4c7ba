"""The HTTP server of the gateway: on real sockets, with either parser that uvicorn may have."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import pytest
import uvicorn

from hikidashi.gateway.http_server import http_server

_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@asynccontextmanager
async def serving(app: Any) -> AsyncGenerator[tuple[uvicorn.Server, tuple[asyncio.StreamReader, asyncio.StreamWriter]]]:
    """The server of `app`, and a connection to it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = http_server(app, *listening.getsockname())
        task = asyncio.create_task(server.serve(sockets=[listening]))
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        try:
            yield server, (reader, writer)
        finally:
            writer.close()
            server.should_exit = True
            await task


async def _lifespan(scope: Any, receive: Any, send: Any) -> bool:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
    return scope["type"] == "lifespan"


async def test_head_and_body_of_a_response_are_written_at_once_and_the_connection_stays_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[bytes] = []
    transport_of_sockets: Any = vars(import_module("asyncio.selector_events"))["_SelectorSocketTransport"]
    write: Any = transport_of_sockets.write

    def recorded(transport: Any, data: Any) -> None:
        written.append(bytes(data))
        write(transport, data)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if not await _lifespan(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
            await send({"type": "http.response.body", "body": b"hello"})

    async with serving(app) as (server, (reader, writer)):
        monkeypatch.setattr(transport_of_sockets, "write", recorded)
        for _ in range(2):
            writer.write(_REQUEST)
            assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200 OK\r\n")
        assert server.config.timeout_keep_alive > 60

    answers = [data for data in written if data != _REQUEST]
    assert [data.endswith(b"\r\n\r\nhello") for data in answers] == [True, True]


async def test_a_long_stream_arrives_whole_and_parts_that_are_sent_apart_arrive_apart() -> None:
    go_on = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if not await _lifespan(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5000005")]})
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            await go_on.wait()
            for _ in range(50):
                await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    async with serving(app) as (_, (reader, writer)):
        writer.write(_REQUEST)
        await reader.readuntil(b"\r\n\r\nfirst")
        go_on.set()
        assert await reader.readexactly(5_000_000) == b"x" * 5_000_000
