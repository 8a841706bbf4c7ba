"""The least that a proxy in Python can do, on the libraries of the gateway: it forwards requests and knows no MCP.

What it adds to a call is the floor for every gateway on uvicorn. A program: `python forwarding_proxy.py CONFIG.json
PORT`; it forwards `/mcp` of the port to the only server of the config.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hikidashi.gateway.http_server import http_server
from hikidashi.gateway.upstream.http_requests import HostConnections

_MOST = 64_000_000
_OF_ONE_HOP = {b"connection", b"keep-alive", b"transfer-encoding", b"server", b"date"}


def forwarding(url: str) -> Any:
    """An ASGI application that forwards every request to `url`."""
    parts = urlsplit(url)
    connections = HostConnections(str(parts.hostname), parts.port or 80, seconds=30)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        if scope["method"] != "POST":  # the stream of notifications, which is optional
            await send({"type": "http.response.start", "status": 405, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        response = await connections.post(b"/mcp", scope["headers"], body, repeatable=True)
        try:
            answer = await response.body(_MOST)
        finally:
            connections.release(response)
        left_out = {*_OF_ONE_HOP, b"content-length"}
        headers = [(name, value) for name, value in response.headers if name not in left_out]
        headers.append((b"content-length", str(len(answer)).encode()))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return app


if __name__ == "__main__":
    config, port = sys.argv[1:]
    (server,) = json.loads(Path(config).read_text("utf-8"))["mcpServers"].values()
    asyncio.run(http_server(forwarding(server["url"]), "127.0.0.1", int(port)).serve())
