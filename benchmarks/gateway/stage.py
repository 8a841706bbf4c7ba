"""Where the gateway is measured: a private home, made-up tools, and three ways to reach them.

Each way is a program of its own, and the official client talks to it: the server itself ("direct"), `hikidashi serve`
in front of it ("ours"), FastMCP's proxy in front of it ("FastMCP"), or over HTTP a proxy that does nothing but forward
("forwarding").
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from anyio.from_thread import BlockingPortal
from mcp import Client, StdioServerParameters

from ..search.catalogue import catalogue

Way = Literal["direct", "ours", "FastMCP", "forwarding"]
Route = Literal["stdio", "HTTP", "HTTP to stdio"]
"""The transport of the client, and that of the server behind the gateways where it differs."""

WAYS: tuple[Way, ...] = ("direct", "ours", *(("FastMCP",) if find_spec("fastmcp") else ()))
"""All ways that are installed here."""

PEER_NAME = "FastMCP's proxy"
FLOOR_NAME = "a proxy that only forwards"
_HERE = Path(__file__).parent
_HIKIDASHI = str(Path(sys.executable).with_name("hikidashi"))
_START_SECONDS = 60.0
_ECHO = {
    "name": "echo",
    "description": "Say it again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "annotations": {"readOnlyHint": True},
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A folder that is the home of everything started in it."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        """The environment of processes started here."""
        own = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")
        return {**os.environ, **dict.fromkeys(own, str(self.folder))}

    def tools(self, count: int) -> Path:
        """A file of `count` tools, the last of them `echo`."""
        path = self.folder / f"tools-{count}.json"
        if not path.exists():
            made = [
                {"name": tool["name"], "description": tool["description"], "inputSchema": tool["input_schema"]}
                for tool in catalogue(count - 1)
            ]
            path.write_text(json.dumps([*made, _ECHO]), "utf-8")
        return path

    def backend(self, tools: int, *more: str) -> list[str]:
        """The command of a server with `tools` tools."""
        return [sys.executable, str(_HERE / "backend.py"), str(self.tools(tools)), *more]

    def config(self, tools: int, *, servers: int = 1, url: str | None = None) -> Path:
        """A config file of `servers` servers with `tools` tools each, or of one at `url`."""
        command, *arguments = self.backend(tools)
        one = {"command": command, "args": arguments} if url is None else {"url": url}
        named = {f"backend{place}" if servers > 1 else "backend": one for place in range(servers)}
        path = self.folder / f"config-{tools}-{servers}{'' if url is None else '-http'}.json"
        path.write_text(json.dumps({"mcpServers": named}), "utf-8")
        return path

    def command(self, way: Way, config: Path, tools: int, *, search: bool, port: int | None = None) -> list[str]:
        """The command that offers `config` in this way; the server itself has `tools` tools.

        With `search` FastMCP searches; ours decides by itself, from 11 tools on.
        """
        at = [] if port is None else [str(port)]
        match way:
            case "direct":
                return self.backend(tools, *at)
            case "ours":
                http = [] if port is None else ["--http", str(port)]
                return [_HIKIDASHI, "serve", "--yes", "--config", str(config), *http]
            case "FastMCP":
                program = str(_HERE / "fastmcp_proxy.py")
                return [sys.executable, program, str(config), "search" if search else "plain", *at]
            case "forwarding":
                return [sys.executable, str(_HERE / "forwarding_proxy.py"), str(config), *at]

    def stdio(self, command: Sequence[str]) -> StdioServerParameters:
        """How the official client starts `command`."""
        return StdioServerParameters(command=command[0], args=list(command[1:]), env=self.env)

    @contextmanager
    def http(self, way: Way, config: Path, tools: int, *, search: bool) -> Generator[str]:
        """The address of a process that serves HTTP in this way."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        command = self.command(way, config, tools, search=search, port=port)
        with (self.folder / "http.log").open("wb") as log:
            process = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            _until_listening(port, process, self.folder / "http.log")
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait()

    def stop(self) -> None:
        """End the daemons that were started here, and wait until they are gone."""
        subprocess.run([_HIKIDASHI, "serve", "stop"], env=self.env, capture_output=True, check=True)
        _until(lambda: not list(self.folder.rglob("*.sock")), "the daemon to end")


@contextmanager
def stage() -> Generator[Stage]:
    """A stage whose daemons end, and whose folder is removed, at exit."""
    with tempfile.TemporaryDirectory(prefix="hk-", ignore_cleanup_errors=True) as folder:
        here = Stage(Path(folder))
        try:
            yield here
        finally:
            here.stop()


@contextmanager
def connected(portal: BlockingPortal, target: str | StdioServerParameters) -> Generator[Client]:
    """The official client, connected; it lists the tools once, as clients do, since it lists before an unknown one."""
    with portal.wrap_async_context_manager(Client(target)) as client:
        portal.call(client.list_tools)
        yield client


@contextmanager
def contestants(
    portal: BlockingPortal, here: Stage, tools: int, *, route: Route, search: bool
) -> Generator[dict[Way, Client]]:
    """A connected client for each way."""
    with ExitStack() as stack:
        clients: dict[Way, Client] = {}
        config = here.config(tools)
        url = None
        if route != "stdio":
            url = stack.enter_context(here.http("direct", config, tools, search=search))
        if route == "HTTP":
            config = here.config(tools, url=url)
        for way in (*WAYS, "forwarding") if route == "HTTP" else WAYS:
            if url is None:
                target: str | StdioServerParameters = here.stdio(here.command(way, config, tools, search=search))
            else:
                target = url if way == "direct" else stack.enter_context(here.http(way, config, tools, search=search))
            clients[way] = stack.enter_context(connected(portal, target))
        yield clients


def echo(way: Way, *, search: bool) -> tuple[str, dict[str, Any]]:
    """The name and the arguments with which a client calls `echo`."""
    name = "backend__echo" if way == "ours" else "echo"
    arguments = {"text": "hello"}
    if not search or way in ("direct", "forwarding"):
        return name, arguments
    return ("call_read_tool" if way == "ours" else "call_tool"), {"name": name, "arguments": arguments}


def _until_listening(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    def listening() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"It ended: {log.read_text('utf-8', 'replace').strip()[-300:]}")
        with socket.socket() as attempt:
            return attempt.connect_ex(("127.0.0.1", port)) == 0

    _until(listening, "it to listen")


def _until(ready: Any, what: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise RuntimeError(f"Waited {_START_SECONDS:g} s for {what}.")
        time.sleep(0.01)
