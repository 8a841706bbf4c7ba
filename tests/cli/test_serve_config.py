"""`hikidashi serve` and its configuration, as a person meets it: files, secrets, questions, status."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from tests.gateway.servers import LEGACY, MODERN, free_port, program

HIKIDASHI = str(Path(sys.executable).with_name("hikidashi"))
SECRET = "kept-in-the-keyring-5309"

SHOWS_ITS_SECRET = """
import hashlib, os, sys
from mcp.server.mcpserver import MCPServer

sys.stderr.write("starting with " + os.environ["VAULT"] + chr(10))
server = MCPServer("vault")

@server.tool()
def digest() -> str:
    '''The digest of the secret.'''
    return hashlib.sha256(os.environ["VAULT"].encode()).hexdigest()

@server.tool()
def die() -> str:
    '''End at once.'''
    sys.stderr.write("cannot open the vault with " + os.environ["VAULT"] + chr(10))
    sys.stderr.flush()
    os._exit(3)

server.run()
"""

KEYRING = """
import json, os
from keyring.backend import KeyringBackend

class InAFile(KeyringBackend):
    priority = 1

    def get_password(self, service, username):
        return json.load(open(os.environ["KEYRING_FILE"])).get(service + "/" + username)

    def set_password(self, service, username, password): ...
    def delete_password(self, service, username): ...
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(tmp_path: Path) -> Generator[dict[str, str]]:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "keyring_in_a_file.py").write_text(KEYRING)
    kept = {name: value for name, value in os.environ.items() if name != "HIKIDASHI_CONFIG"}
    with tempfile.TemporaryDirectory(prefix="hk-") as run:
        yield {
            **kept,
            "HOME": str(home),
            "XDG_RUNTIME_DIR": run,
            **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("STATE", "CACHE", "CONFIG", "DATA")},
            "PYTHONPATH": str(tmp_path / "modules"),
            "PYTHON_KEYRING_BACKEND": "keyring_in_a_file.InAFile",
            "KEYRING_FILE": str(home / "passwords.json"),
        }


@pytest.fixture
def hikidashi(environment: dict[str, str], tmp_path: Path) -> Command:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HIKIDASHI, *arguments],
            env=environment,
            cwd=tmp_path / "project",
            input="",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@asynccontextmanager
async def client_in(folder: Path, environment: dict[str, str], *more: str) -> AsyncGenerator[Client]:
    parameters = StdioServerParameters(command=HIKIDASHI, args=["serve", *more], env=environment, cwd=str(folder))
    async with Client(parameters) as client:
        yield client


async def status(hikidashi: Command, name: str, *wanted: str) -> dict[str, Any]:
    """What `serve status` says of the server `name`, once it is in one of the states `wanted`."""
    with anyio.fail_after(30):
        while True:
            (found,) = json.loads((await anyio.to_thread.run_sync(hikidashi, "serve", "status", "--json")).stdout)
            server = next(one for one in found["servers"] if one["name"] == name)
            if server["status"] in wanted:
                return server


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


