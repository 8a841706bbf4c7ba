"""Servers that fail again and again, or never answer what is no call: nobody waits for them, and they come back."""

from __future__ import annotations

import threading
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from mcp import types
from mcp.client import Client
from tests.gateway.faulty import FORGETFUL_HTTP, STDIO
from tests.gateway.servers import LEGACY, program
from tests.gateway.test_faults import forgetful
from tests.gateway.test_gateway import connected, text_of

from hikidashi.gateway import Gateway, GatewayServer, ServerOptions
from hikidashi.gateway.auth.logins import Login, Logins
from hikidashi.gateway.cache import ListingCache
from hikidashi.gateway.server import GatewayMCPServer
from hikidashi.search.mcp_servers import McpServer


async def test_a_server_that_dies_whenever_it_has_started_is_tried_at_growing_intervals(tmp_path: Path) -> None:
    listed = 'send({"id": asked, "result": {"tools": TOOLS}})'
    dying = program(tmp_path, "dying", LEGACY.replace(listed, f"{listed}; os._exit(3)"))
    async with connected([GatewayServer(dying, ServerOptions(lazy=False))]) as (client, gateway):
        with anyio.fail_after(30):
            while gateway.states[0].restarts < 4:
                await anyio.sleep(0.02)
            while "It is tried again in" not in (said := text_of(await client.call_tool("dying__read", {}))):
                pass

    assert "'dying'" in said


async def test_a_server_that_never_ends_its_session_does_not_keep_the_next_one_from_opening(tmp_path: Path) -> None:
    hanging = FORGETFUL_HTTP.replace("do_DELETE = do_GET", "def do_DELETE(self):\n        import time; time.sleep(600)")
    with forgetful(tmp_path, hanging) as server:
        async with connected([server]) as (client, _):
            with anyio.fail_after(20):
                said = [text_of(await client.call_tool(f"forgetful__{one}", {})) for one in ("forget", "read")]

    assert said == ["forget in session-1", "read in session-2"]


async def test_a_log_level_that_a_server_does_not_confirm_holds_up_neither_it_nor_the_others(tmp_path: Path) -> None:
    named = 'name = params.get("name")\n'
    deaf = program(tmp_path, "deaf", STDIO.replace(named, f'{named}    if method == "logging/setLevel": continue\n'))
    async with connected([deaf], "legacy") as (client, _):
        with anyio.fail_after(20):
            await client.call_tool("deaf__heard", {})
            level = types.SetLevelRequestParams(level="error")
            await client.session.send_request(types.SetLevelRequest(params=level), types.EmptyResult)
            said = text_of(await client.call_tool("deaf__heard", {}))

    assert said in ("", "cancelled")


class _LockedLogins(Logins):
    """Logins in a keyring that nobody unlocks."""

    def read(self, server: McpServer) -> Login | None:
        threading.Event().wait()


async def test_a_login_in_a_keyring_that_waits_for_a_person_is_told_and_holds_up_nobody(tmp_path: Path) -> None:
    locked = McpServer(name="locked", transport="http", url="http://127.0.0.1:9/mcp")
    given = [GatewayServer(locked, ServerOptions(start_seconds=0.2)), program(tmp_path, "legacy", LEGACY)]
    with anyio.fail_after(20):
        async with (
            Gateway(given, logins=_LockedLogins(tmp_path / "logins")) as gateway,
            Client(GatewayMCPServer(gateway)) as client,
        ):
            read = await client.call_tool("legacy__read", {})
            while not (failed := gateway.states[0]).reason:
                await anyio.sleep(0.02)

    assert not read.is_error
    assert failed.reason == "the keyring gave no answer within 0.2 s"


async def test_a_server_is_kept_for_those_who_watch_its_resources_and_stopped_when_they_are_gone(
    tmp_path: Path,
) -> None:
    options = ServerOptions(idle_seconds=0.01)
    servers = [GatewayServer(program(tmp_path, name, STDIO), options) for name in ("watched", "idle")]
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(Gateway(servers))
        with anyio.fail_after(30):
            async with Client(GatewayMCPServer(gateway), mode="legacy") as client:
                watch = types.SubscribeRequestParams(uri="note://one")
                await client.session.send_request(types.SubscribeRequest(params=watch), types.EmptyResult)
                await client.call_tool("idle__heard", {})
                while gateway.states[1].status != "waiting":
                    await anyio.sleep(0.02)
                watched = gateway.states[0].status
                await client.call_tool("watched__die", {})
                while gateway.states[0].restarts != 1 or gateway.states[0].status != "ready":
                    await anyio.sleep(0.02)
            while gateway.states[0].reason != "it was idle for 0.01 s":
                await anyio.sleep(0.02)
        left = (gateway.sessions, gateway.subscribers)

    assert watched == "ready"
    assert left == ({}, {})


async def test_a_server_that_never_answers_delays_the_lists_of_the_others_once_at_most(tmp_path: Path) -> None:
    legacy, cache = program(tmp_path, "legacy", LEGACY), ListingCache(tmp_path / "cache")
    async with connected([legacy], cache=cache) as (client, _):
        await client.list_tools()
    silent = program(tmp_path, "silent", "import sys; sys.stdin.read()")
    slow = GatewayServer(silent, ServerOptions(start_seconds=600))
    async with connected([slow, legacy], cache=cache) as (client, _):
        with anyio.fail_after(9):
            lists = [await client.list_tools(cache_mode="bypass") for _ in range(20)]

    assert all("legacy__read" in [tool.name for tool in listed.tools] for listed in lists)
