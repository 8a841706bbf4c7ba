"""`hikidashi serve` as a client starts it: real processes, real sockets, the official client."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread
import httpx
import httpx2
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from rich.console import Console
from tests.gateway.faulty import STDIO
from tests.gateway.processes import ended, processes_of
from tests.gateway.servers import LEGACY, MODERN, free_port, program

from hikidashi.cli.serve import status

HIKIDASHI = str(Path(sys.executable).with_name("hikidashi"))


@pytest.fixture
def environment(tmp_path: Path) -> Generator[dict[str, str]]:
    home = tmp_path / "home"
    home.mkdir()
    with tempfile.TemporaryDirectory(prefix="hk-") as run:  # short: the address of a socket takes a hundred bytes
        yield {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": run, "XDG_STATE_HOME": str(home / "state")}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    servers = [program(tmp_path, "modern", MODERN), program(tmp_path, "legacy", LEGACY)]
    path = tmp_path / "mcp.json"
    entries = {one.name: {"command": one.command, "args": list(one.args)} for one in servers}
    path.write_text(json.dumps({"mcpServers": entries}))
    return path


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def hikidashi(environment: dict[str, str]) -> Command:
    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [HIKIDASHI, *arguments]
        return subprocess.run(
            command, env=environment, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )

    return run


@asynccontextmanager
async def client_of(config: Path, environment: dict[str, str], *more: str, **options: Any) -> AsyncGenerator[Client]:
    parameters = StdioServerParameters(
        command=HIKIDASHI, args=["serve", "--config", str(config), "--yes", *more], env=environment
    )
    async with Client(parameters, **options) as client:
        yield client


async def pid_of_legacy(client: Client) -> int:
    result = await client.call_tool("legacy__read", {})
    assert result.structured_content is not None
    return result.structured_content["pid"]


async def test_clients_of_one_config_share_one_daemon_and_one_process_per_server(
    config: Path, environment: dict[str, str], hikidashi: Command
) -> None:
    async with (
        client_of(config, environment, "--search", "off") as one,
        client_of(config, environment, "--search", "off", mode="legacy") as two,
    ):
        pids = {await pid_of_legacy(one), await pid_of_legacy(two)}
        (status,) = json.loads(hikidashi("serve", "status", "--json").stdout)
        table = hikidashi("serve", "status")

    assert len(pids) == 1
    assert status["clients"] == 2
    assert [(server["name"], server["status"], server["tools"]) for server in status["servers"]] == [
        ("modern", "ready", 2),
        ("legacy", "ready", 4),
    ]
    assert status["names"]["legacy__read"] == {"server": "legacy", "name": "read"}
    assert table.returncode == 0
    assert "2 clients, tools by list" in table.stdout
    assert hikidashi("serve", "stop").stdout == "Stopped 1 gateway.\n"
    assert await ended(pids.pop())


@pytest.mark.parametrize("more", [[], ["--no-daemon"]])
async def test_a_gateway_that_is_killed_leaves_no_process_behind(
    more: list[str], config: Path, environment: dict[str, str], hikidashi: Command
) -> None:
    process = await anyio.open_process(
        [HIKIDASHI, "serve", "--config", str(config), "--yes", "--search", "off", *more], env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "legacy__read", "arguments": {}}},
    ]
    for message in messages:
        await process.stdin.send((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())
    received = ""
    while '"id":2' not in received.replace(" ", ""):
        received += (await process.stdout.receive()).decode()
    answer = next(json.loads(line) for line in received.splitlines() if '"id":2' in line.replace(" ", ""))
    server = answer["result"]["structuredContent"]["pid"]
    gateway = process.pid if more else json.loads(hikidashi("serve", "status", "--json").stdout)[0]["pid"]

    os.kill(gateway, signal.SIGKILL)

    assert await ended(server)
    assert await ended(gateway)
    await process.stdin.aclose()  # the process that the client started outlives its daemon, not its client
    with anyio.fail_after(15):
        await process.wait()


def test_commands_that_are_new_in_a_config_are_not_run_unasked(config: Path, hikidashi: Command) -> None:
    config.write_text('{"mcpServers": {"quick": {"command": "true"}}}')  # it ends at once, and is not waited for
    refused = hikidashi("serve", "--config", str(config))

    assert refused.returncode == 1
    assert "has commands that were never run from here" in refused.stderr
    assert "--yes" in refused.stderr
    assert hikidashi("serve", "--config", str(config), "--yes", "--no-daemon").returncode == 0
    assert hikidashi("serve", "--config", str(config), "--no-daemon").returncode == 0


def test_a_host_that_others_can_reach_needs_a_token(config: Path, hikidashi: Command) -> None:
    open_to_all = hikidashi("serve", "--config", str(config), "--yes", "--http", "0.0.0.0:8000")
    unset = hikidashi("serve", "--config", str(config), "--yes", "--http", "0.0.0.0:8000", "--token-env", "NO_SUCH")

    assert (open_to_all.returncode, unset.returncode) == (2, 2)
    assert "--token-env NAME" in open_to_all.stderr
    assert "NO_SUCH, which is not set" in unset.stderr


@pytest.mark.parametrize(("address", "said"), [("abc", "give a port"), ("127.0.0.1:99999", "give a port")])
def test_an_address_that_is_none_is_refused(address: str, said: str, config: Path, hikidashi: Command) -> None:
    refused = hikidashi("serve", "--config", str(config), "--yes", "--http", address)

    assert refused.returncode == 2
    assert said in refused.stderr


@pytest.mark.parametrize(
    ("options", "name", "said"),
    [
        (["--token-env", "TOKEN"], "--token-env", "Add --http PORT"),
        (["--oauth-issuer", "https://a.example", "--oauth-audience", "b"], "--oauth-issuer", "Add --http PORT"),
        (["--oauth-scope", "tools"], "--oauth-scope", "Add --http PORT"),
        (["status"], "--config", "has no effect before 'status'"),
        (["--search", "on", "import"], "--config", "`hikidashi serve import --help`"),
        (["--http", "eight"], "--http", "is 'eight': give a port"),
    ],
)
def test_an_option_that_would_have_no_effect_is_refused_by_name(
    options: list[str], name: str, said: str, config: Path, hikidashi: Command
) -> None:
    refused = hikidashi("serve", "--config", str(config), *options)

    assert refused.returncode == 2
    assert f"Invalid value for {name}: " in refused.stderr
    assert said in " ".join(refused.stderr.split())


async def test_variables_for_http_do_not_concern_a_client_over_stdio(config: Path, environment: dict[str, str]) -> None:
    settings = {"HIKIDASHI_OAUTH_ISSUER": "https://a.example", "HIKIDASHI_OAUTH_AUDIENCE": "b"}
    async with client_of(config, {**environment, **settings}, "--no-daemon") as client:
        assert (await client.list_tools()).tools


def test_a_port_that_is_taken_is_named(config: Path, hikidashi: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = hikidashi("serve", "--config", str(config), "--yes", "--http", str(port))

    assert refused.returncode == 2
    assert f"127.0.0.1:{port} cannot be listened on: Address already in use" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"call_secs": 1}, "there is no call_secs"),
        ({"call_seconds": -1}, "`call_seconds`: -1 is out of range. Write a number above 0."),
        ([], "cannot be used"),
    ],
)
def test_options_of_a_server_that_cannot_be_are_named(
    options: Any, said: str, config: Path, hikidashi: Command
) -> None:
    content = json.loads(config.read_text())
    content["mcpServers"]["legacy"]["hikidashi"] = options
    config.write_text(json.dumps(content))

    refused = hikidashi("serve", "--config", str(config), "--yes")

    assert refused.returncode == 1
    assert said in refused.stderr


async def test_http_serves_both_eras_and_checks_token_and_origin(config: Path, environment: dict[str, str]) -> None:
    port = free_port()
    environment["GATEWAY_TOKEN"] = "sk-test"
    command = [HIKIDASHI, "serve", "--config", str(config), "--yes", "--search", "off"]
    process = await anyio.open_process([*command, "--http", str(port), "--token-env", "GATEWAY_TOKEN"], env=environment)
    try:
        assert process.stderr is not None
        assert (await process.stderr.receive()).decode() == f"Serving MCP on http://127.0.0.1:{port}/mcp\n"
        url = f"http://127.0.0.1:{port}/mcp"
        async with httpx.AsyncClient() as http:
            unknown = await http.post(url, json={})
            foreign = await http.post(
                url, json={}, headers={"Authorization": "Bearer sk-test", "Origin": "http://evil.example"}
            )
        names: list[list[str]] = []
        for mode in ("auto", "legacy"):
            async with (
                httpx2.AsyncClient(headers={"Authorization": "Bearer sk-test"}) as authorized,
                Client(streamable_http_client(url, http_client=authorized), mode=mode) as client,
            ):
                names.append([tool.name for tool in (await client.list_tools()).tools])
                assert (await client.call_tool("modern__add", {"a": 1, "b": 2})).structured_content == {"result": 3}
    finally:
        process.terminate()
        await process.wait()

    assert (unknown.status_code, foreign.status_code) == (401, 403)
    assert names[0] == names[1]
    assert "modern__add" in names[0]


async def test_a_person_can_be_asked_through_the_daemon_by_a_server_that_knows_no_rounds(
    config: Path, environment: dict[str, str]
) -> None:
    async def choose(_: Any, __: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"colour": "red"})

    for mode in ("auto", "legacy"):
        async with client_of(config, environment, mode=mode, elicitation_callback=choose) as client:
            result = await client.call_tool("legacy__ask", {})
        assert "'colour': 'red'" in str(result.content)


@asynccontextmanager
async def over_socket(path: Path) -> AsyncGenerator[Any]:
    """The streams of a connection to a daemon, without the process that usually stands between."""
    received, incoming = anyio.create_memory_object_stream[Any](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    async with await anyio.connect_unix(path) as connection, anyio.create_task_group() as tasks:
        lines = BufferedByteReceiveStream(connection)

        async def receive() -> None:
            with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                while True:
                    line = await lines.receive_until(b"\n", 1_000_000)
                    await received.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(line)))

        async def send() -> None:
            async for message in to_send:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await connection.send(text.encode() + b"\n")

        await connection.send(b"mcp\n")
        tasks.start_soon(receive)
        tasks.start_soon(send)
        with received, incoming, outgoing, to_send:
            yield incoming, outgoing
            tasks.cancel_scope.cancel()


@pytest.mark.soak
async def test_200_clients_at_once_share_one_daemon_and_one_process_per_server(
    config: Path, environment: dict[str, str], hikidashi: Command
) -> None:
    clients = 200
    pids: list[int] = []
    ready = anyio.Event()

    async def call(path: Path, number: int) -> None:
        async with Client(over_socket(path), mode="legacy" if number % 2 else "auto") as client:
            await ready.wait()
            pids.append(await pid_of_legacy(client))
            added = await client.call_tool("modern__add", {"a": number, "b": 1})
            assert added.structured_content == {"result": number + 1}

    async with client_of(config, environment, "--search", "off") as first:
        pid = await pid_of_legacy(first)
        alone = processes_of(environment)
        (daemon,) = (one["pid"] for one in json.loads(hikidashi("serve", "status", "--json").stdout))
        (path,) = Path(environment["XDG_RUNTIME_DIR"]).glob("hikidashi/*.sock")
        with anyio.fail_after(300):
            async with anyio.create_task_group() as tasks:
                for number in range(clients):
                    tasks.start_soon(call, path, number)
                while True:
                    (status,) = json.loads(
                        (await anyio.to_thread.run_sync(hikidashi, "serve", "status", "--json")).stdout
                    )
                    if status["clients"] == clients + 1:
                        break
                    await anyio.sleep(0.1)
                assert processes_of(environment) == alone
                ready.set()
            while json.loads(hikidashi("serve", "status", "--json").stdout)[0]["clients"] != 1:
                await anyio.sleep(0.1)
        most = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{daemon}/status").read_text())
        assert await pid_of_legacy(first) == pid

    assert pids == [pid] * clients
    assert most is not None
    assert int(most[1]) < 300 * 1024
    hikidashi("serve", "stop")
    assert await ended(*alone)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_that_its_client_gives_up_over_http_is_cancelled_at_the_server(
    mode: Literal["auto", "legacy"], tmp_path: Path, environment: dict[str, str]
) -> None:
    server = program(tmp_path, "faulty", STDIO)
    config = tmp_path / "faulty.json"
    config.write_text(json.dumps({"mcpServers": {"faulty": {"command": server.command, "args": list(server.args)}}}))
    port = free_port()
    command = [HIKIDASHI, "serve", "--config", str(config), "--yes", "--search", "off", "--http", str(port)]
    async with await anyio.open_process(command, env=environment) as process:
        with anyio.fail_after(30):
            assert process.stderr is not None
            await process.stderr.receive()
            async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.call_tool, "faulty__wait")
                    while "wait" not in str((await client.call_tool("faulty__heard", {})).content):
                        await anyio.sleep(0.01)
                    tasks.cancel_scope.cancel()
                while "cancelled" not in str((await client.call_tool("faulty__heard", {})).content):
                    await anyio.sleep(0.01)
        process.terminate()


async def test_names_leave_room_for_the_name_that_was_installed_in_a_client(
    environment: dict[str, str], hikidashi: Command, tmp_path: Path
) -> None:
    name, tool = "all-the-tools-of-our-team", "read_the_file_that_has_this_path"
    server = program(tmp_path, "legacy", LEGACY.replace('"read"', f'"{tool}"'))
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"legacy": {"command": server.command, "args": list(server.args)}}}))
    done = hikidashi("serve", "install", "cursor", "--config", str(config), "--name", name)
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads((Path(environment["HOME"]) / ".cursor" / "mcp.json").read_text())["mcpServers"].values()
    parameters = StdioServerParameters(
        command=entry["command"], args=[*entry["args"], "--yes", "--search", "off"], env=environment
    )
    async with Client(parameters) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        (cut,) = [one for one in listed if one.startswith("legacy__read")]
        called = await client.call_tool(cut, {})
        shown = json.loads(hikidashi("serve", "status", "--json").stdout)
    hikidashi("serve", "stop")

    assert all(len(f"mcp__{name}__{one}") <= 64 for one in listed)
    assert cut != f"legacy__{tool}"
    assert not called.is_error
    assert shown[0]["names"][cut] == {"server": "legacy", "name": tool}
    too_long = hikidashi("serve", "install", "cursor", "--config", str(config), "--name", "x" * 38)
    assert too_long.returncode == 2
    assert "has 38 characters: use at most 37" in " ".join(too_long.stderr.split())


def test_on_a_narrow_terminal_the_status_leaves_out_the_revision_and_keeps_names_whole() -> None:
    counts = {"tools": 1_000, "tokens": 74_549, "calls": 0, "errors": 0}
    texts = {"name": "calendar", "status": "ready", "protocol": "2026-07-28", "reason": "", "last_error": ""}
    gateway: dict[str, Any] = {
        "servers": [{**counts, **texts, "notes": []}],
        "searching": True,
        "pid": 1,
        "clients": 0,
        "shortened": [],
    }
    shown: dict[int, str] = {}
    for width in (50, 80):
        console = Console(file=io.StringIO(), width=width)
        status._print_gateway(console, gateway)  # pyright: ignore[reportPrivateUsage]
        assert isinstance(console.file, io.StringIO)
        shown[width] = console.file.getvalue()
    assert ["2026-07-28" in shown[width] for width in (50, 80)] == [False, True]
    assert all("calendar  ready  1,000  74,549" in text for text in shown.values())
