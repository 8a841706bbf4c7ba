"""Small promises of the gateway that no other test is about."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError, types
from mcp.client.session import ClientRequestContext
from tests.gateway.servers import LEGACY, program
from tests.gateway.test_gateway import MODES, Mode, choose_blue, connected, text_of

from hikidashi.errors import ServerUnavailableError
from hikidashi.gateway import Gateway, GatewayServer
from hikidashi.gateway.upstream.listing import Listing
from hikidashi.servers.config import McpServer

ROOTED = """
import json, sys
def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()
changes = 0
for line in sys.stdin:
    message = json.loads(line)
    method, asked = message.get("method"), message.get("id")
    if method == "notifications/roots/list_changed":
        changes += 1
    elif asked is None:
        continue
    elif method == "initialize":
        send({"id": asked, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                      "serverInfo": {"name": "rooted", "version": "1"}}})
    elif method == "tools/list":
        send({"id": asked, "result": {"tools": [{"name": "changes", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        send({"id": asked, "result": {"content": [{"type": "text", "text": str(changes)}]}})
    else:
        send({"id": asked, "error": {"code": -32601, "message": "no"}})
"""


async def no_roots(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[])


async def test_a_server_is_told_that_the_roots_of_a_client_changed(tmp_path: Path) -> None:
    async with connected([program(tmp_path, "rooted", ROOTED)], "legacy", list_roots_callback=no_roots) as (client, _):
        assert text_of(await client.call_tool("rooted__changes", {})) == "0"
        await client.session.send_notification(types.RootsListChangedNotification())
        with anyio.fail_after(30):
            while text_of(await client.call_tool("rooted__changes", {})) != "1":
                await anyio.lowlevel.checkpoint()


async def test_the_state_of_a_parked_call_ends_with_its_time(tmp_path: Path) -> None:
    legacy = program(tmp_path, "legacy", LEGACY)
    async with connected([legacy], elicitation_callback=choose_blue) as (client, gateway):
        gateway._seal.seconds = -1.0  # pyright: ignore[reportPrivateUsage]
        asked = await client.session.call_tool("legacy__ask", {}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        answers: Any = {name: types.ElicitResult(action="decline") for name in asked.input_requests or {}}
        with pytest.raises(MCPError) as refused:
            await client.session.call_tool(
                "legacy__ask",
                {},
                input_responses=answers,
                request_state=asked.request_state,
                allow_input_required=True,
            )
    assert refused.value.error.data == {"reason": "invalid_request_state"}


async def test_after_three_failures_a_server_is_not_tried_for_each_call() -> None:
    dead = McpServer(name="dead", transport="stdio", command=sys.executable, args=("-c", "raise SystemExit(7)"))
    async with Gateway([dead]) as gateway:
        upstream = gateway.upstreams["dead"]
        with anyio.fail_after(60):
            while upstream.state.restarts < 4:
                await anyio.lowlevel.checkpoint()
        tried = upstream.state.restarts
        with pytest.raises(ServerUnavailableError, match=r"exit code 7.*It is tried again in \d+ s"):
            await upstream.client()
        assert upstream.state.restarts == tried


@pytest.mark.parametrize("mode", MODES)
async def test_the_gateways_own_tools_are_called_by_themselves(mode: Mode, tmp_path: Path) -> None:
    async with connected([program(tmp_path, "legacy", LEGACY)], mode, search="on") as (client, _):
        said = await client.call_tool("call_tool", {"name": "search_tools", "arguments": {"query": "read"}})
    assert said.is_error
    assert (
        text_of(said) == "'search_tools' is not called through call_tool: call search_tools itself, with its arguments."
    )


def test_the_instructions_of_all_servers_together_are_bounded() -> None:
    servers = [McpServer(name=name, transport="stdio", command="x") for name in ("a", "b")]
    gateway = Gateway([GatewayServer(one) for one in servers])
    for upstream in gateway.upstreams.values():
        upstream.listing = Listing(instructions="i" * 50_000)
    assert len(gateway.instructions) < 33_000
    assert gateway.instructions.count("… (34,000 more characters are left out)") == 2
