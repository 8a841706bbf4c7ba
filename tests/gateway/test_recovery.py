"""Servers that fail again and again, or never answer what is no call: nobody waits for them, and they come back."""

from __future__ import annotations

import threading
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import MCPError, types
from mcp.client import Client
from tests.gateway.faulty import FORGETFUL_HTTP, STDIO
from tests.gateway.servers import LEGACY, program
from tests.gateway.test_faults import forgetful
from tests.gateway.test_gateway import choose_blue, connected, text_of

from hikidashi.gateway import Gateway, GatewayServer, ServerOptions
from hikidashi.gateway.auth.logins import Login, Logins
from hikidashi.gateway.daemon import run_daemon
from hikidashi.gateway.first_lists import ListingCache
from hikidashi.gateway.server import GatewayMCPServer
from hikidashi.gateway.shim import ask_daemon
from hikidashi.servers.config import McpServer


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


async def test_a_server_whose_processes_use_more_memory_than_allowed_is_ended(tmp_path: Path) -> None:
    large = GatewayServer(program(tmp_path, "large", LEGACY), ServerOptions(lazy=False, memory_mb=1))
    async with connected([large]) as (_, gateway):
        with anyio.fail_after(20):
            while "MB" not in gateway.states[0].reason:
                await anyio.sleep(0.02)
            state = gateway.states[0]

    assert state.reason.endswith("MB, more than the 1 MB that `memory_mb` allows")
    assert "memory_mb" in state.remedy


async def test_a_daemon_ends_after_its_last_client(tmp_path: Path) -> None:
    path = tmp_path / "d.sock"
    ended: list[bool] = []

    async def serve() -> None:
        ended.append(await run_daemon(Gateway([]), path, linger=0.0))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            while not path.exists():
                await anyio.sleep(0)
            async with await anyio.connect_unix(path) as client:
                await client.send(b"mcp\n")
                while (await anyio.to_thread.run_sync(ask_daemon, path, "status") or {}).get("clients") != 1:
                    pass
            assert ended == []

    assert ended == [True]
    assert not path.exists()


async def test_a_call_that_waits_in_another_replica_is_refused_with_a_typed_error(tmp_path: Path) -> None:
    key = "k" * 32
    legacy = program(tmp_path, "legacy", LEGACY)
    async with (
        Gateway([legacy], keys=[key]) as first,
        Gateway([legacy], keys=[key]) as second,
        Client(GatewayMCPServer(first), elicitation_callback=choose_blue) as one,
        Client(GatewayMCPServer(second), elicitation_callback=choose_blue) as other,
    ):
        asked = await one.session.call_tool("legacy__ask", {}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        answers: Any = {name: types.ElicitResult(action="decline") for name in asked.input_requests or {}}
        with pytest.raises(MCPError, match="waits in another process") as refused:
            await other.session.call_tool(
                "legacy__ask",
                {},
                input_responses=answers,
                request_state=asked.request_state,
                allow_input_required=True,
            )

    assert refused.value.error.data == {"reason": "parked_elsewhere"}
