"""Processes that end when nobody expects it: clients, shims, daemons. Somebody answers, and nothing is left."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import MCPError, types
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp.client.subscriptions import SubscriptionLost
from tests.gateway.processes import Home, ended, home, processes_of, speaking
from tests.gateway.servers import free_port
from tests.gateway.test_gateway import MODES, Mode, text_of

from hikidashi.gateway import Gateway
from hikidashi.gateway.daemon import run_daemon
from hikidashi.gateway.shim import ask_daemon

SIGNALS = [
    signal.SIGKILL,
    *(pytest.param(other, marks=pytest.mark.soak) for other in (signal.SIGTERM, signal.SIGINT)),
]

# A client that hangs in a call, and has nothing to say about its end.
CLIENT = """
import sys
from tests.gateway.processes import speaking
with speaking(sys.argv[1:], None) as gateway:
    gateway.hang()
    print(gateway.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def machine(tmp_path: Path) -> Generator[Home]:
    with home(tmp_path) as made:
        yield made


@pytest.mark.parametrize("sent", SIGNALS)
async def test_a_signal_to_client_shim_or_daemon_leaves_nothing_behind_and_the_rest_goes_on(
    sent: signal.Signals, machine: Home
) -> None:
    with speaking(machine.serve(), machine.environment) as other:
        # A client that is killed takes its shim with it, and its call is cancelled.
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, *machine.serve()],
            env=machine.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        with client:
            assert client.stdout is not None
            shim = int(client.stdout.readline())
            client.send_signal(sent)
        assert await ended(client.pid, shim)
        while "cancelled" not in other.call("heard"):
            pass

        # A shim that is killed: so is its call.
        with speaking(machine.serve(), machine.environment) as killed:
            killed.hang()
            killed.process.send_signal(sent)
            assert await ended(killed.pid)
            with suppress(BrokenPipeError):
                killed.process.communicate()
        while other.call("heard").count("cancelled") != 2:
            pass

        # A daemon that is killed: its client is told, its servers end, and the next request has a new one.
        before = processes_of(machine.environment) - {other.pid}
        hanging = other.hang()
        status = machine.status()
        assert status is not None
        os.kill(status["pid"], sent)
        told = other.answer(hanging)
        assert await ended(*before)
        assert other.call("heard") == ""

    assert "Whether the call was carried out is not known: check before you repeat it." in str(told)
    if sent is signal.SIGKILL:
        assert told["error"]["message"].startswith("The gateway ended before it answered. The next request starts it")
    machine.stop()
    assert await ended(*processes_of(machine.environment))


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_goes_on_with_a_new_daemon_as_if_it_were_the_old_one(mode: Mode, machine: Home) -> None:
    tell, updates = anyio.create_memory_object_stream[str](100)

    async def heard(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await tell.send(str(message.params.uri))

    async def agree(_: ClientRequestContext, __: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    async def kill() -> None:
        status = await anyio.to_thread.run_sync(machine.status)
        assert status is not None
        os.kill(status["pid"], signal.SIGKILL)

    async def hang(client: Client) -> None:
        with pytest.raises(MCPError, match="The gateway ended before it answered"):
            await client.call_tool("faulty__wait", {})

    _, *arguments = machine.serve()
    parameters = StdioServerParameters(command=machine.serve()[0], args=arguments, env=machine.environment)
    callbacks: dict[str, Any] = {"message_handler": heard, "elicitation_callback": agree}
    async with tell, updates, Client(parameters, mode=mode, input_required_max_rounds=100, **callbacks) as client:
        with anyio.fail_after(60):
            before = [tool.name for tool in (await client.list_tools()).tools]
            if mode == "legacy":
                for request in (
                    types.SetLevelRequest(params=types.SetLevelRequestParams(level="error")),
                    types.SubscribeRequest(params=types.SubscribeRequestParams(uri="note://one")),
                ):
                    await client.session.send_request(request, types.EmptyResult)
                assert await updates.receive() == "note://one"
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(hang, client)
                while "wait" not in text_of(await client.call_tool("faulty__heard", {})):
                    pass
                await kill()
            # The new daemon and its new server know what the old ones were told.
            after = [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]
            with pytest.raises(MCPError, match="sent more than 50 requests"):
                await client.call_tool("faulty__ask_for_ever", {})
            told = text_of(await client.call_tool("faulty__heard", {})).split()
            if mode == "legacy":
                assert await updates.receive() == "note://one"

    assert before == after
    if mode == "legacy":
        assert sorted(told) == ["cancelled", "error", "logging/setLevel", "note://one", "resources/subscribe"]
    else:
        assert told == ["cancelled"]


@pytest.mark.soak
def test_a_daemon_that_does_not_start_again_is_told_of_until_it_does(machine: Home) -> None:
    content = machine.config.read_text()
    with speaking(machine.serve(), machine.environment) as client:
        assert client.call("heard") == ""
        machine.config.write_text("{")
        machine.stop()
        refused = client.answer(client.begin("heard"))["error"]["message"]
        client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        machine.config.write_text(content)
        again = client.call("heard")

    assert refused.startswith("The gateway ended, and does not start again: ")
    assert str(machine.config) in refused
    assert again == ""


def test_a_command_that_came_into_the_config_since_is_not_run_unasked(machine: Home) -> None:
    serve = [part for part in machine.serve() if part != "--yes"]
    with speaking(machine.serve(), machine.environment) as client:
        client.call("heard")
    with speaking(serve, machine.environment) as client:
        client.call("heard")
        content = json.loads(machine.config.read_text())
        content["mcpServers"]["new"] = {"command": "touch", "args": [str(machine.config.with_name("ran"))]}
        machine.config.write_text(json.dumps(content))
        machine.stop()
        refused = client.answer(client.begin("heard"))["error"]["message"]

    assert "has commands that were never run from here" in refused
    assert not machine.config.with_name("ran").exists()


@pytest.mark.parametrize("sent", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)])
async def test_a_gateway_over_http_ends_when_it_is_told_to_with_clients_that_listen_and_wait(
    sent: signal.Signals, machine: Home
) -> None:
    port = free_port()
    process = await anyio.open_process([*machine.serve(), "--http", str(port)], env=machine.environment)
    assert process.stderr is not None
    await process.stderr.receive()
    ends: list[str] = []

    async def listen(client: Client) -> None:
        with suppress(SubscriptionLost):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    pass
        ends.append("listened")

    async def wait(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.call_tool("faulty__wait", {})
        ends.append("waited")

    with anyio.fail_after(60):
        async with Client(f"http://127.0.0.1:{port}/mcp") as client, anyio.create_task_group() as tasks:
            tasks.start_soon(listen, client)
            tasks.start_soon(wait, client)
            while "wait" not in text_of(await client.call_tool("faulty__heard", {})):
                pass
            process.send_signal(sent)
            await process.wait()

    assert sorted(ends) == ["listened", "waited"]
    assert await ended(*processes_of(machine.environment))


async def test_status_and_stop_see_gateways_over_http_and_without_a_daemon(machine: Home) -> None:
    port = free_port()
    http = await anyio.open_process([*machine.serve(), "--http", str(port)], env=machine.environment)
    alone = await anyio.open_process([*machine.serve(), "--no-daemon"], env=machine.environment)
    with anyio.fail_after(60):
        while len(found := machine.statuses()) < 2:
            await anyio.sleep(0.05)
        machine.stop()
        await http.wait()
        await alone.wait()

    assert {one["address"]: one["pid"] for one in found} == {f"http://127.0.0.1:{port}/mcp": http.pid, None: alone.pid}
    assert [server["name"] for one in found for server in one["servers"]] == ["faulty", "faulty"]
    assert machine.statuses() == []
    assert not list(Path(machine.environment["XDG_RUNTIME_DIR"]).rglob(f"*{http.pid}.*"))
    assert await ended(*processes_of(machine.environment))


async def test_a_daemon_waits_for_the_servers_of_the_one_before_and_gives_way_to_one_that_serves(machine: Home) -> None:
    path = Path(machine.environment["XDG_RUNTIME_DIR"]) / "one.sock"
    served: list[bool] = []

    async def serve() -> None:
        served.append(await run_daemon(Gateway([]), path))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            with path.with_suffix(".lock").open("w") as before:  # held until the servers of a daemon have ended
                fcntl.flock(before, fcntl.LOCK_EX)
                tasks.start_soon(serve)
                await anyio.wait_all_tasks_blocked()
                assert served == []
            while await anyio.to_thread.run_sync(ask_daemon, path, "status") is None:
                pass
            await serve()
            assert served == [False]
            with socket.socket(socket.AF_UNIX) as silent:  # one that never says what it wants
                silent.connect(str(path))
                await anyio.to_thread.run_sync(ask_daemon, path, "stop")
                assert await anyio.to_thread.run_sync(silent.recv, 1) == b""
    assert served == [False, True]
