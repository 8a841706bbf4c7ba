"""What tests of MCP seams share: short words for the client, and an app on a free port."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp import Client, types


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


async def search(client: Client, query: str) -> types.CallToolResult:
    return await client.call_tool("search_tools", {"query": query})


async def call(client: Client, name: str, arguments: Any) -> types.CallToolResult:
    return await client.call_tool("call_tool", {"name": name, "arguments": arguments})


@asynccontextmanager
async def served(
    app: Any, given: socket.socket | None = None, *, certificate: Path | None = None
) -> AsyncGenerator[str]:
    """The address of `app` on a free port, or on a socket that listens already; over TLS with a `certificate`."""
    with given or socket.create_server(("127.0.0.1", 0)) as listening:  # who comes early waits
        config = uvicorn.Config(
            app, log_level="error", ws="none", timeout_graceful_shutdown=1, ssl_certfile=certificate
        )
        http = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(http.serve, [listening])
            try:
                yield f"http{'s' if certificate else ''}://127.0.0.1:{listening.getsockname()[1]}"
            finally:
                http.should_exit = True