def written(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def config_of(tmp_path: Path) -> str:
    modern, legacy = program(tmp_path, "modern", MODERN), program(tmp_path, "legacy", LEGACY)
    long = LEGACY.replace('"name": "long"', '"name": "' + "a_very_long_name_" * 4 + '"')
    return f"""
servers:
  modern:
    command: {modern.command}
    args: [{modern.args[0]}]
    env: {{HALF: "${{NOT_SET_HERE:-default}}"}}
  legacy:
    command: {legacy.command}
    args: [{legacy.args[0]}]
  long:
    command: {legacy.command}
    args: [{program(tmp_path, "long", long).args[0]}]
  needs-key:
    url: https://api.example/mcp
    headers: {{Authorization: "Bearer ${{NOT_SET_HERE}}"}}
gateway:
  search: on
  pin: [modern__add]
"""


async def test_servers_of_config_yaml_are_served_and_one_that_lacks_a_variable_concerns_nobody_else(
    tmp_path: Path, environment: dict[str, str], hikidashi: Command
) -> None:
    written(tmp_path / "project", "config.yaml", config_of(tmp_path))
    async with client_in(tmp_path / "project", environment, "--yes") as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        added = await client.call_tool("modern__add", {"a": 1, "b": 2})
        found = text_of(await client.call_tool("search_tools", {"query": "read a file"}))
        refused = await client.call_tool("call_tool", {"name": "needs-key__x", "arguments": {}})
        await status(hikidashi, "long", "ready")
        failed = await status(hikidashi, "needs-key", "failed")
        table = hikidashi("serve", "status")
    hikidashi("serve", "stop")

    assert listed == ["search_tools", "call_read_tool", "call_tool", "read_result", "modern__add"]
    assert added.structured_content == {"result": 3}
    why = "it needs the environment variable NOT_SET_HERE, which is not set"
    assert "legacy__read" in found
    assert f"'needs-key' cannot be reached now, so its tools may fail or be missing: {why}. Set NOT_SET_HERE" in found
    assert refused.is_error
    assert failed["reason"] == why
    assert failed["remedy"] == "Set NOT_SET_HERE, or write ${NOT_SET_HERE:-default}."
    assert failed["last_error"] == f"{why}. {failed['remedy']}"
    assert table.returncode == 1
    rows = [line.split() for line in table.stdout.splitlines()]
    assert ["server", "state", "tools", "tokens", "calls", "errors", "revision"] in rows
    assert any(row[:3] == ["✓", "modern", "ready"] and row[-1] == "2026-07-28" for row in rows)
    assert f"✗ needs-key\n  {why}\n  → Set NOT_SET_HERE, or write ${{NOT_SET_HERE:-default}}.\n" in table.stdout
    (shortened,) = [row for row in rows if row[-1:] == ["a_very_long_name_" * 4]]
    assert re.fullmatch(r"long__a_very_long_name_\w+_[0-9a-f]{8}", shortened[0])
    assert shortened[1] == "long"


async def test_options_of_the_command_come_before_those_of_the_config(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    file = written(tmp_path / "elsewhere", "config.yaml", config_of(tmp_path))
    more = ("--config", str(file), "--yes", "--no-daemon", "--search", "off", "--names", "plain")
    async with client_in(tmp_path / "project", environment, *more) as client:
        await client.call_tool("add", {"a": 1, "b": 2})
        listed = [tool.name for tool in (await client.list_tools()).tools]
    assert {"add", "count"} <= set(listed)


async def test_a_secret_of_the_keyring_reaches_its_server_and_nothing_else(
    tmp_path: Path, environment: dict[str, str], hikidashi: Command
) -> None:
    server = program(tmp_path, "vault", SHOWS_ITS_SECRET)
    entry = f"{{command: {server.command}, args: [{server.args[0]}], env: {{VAULT: '${{keyring:my vault/me}}'}}}}"
    missing = entry.replace("my vault/me", "my vault/nobody")
    written(tmp_path / "project", "config.yaml", f"servers:\n  vault: {entry}\n  missing: {missing}\n")
    passwords = Path(environment["KEYRING_FILE"])
    passwords.write_text(json.dumps({"my vault/me": SECRET}))
    seen: list[str] = []

    async with client_in(tmp_path / "project", environment, "--yes", "--record", "calls.db") as client:
        first = text_of(await client.call_tool("vault__digest", {}))
        seen.append(str(await client.call_tool("vault__die", {})))
        lost = await status(hikidashi, "vault", "failed", "waiting")
        without = await status(hikidashi, "missing", "failed")
        passwords.write_text(json.dumps({"my vault/me": "another-5309"}))
        second = text_of(await client.call_tool("vault__digest", {}))
        seen.append(hikidashi("serve", "status", "--json").stdout + hikidashi("serve", "status").stdout)
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen.append(process.read_text())
            except OSError:
                continue
    again = hikidashi("serve", "--no-daemon")
    hikidashi("serve", "stop")

    assert first != second
    assert "cannot open the vault with ***" in lost["last_error"]
    assert without["reason"] == "it needs `${keyring:my vault/nobody}`, and the keyring has no such password"
    assert without["remedy"] == "Set it: keyring set 'my vault' nobody"
    assert again.returncode == 0
    folders = (tmp_path / "home", tmp_path / "project", Path(environment["XDG_RUNTIME_DIR"]))
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file() and file != passwords]
    assert len(files) > 3
    seen += [str(file) + file.read_bytes().decode("latin-1") for file in files]
    assert "5309" not in "".join([*seen, again.stderr])


def test_a_keyring_that_is_not_installed_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hikidashi.servers.references import EntryError, password

    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(EntryError) as caught:
        password("a", "b")
    assert caught.value.reason == "needs `${keyring:a/b}`, and `keyring` is not installed"
    assert caught.value.remedy == "Run: pip install 'hikidashi[keyring]'"


def test_the_process_that_a_client_starts_imports_neither_the_search_nor_a_framework() -> None:
    heavy = ("mcp", "pydantic_core", "yaml", "rich", "keyring", "hikidashi.search.catalog", "hikidashi.config.load")
    script = f"import sys, hikidashi.cli.serve.run; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "[]\n"


def test_without_a_file_the_defaults_are_used_and_where_there_are_none_the_remedy_is_told(
    tmp_path: Path, environment: dict[str, str], hikidashi: Command
) -> None:
    none = hikidashi("serve")
    own = Path(environment["XDG_CONFIG_HOME"]) / "hikidashi"
    written(own, "mcp.json", '{"mcpServers": {"imported": {"command": "from-import"}}}')
    imported = hikidashi("serve")
    written(own, "config.yaml", "gateway: {pin: [most-used]}\n")
    options_alone = hikidashi("serve")
    written(own, "config.yaml", "servers: {own: {command: from-own-config}}\n")
    of_user = hikidashi("serve")
    written(tmp_path / "project", "config.yaml", "servers: {here: {command: from-this-folder}}\n")
    of_folder = hikidashi("serve")
    environment["HIKIDASHI_CONFIG"] = str(written(tmp_path, "named.yaml", "servers: {named: {command: from-named}}\n"))
    named = hikidashi("serve")

    assert none.returncode == 2
    assert "Run `hikidashi serve import`" in " ".join(none.stderr.split())
    assert "most-used needs the records of calls: give --record FILE too" in " ".join(options_alone.stderr.split())
    for refused, command in [
        (imported, "import"),
        (of_user, "own-config"),
        (of_folder, "this-folder"),
        (named, "named"),
    ]:
        assert refused.returncode == 1
        assert re.findall(r"from-[\w-]+", refused.stderr) == [f"from-{command}"]


def test_status_without_a_gateway_shows_the_configured_servers_and_what_to_do(
    environment: dict[str, str], hikidashi: Command
) -> None:
    none = hikidashi("serve", "status")
    servers = '{"mcpServers": {"files": {"command": "files-mcp"}, "issues": {"url": "https://issues.example/mcp"}}}'
    file = written(Path(environment["XDG_CONFIG_HOME"]) / "hikidashi", "mcp.json", servers)
    some = hikidashi("serve", "status")
    file.write_text("{")
    broken = hikidashi("serve", "status")

    assert "hikidashi serve import" in none.stdout
    assert f"2 servers in {file}: files, issues\n" in some.stdout
    assert f"hikidashi tools tokens --mcp {file}\n" in some.stdout
    assert f"{file}, line 1: is not JSON" in broken.stdout
    assert [done.returncode for done in (none, some, broken)] == [0, 0, 0]


@pytest.mark.parametrize("name", ["missing.json", "missing.yaml", "missing.toml"])
def test_a_config_that_is_not_there_is_wrong_usage(name: str, hikidashi: Command) -> None:
    done = hikidashi("serve", "--config", name)
    assert done.returncode == 2
    assert name in done.stderr


def test_installing_writes_the_file_that_serve_would_use(
    tmp_path: Path, environment: dict[str, str], hikidashi: Command
) -> None:
    file = written(tmp_path / "project", "config.yaml", "servers: {here: {command: from-this-folder}}\n")
    done = hikidashi("serve", "install", "cursor")
    entry = json.loads((Path(environment["HOME"]) / ".cursor" / "mcp.json").read_text())["mcpServers"]["hikidashi"]
    assert done.returncode == 0
    assert entry["args"] == ["serve", "--config", str(file)]
    assert f"Not approved yet: here. Read the file, then run: hikidashi serve --config {file}" in done.stdout


def test_what_changes_in_a_config_is_not_run_unasked(tmp_path: Path, hikidashi: Command) -> None:
    trace = tmp_path / "ran"

    def run(entry: dict[str, Any], *more: str) -> subprocess.CompletedProcess[str]:
        written(tmp_path / "project", "config.yaml", json.dumps({"servers": {"a": entry}}))
        return hikidashi("serve", "--no-daemon", *more)

    touch = {"command": "/usr/bin/touch", "args": [str(trace)], "env": {"A_KEY": "one"}}
    assert run({"command": "/usr/bin/true", "env": {"A_KEY": "one"}}, "--yes").returncode == 0
    assert run({"command": "/usr/bin/true", "env": {"A_KEY": "two"}}).returncode == 0
    for changed in (
        touch,
        {"url": "http://127.0.0.1:9/mcp"},
    ):
        refused = run(changed)
        assert refused.returncode == 1
        assert "never run from here" in refused.stderr
        assert "--yes" in refused.stderr
    socket = tmp_path / "d.sock"
    written(tmp_path / "project", "config.yaml", json.dumps({"servers": {"a": touch}}))
    as_daemon = hikidashi("serve", "--as-daemon", str(socket))
    assert (as_daemon.returncode, socket.exists()) == (1, False)
    assert not trace.exists()


def in_a_terminal(environment: dict[str, str], *arguments: str, answer: str = "", until: str) -> str:
    """What the command shows on a terminal of 100 columns, up to the text `until`; then it is ended."""
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [HIKIDASHI, *arguments],
        env={**environment, "COLUMNS": "100", "TERM": "xterm-256color"},
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
    )
    os.close(end)
    shown = b""
    try:
        while until not in shown.decode("utf-8", "replace"):
            ready, _, _ = select.select([terminal], [], [], 30)
            try:
                piece = os.read(terminal, 65_536) if ready else b""
            except OSError:  # its other end is closed
                piece = b""
            if not piece:
                break
            if answer and b"[y/N]" in piece:
                os.write(terminal, f"{answer}\n".encode())
            shown += piece
    finally:
        process.terminate()
        process.wait(timeout=30)
        os.close(terminal)
    return shown.decode("utf-8", "replace").replace("\r\n", "\n")


