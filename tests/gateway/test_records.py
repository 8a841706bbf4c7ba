"""What `--record` keeps: searches as they were read, calls of what was found, each client by itself."""

from __future__ import annotations

import json
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx
from mcp import StdioServerParameters, types
from mcp.client import Client
from mcp.client.stdio import stdio_client
from tests.gateway.servers import LEGACY, MODERN, program
from tests.gateway.test_gateway import MODES, choose_blue

from hikidashi.gateway import Gateway, GatewayMCPServer, GatewayOptions
from hikidashi.gateway.http_server import http_app
from hikidashi.search.log_sqlite import SearchLog

HIKIDASHI = str(Path(sys.executable).with_name("hikidashi"))


async def test_searches_and_calls_of_several_clients_of_one_daemon_give_a_true_report(tmp_path: Path) -> None:
    servers = [program(tmp_path, "modern", MODERN), program(tmp_path, "legacy", LEGACY)]
    config, record = tmp_path / "mcp.json", tmp_path / "record.db"
    entries = {one.name: {"command": one.command, "args": list(one.args)} for one in servers}
    config.write_text(json.dumps({"mcpServers": entries}))
    homes = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(tmp_path)}
    env = {**os.environ, **homes}
    arguments = ["serve", "--config", str(config), "--yes", "--search", "on", "--record", str(record)]
    shim = StdioServerParameters(command=HIKIDASHI, args=arguments, env=env)

    async def sums(client: Client) -> None:
        await client.call_tool("search_tools", {"query": "add two numbers"})
        await client.call_tool("call_tool", {"name": "modern__add", "arguments": {"a": 4711, "b": 2}})

    async def files(client: Client) -> None:
        await client.call_tool("search_tools", {"query": "/^legacy__/"})
        await client.call_tool("search_tools", {"query": "select:legacy__read"})
        await client.call_tool("search_tools", {"query": "read"})
        await client.call_tool("search_tools", {"query": "qwertz"})
        await client.call_tool("call_read_tool", {"name": "legacy__read", "arguments": {"key": "sk-test"}})

    try:
        async with (
            Client(stdio_client(shim)) as one,
            Client(stdio_client(shim), mode="legacy") as other,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(sums, one)
            tasks.start_soon(files, other)
    finally:
        await anyio.run_process([HIKIDASHI, "serve", "stop"], env=env)
    done = await anyio.run_process(
        [HIKIDASHI, "tools", "report", "--log", str(record), "--mcp", str(config), "--json"], env=env
    )
    report = json.loads(done.stdout)
    with SearchLog(record, must_exist=True) as log:
        searches = {(search.kind, search.query): (search.names, search.called) for search in log.searches()}
        usage = log.usage()

    assert usage == {"modern__add": 1, "legacy__read": 1}
    assert searches["words", "add two numbers"] == (("modern__add",), ("modern__add",))
    assert searches["regex", "/^legacy__/"][0][:2] == ("legacy__ask", "legacy__read")
    assert searches["select", "select:legacy__read"] == (("legacy__read",), ())
    assert searches["select", "read"] == (("legacy__read",), ("legacy__read",))
    assert searches["words", "qwertz"] == ((), ())
    content = b"".join(path.read_bytes() for path in tmp_path.glob("record.db*"))
    assert b"sk-test" not in content
    assert b"4711" not in content
    assert (report["searches"], report["calls"], report["tools"], report["gone"]) == (5, 2, 6, [])
    assert [one["query"] for one in report["found_nothing"]] == ["qwertz"]
    assert {one["name"] for one in report["never_called"]} == {"legacy__ask", "legacy__die", "legacy__long"}
    assert report["never_found"] == ["modern__count"]
    assert report["conversations_found_by"] == {
        **dict.fromkeys(("preload", "listed", "nothing", "not_recorded"), 0),
        "total": 2,
        "search": 2,
    }


async def test_a_call_in_several_rounds_is_one_call(tmp_path: Path) -> None:
    with SearchLog(tmp_path / "record.db") as log:
        options = GatewayOptions(search="on")
        async with Gateway([program(tmp_path, "legacy", LEGACY)], options=options, record=log) as gateway:
            answering: dict[str, Any] = {"elicitation_callback": choose_blue}
            for mode in MODES:
                async with Client(GatewayMCPServer(gateway), mode=mode, **answering) as client:
                    await client.call_tool("call_tool", {"name": "legacy__ask", "arguments": {}})
                    await client.call_tool("call_tool", {"name": "no_such_tool", "arguments": {}})
        assert log.usage() == {"legacy__ask": 2}


async def test_a_call_says_whether_a_search_or_nothing_found_the_tool_or_it_was_listed(tmp_path: Path) -> None:
    ways: list[tuple[str, str | None]] = []
    for search in ("on", "off"):
        options = GatewayOptions(search=search, pin=("modern__add",))
        with SearchLog(tmp_path / f"{search}.db") as log:
            async with (
                Gateway([program(tmp_path, "modern", MODERN)], options=options, record=log) as gateway,
                Client(GatewayMCPServer(gateway)) as client,
            ):
                await client.call_tool("modern__add", {"a": 1, "b": 2})
                if search == "on":
                    await client.call_tool("call_tool", {"name": "modern__count", "arguments": {}})
                    await client.call_tool("search_tools", {"query": "select:modern__count"})
                    await client.call_tool("call_tool", {"name": "modern__count", "arguments": {}})
                else:
                    await client.call_tool("modern__count", {})
            ways += [(call.name, call.found_by) for call in log.calls()]
    assert ways == [
        ("modern__add", "listed"),
        ("modern__count", "nothing"),
        ("modern__count", "search"),
        ("modern__add", "listed"),
        ("modern__count", "listed"),
    ]


async def test_clients_without_a_session_are_told_apart_by_who_they_are(tmp_path: Path) -> None:
    with SearchLog(tmp_path / "record.db") as log:
        options = GatewayOptions(search="on")
        async with Gateway([program(tmp_path, "legacy", LEGACY)], options=options, record=log) as gateway:
            app = http_app(gateway)
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(app.router.lifespan_context(app))
                http = await stack.enter_async_context(httpx.AsyncClient(transport=httpx.ASGITransport(app)))
                for name in ("one", "other"):
                    await call(http, name, "search_tools", {"query": "read a file"})
                await call(http, "one", "call_read_tool", {"name": "legacy__read", "arguments": {}})
        assert [search.called for search in log.searches()] == [("legacy__read",), ()]


async def call(http: httpx.AsyncClient, client: str, tool: str, arguments: dict[str, Any]) -> None:
    meta = {
        types.PROTOCOL_VERSION_META_KEY: "2026-07-28",
        types.CLIENT_INFO_META_KEY: {"name": client, "version": "1"},
        types.CLIENT_CAPABILITIES_META_KEY: {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await http.post("http://127.0.0.1/mcp", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
