"""Clients of every revision with servers of every revision, each negotiating for itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from tests.gateway.servers import LEGACY, MODERN, program
from tests.gateway.test_gateway import text_of

from hikidashi.gateway import Gateway, GatewayOptions
from hikidashi.gateway.server import GatewayMCPServer

OLDER = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


async def visit(server: GatewayMCPServer, revision: str, calls: dict[str, dict[str, Any]]) -> tuple[str, list[Any]]:
    """The revision that was agreed on with a client that asks for `revision`, and what each of its calls got."""
    agreed, results = "", list[Any]()
    async with create_client_server_memory_streams() as (ours, theirs), anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, *theirs, server.create_initialization_options())
        read, write = ours

        async def ask(id_: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
            request = JSONRPCRequest(jsonrpc="2.0", id=id_, method=method, params=params)
            await write.send(SessionMessage(request))
            async for message in read:
                assert isinstance(message, SessionMessage)
                if isinstance(message.message, JSONRPCResponse) and message.message.id == id_:
                    return message.message.result
            raise AssertionError

        client = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        agreed = (await ask(0, "initialize", client))["protocolVersion"]
        await write.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")))
        results = [
            await ask(at, "tools/call", {"name": name, "arguments": given})
            for at, (name, given) in enumerate(calls.items(), 1)
        ]
        tasks.cancel_scope.cancel()
    return agreed, results


async def test_a_client_of_each_revision_calls_servers_of_each_revision(tmp_path: Path) -> None:
    servers = [program(tmp_path, f"of-{one}", LEGACY.replace("2025-06-18", one)) for one in OLDER]
    calls: dict[str, dict[str, Any]] = {f"{server.name}__read": {"path": "x"} for server in servers}
    calls["modern__add"] = {"a": 2, "b": 40}
    options = GatewayOptions(search="off")
    async with Gateway([*servers, program(tmp_path, "modern", MODERN)], options=options) as gateway:
        server = GatewayMCPServer(gateway)
        visits = {revision: await visit(server, revision, calls) for revision in OLDER}
        async with Client(server) as client:
            newest = [await client.call_tool(name, given) for name, given in calls.items()]
        agreed_with_servers = [state.protocol for state in gateway.states]

    assert agreed_with_servers == [*OLDER, "2026-07-28"]
    assert {revision: agreed for revision, (agreed, _) in visits.items()} == {one: one for one in OLDER}
    for _, results in visits.values():
        assert [result["content"][0]["text"][:8] for result in results[:-1]] == ['{"name":'] * len(OLDER)
        assert results[-1]["content"] == [{"type": "text", "text": "42"}]
    assert [text_of(result)[:8] for result in newest] == ['{"name":'] * len(OLDER) + ["42"]
