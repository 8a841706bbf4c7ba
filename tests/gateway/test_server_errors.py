"""Errors that servers answer with: they pass as they are, also under the code that a lost connection has."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import MCPError
from tests.gateway.servers import program
from tests.gateway.test_gateway import MODES, Mode, connected, text_of

from hikidashi import from_mcp
from hikidashi.servers.config import McpServer
from hikidashi.servers.failure import is_lost_connection

MODERN = """
import os
import anyio
from mcp import MCPError, types
from mcp.server import Server
from mcp.server.stdio import stdio_server

async def on_list_tools(context, params):
    schema = {"type": "object"}
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=schema) for name in ("refuse", "pid")])

async def on_call_tool(context, params):
    if params.name == "refuse":
        raise MCPError(code=-32000, message="Access denied", data={"why": "no key"})
    return types.CallToolResult(content=[types.TextContent(text=str(os.getpid()))])

async def main():
    server = Server("refusing", on_list_tools=on_list_tools, on_call_tool=on_call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""

OLDER = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    method, asked = message.get("method"), message.get("id")
    if asked is None:
        continue
    answer = {"error": {"code": -32601, "message": "no"}}
    if method == "initialize":
        answer = {"result": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "refusing", "version": "1"}}}
    elif method == "tools/list":
        schema = {"type": "object"}
        answer = {"result": {"tools": [{"name": name, "inputSchema": schema} for name in ("refuse", "pid")]}}
    elif method == "tools/call" and message["params"]["name"] == "refuse":
        answer = {"error": {"code": -32000, "message": "Access denied", "data": {"why": "no key"}}}
    elif method == "tools/call":
        answer = {"result": {"content": [{"type": "text", "text": str(os.getpid())}]}}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked, **answer}) + "\\n")
    sys.stdout.flush()
"""


@pytest.fixture(params=[MODERN, OLDER], ids=["modern", "older"])
def refusing(request: pytest.FixtureRequest, tmp_path: Path) -> McpServer:
    return program(tmp_path, "refusing", request.param)


@pytest.mark.parametrize("mode", MODES)
async def test_an_error_of_a_server_is_no_lost_connection(mode: Mode, refusing: McpServer) -> None:
    async with connected([refusing], mode) as (client, gateway):
        before = text_of(await client.call_tool("refusing__pid", {}))
        with pytest.raises(MCPError) as refused:
            await client.call_tool("refusing__refuse", {})
        after = text_of(await client.call_tool("refusing__pid", {}))

    assert (refused.value.code, refused.value.message) == (-32000, "Access denied")
    assert refused.value.error.data == {"why": "no key"}
    assert before == after
    assert gateway.states[0].restarts == 0


async def test_a_tool_from_mcp_raises_the_error_of_its_server(refusing: McpServer) -> None:
    async with connected([refusing]) as (client, _):
        tools = {tool.name: tool for tool in await from_mcp(client)}
        with pytest.raises(MCPError, match="Access denied") as refused:
            await tools["refusing__refuse"].call({})
    assert not is_lost_connection(refused.value)
    assert is_lost_connection(MCPError(code=-32000, message="Connection closed"))
