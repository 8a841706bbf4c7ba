"""Calls over HTTP by clients of 2026-07-28, which carry arguments in headers where a tool wants that."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from mcp import types
from mcp.types import ClientCapabilities, Implementation
from tests.gateway.servers import LEGACY, program

from hikidashi.gateway import Gateway, GatewayOptions, GatewayServer, ServerOptions
from hikidashi.gateway.http_server import http_app

SERVER = """
import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server

SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=SCHEMA) for name in ("deploy", "other")])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(text=params.arguments["region"])])

async def main():
    async with stdio_server() as streams:
        await server.run(*streams, server.create_initialization_options())

server = Server("cloud", on_list_tools=list_tools, on_call_tool=call_tool)
anyio.run(main)
"""


class CountingGateway(Gateway):
    """A gateway that counts how often all its tools are listed."""

    lists = 0

    def listed_tools(self, promoted: Iterable[str] = ()) -> list[types.Tool]:
        self.lists += 1
        return super().listed_tools(promoted)


@asynccontextmanager
async def sending(gateway: Gateway, envelope: dict[str, Any]) -> AsyncGenerator[Callable[..., Awaitable[Any]]]:
    """A function that sends a request of 2026-07-28 over HTTP."""
    app = http_app(gateway)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:

        async def sent(method: str, params: dict[str, Any], **more: str) -> httpx.Response:
            headers = {
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": "2026-07-28",
                "Mcp-Method": method,
                **more,
            }
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": envelope}}
            return await http.post("http://127.0.0.1/mcp", json=body, headers=headers)

        yield sent


async def test_a_call_is_checked_against_the_headers_that_its_tool_wants_without_a_list_of_all_tools(
    tmp_path: Path,
) -> None:
    servers = [program(tmp_path, "cloud", SERVER)]
    async with (
        CountingGateway(servers, options=GatewayOptions(search="off")) as gateway,
        sending(gateway, _ENVELOPE) as sent,
    ):

        async def call(**more: str) -> httpx.Response:
            params = {"name": "cloud__deploy", "arguments": {"region": "eu"}}
            return await sent("tools/call", params, **{"Mcp-Name": "cloud__deploy", **more})

        right, wrong, missing = [
            await call(**{"Mcp-Param-Region": "eu"}),
            await call(**{"Mcp-Param-Region": "us"}),
            await call(),
        ]
        lists_for_calls = gateway.lists
        listed = await sent("tools/list", {})

    assert (right.status_code, wrong.status_code, missing.status_code) == (200, 400, 400)
    assert '"eu"' in right.text
    assert lists_for_calls == 0
    assert [name in listed.text for name in ("cloud__deploy", "cloud__other")] == [True, True]


async def test_a_client_that_shows_no_forms_is_told_why_a_call_is_not_confirmed_and_what_to_do(tmp_path: Path) -> None:
    careful = GatewayServer(program(tmp_path, "legacy", LEGACY), ServerOptions(confirm="destructive"))
    envelope: dict[str, Any] = {**_ENVELOPE, types.CLIENT_CAPABILITIES_META_KEY: {"elicitation": {"url": {}}}}
    async with Gateway([careful], options=GatewayOptions(search="off")) as gateway, sending(gateway, envelope) as sent:
        params: dict[str, Any] = {"name": "legacy__long", "arguments": {}}
        refused = (await sent("tools/call", params, **{"Mcp-Name": "legacy__long"})).text

    assert "'legacy__long' was not called. A person has to confirm it" in refused
    assert "Call it from a client that shows forms, or leave the tool out of `confirm`." in refused


_ENVELOPE: dict[str, Any] = {
    types.PROTOCOL_VERSION_META_KEY: "2026-07-28",
    types.CLIENT_INFO_META_KEY: Implementation(name="test", version="1").model_dump(by_alias=True, exclude_none=True),
    types.CLIENT_CAPABILITIES_META_KEY: ClientCapabilities().model_dump(by_alias=True, exclude_none=True),
}
