"""`hikidashi serve` as a process, spoken to by hand: what the official client would tidy up on the way is seen here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from tests.gateway.faulty import STDIO
from tests.gateway.servers import program

HIKIDASHI = str(Path(sys.executable).with_name("hikidashi"))


@dataclass(frozen=True)
class Home:
    """A person's machine with one config: the server `faulty`."""

    config: Path
    environment: dict[str, str]

    def serve(self, *more: str) -> list[str]:
        """The command that a client starts."""
        return [HIKIDASHI, "serve", "--config", str(self.config), "--yes", "--search", "off", *more]

    def status(self) -> dict[str, Any] | None:
        """What the daemon says of itself; None where there is none."""
        found = self.statuses()
        return found[0] if found else None

    def statuses(self) -> list[dict[str, Any]]:
        """What every gateway says of itself."""
        command = [HIKIDASHI, "serve", "status", "--json"]
        return json.loads(subprocess.run(command, env=self.environment, capture_output=True, check=True).stdout)

    def stop(self) -> None:
        """End the daemon."""
        subprocess.run([HIKIDASHI, "serve", "stop"], env=self.environment, capture_output=True, check=True)


@contextmanager
def home(folder: Path) -> Generator[Home]:
    """A machine of its own in `folder`; its daemon ends with the context."""
    server = program(folder, "faulty", STDIO)
    config = folder / "faulty.json"
    config.write_text(json.dumps({"mcpServers": {"faulty": {"command": server.command, "args": list(server.args)}}}))
    with tempfile.TemporaryDirectory(prefix="hk-") as run:  # short: the address of a socket takes a hundred bytes
        homes = {"HOME": str(folder), "XDG_RUNTIME_DIR": run, "XDG_STATE_HOME": str(folder / "state")}
        made = Home(config, {**os.environ, **homes, "XDG_CACHE_HOME": str(folder / "cache")})
        yield made
        made.stop()


@dataclass
class Spoken:
    """A process that speaks MCP on its standard input and output, as a client of 2025-06-18 sees it."""

    process: subprocess.Popen[bytes]
    _last: int = field(default=0)

    def __post_init__(self) -> None:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.ask("initialize", hello)
        self.send({"method": "notifications/initialized"})

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, tool: str) -> int:
        """Call a tool of `faulty`, and wait for nothing; return the id of the request."""
        self._last += 1
        call: dict[str, Any] = {"name": f"faulty__{tool}", "arguments": {}}
        self.send({"id": self._last, "method": "tools/call", "params": call})
        return self._last

    def answer(self, id_: int) -> dict[str, Any]:
        """The answer to the request `id_`."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == id_ and "method" not in message:
                return message
        raise AssertionError(f"it ended with {self.process.wait()}")

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and return the answer to it."""
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params})
        return self.answer(self._last)

    def call(self, tool: str) -> str:
        """What a tool of `faulty` says."""
        return self.answer(self.begin(tool))["result"]["content"][0]["text"]

    def hang(self) -> int:
        """Call a tool that never answers, and return the id of the request when the server works on it."""
        id_ = self.begin("wait")
        while not self.call("heard").endswith("wait"):
            pass
        return id_


@contextmanager
def speaking(command: list[str], environment: dict[str, str]) -> Generator[Spoken]:
    """A process that is spoken to; its input is closed at the end."""
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Spoken(process)


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def processes_of(environment: dict[str, str]) -> set[int]:
    """The processes that have the runtime folder of `environment`: everything that was started in it, at any depth."""
    wanted = f"XDG_RUNTIME_DIR={environment['XDG_RUNTIME_DIR']}".encode()
    found: set[int] = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                told = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if wanted in told and is_running(int(folder.name)):
                found.add(int(folder.name))
    return found


async def ended(*pids: int, seconds: float = 20.0) -> bool:
    """Whether all of them end within `seconds`."""
    with anyio.move_on_after(seconds):
        while any(map(is_running, pids)):
            await anyio.sleep(0.02)
        return True
    return False
