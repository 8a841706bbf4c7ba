"""The server behind every contestant, on the `mcp` package: it lists the tools of a file, and has an `echo`.

A program: `python backend.py TOOLS.json [PORT]`; on stdio, or over HTTP at `/mcp` of the port.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server


def make_server(tools: list[types.Tool]) -> Server[Any]:
    """A server with these tools."""

    async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = str((params.arguments or {}).get("text", ""))
        return types.CallToolResult(content=[types.TextContent(text=text)])

    return Server("backend", on_list_tools=list_tools, on_call_tool=call_tool)


async def _serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _serve_http(server: Server[Any], port: int) -> None:
    import uvicorn

    # By default it closes connections that are idle for 5 s, as clients do: a request may fail at that moment.
    uvicorn.run(server.streamable_http_app(), port=port, log_level="error", timeout_keep_alive=75)


if __name__ == "__main__":
    path, *port = sys.argv[1:]
    served = make_server([types.Tool.model_validate(tool) for tool in json.loads(Path(path).read_text("utf-8"))])
    if port:
        _serve_http(served, int(port[0]))
    else:
        anyio.run(_serve_stdio, served)