def test_a_person_sees_what_is_new_is_asked_once_and_then_sees_the_servers_start(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    hostile = "harmless\x1b[2K\r"
    entries = {
        "modern": {"command": sys.executable, "args": [program(tmp_path, "modern", MODERN).args[0]]},
        "dead": {"command": sys.executable, "args": ["-c", f"import sys; sys.exit('no database') # {hostile}"]},
        "unset": {"command": "x", "args": ["${NOT_SET_HERE}"]},
    }
    file = written(tmp_path / "project", "mcp.json", json.dumps({"mcpServers": entries}))
    command = ("serve", "--config", str(file), "--http", str(free_port()))

    asked = in_a_terminal(environment, *command, answer="n", until="Aborted")
    started = in_a_terminal(environment, *command, answer="y", until="✓")
    again = in_a_terminal({**environment, "NO_COLOR": "1"}, *command, until="no database")

    assert f"These commands are new in {file}:" in asked
    assert r"# harmless\x1b[2K\r" in asked
    assert hostile not in asked
    assert "Serving MCP" not in asked
    assert "Serving MCP on http://127.0.0.1:" in started
    assert re.search(r"✓\S* modern +\S*2 tools", started)
    assert re.search(r"unset +\S*it needs the environment variable NOT_SET_HERE, which is not set", started)
    assert "[y/N]" not in again
    assert "stderr ended with: no database" in again
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", again)


@pytest.mark.soak
async def test_a_flood_on_standard_error_takes_no_disk_and_its_end_is_told(
    tmp_path: Path, environment: dict[str, str], hikidashi: Command
) -> None:
    flood = LEGACY.replace(
        "os._exit(3)",
        """sys.stderr.write(("y" * 99 + chr(10)) * 200_000)
        sys.stderr.write("the disk would be full" + chr(10)); sys.stderr.flush(); os._exit(3)""",
    )
    server = program(tmp_path, "flood", flood)
    entries = {"flood": {"command": server.command, "args": list(server.args)}}
    file = written(tmp_path / "project", "mcp.json", json.dumps({"mcpServers": entries}))
    async with client_in(
        tmp_path / "project", environment, "--config", str(file), "--yes", "--search", "off"
    ) as client:
        answer = await client.call_tool("flood__read", {})
        assert answer.structured_content is not None
        kind = Path(f"/proc/{answer.structured_content['pid']}/fd/2").readlink().name
        await client.call_tool("flood__die", {})
        found = await status(hikidashi, "flood", "failed", "waiting")
    hikidashi("serve", "stop")
    assert kind.startswith("pipe:")
    assert "; stderr ended with: " in found["last_error"]
    assert "the disk would be full" in found["last_error"]
    assert len(found["last_error"]) < 2_000


@pytest.mark.soak
async def test_a_keyring_that_waits_for_a_person_is_told_and_holds_up_nobody(
    tmp_path: Path, environment: dict[str, str], hikidashi: Command
) -> None:
    locked = KEYRING.replace("return json.load", "import threading; threading.Event().wait()\n        return json.load")
    (tmp_path / "modules" / "keyring_in_a_file.py").write_text(locked)
    legacy = program(tmp_path, "legacy", LEGACY)
    entries: dict[str, dict[str, Any]] = {
        "locked": {"command": "x", "env": {"A": "${keyring:a/b}"}, "hikidashi": {"start_seconds": 1}},
        "legacy": {"command": legacy.command, "args": list(legacy.args)},
    }
    written(tmp_path / "home" / "config" / "hikidashi", "mcp.json", json.dumps({"mcpServers": entries}))
    async with client_in(tmp_path / "project", environment, "--yes", "--search", "off") as client:
        read = await client.call_tool("legacy__read", {})
        found = await status(hikidashi, "locked", "failed")
        pid = json.loads(hikidashi("serve", "status", "--json").stdout)[0]["pid"]
    hikidashi("serve", "stop")
    with anyio.fail_after(20):
        while Path(f"/proc/{pid}/cmdline").exists():
            await anyio.sleep(0.05)
    assert not read.is_error
    assert found["reason"] == "the keyring gave no answer within 1 s"
    assert found["remedy"] == "Unlock it, or raise `start_seconds`."
