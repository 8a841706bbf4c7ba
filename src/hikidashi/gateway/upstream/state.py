"""The state of a server behind the gateway, the events it causes, and why a connection to it ended."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import mcp_types as types
from mcp import MCPError

from ...common.exceptions import is_group
from ..auth.logins import takes_login
from ..options import GatewayServer

Status = Literal["waiting", "starting", "ready", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state of a server."""

    name: str
    status: Status = "waiting"
    reason: str = ""
    remedy: str = ""
    last_error: str = ""
    """Its last error with the remedy; kept when it works again."""
    protocol: str = ""
    calls: int = 0
    errors: int = 0
    restarts: int = 0
    since: float = field(default_factory=time.time)


class ConnectionLost(Exception):  # noqa: N818 - it ends a connection, which is not always an error
    """The connection ends for `reason`; `failed` is False where the gateway ended it on purpose."""

    def __init__(self, reason: str, *, failed: bool = True, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.failed = failed
        self.remedy = remedy


class NotSent(MCPError):  # noqa: N818 - its base class has no such suffix
    """The server could not be connected to for `reason`, so that a request was not carried out."""

    def __init__(self, reason: str) -> None:
        super().__init__(types.CONNECTION_CLOSED, f"Connection closed: {reason}")


def lost_in(error: BaseException) -> ConnectionLost | None:
    """The first `ConnectionLost` in `error`, which may be a group of exceptions."""
    if is_group(error):
        return next(filter(None, map(lost_in, error.exceptions)), None)
    return error if isinstance(error, ConnectionLost) else None


def _log_in(given: GatewayServer) -> str:
    if not takes_login(given.server):
        return "Its key is refused: check its `headers`."
    command = ["hikidashi", "serve", "login", given.name]
    if given.entry is not None:  # the person may be in another folder
        command += ["--config", str(Path(given.entry.source).absolute())]
    return f"Log in: {shlex.join(command)} (or set its key in `headers`)."


def _install(given: GatewayServer) -> str:
    server = given.server
    if server.cwd is not None and not Path(server.cwd).is_dir():
        return f"Make the folder {server.cwd!r}, or change its `cwd`."
    program, *rest = server.command.split() or [""]
    if rest and shutil.which(program):
        return f"Its `command` is {program!r} alone: what follows goes into `args`, one by one."
    if brings := _BROUGHT_BY.get(server.command):
        return f"Install {brings}, which has {server.command!r}, or give its full path."
    return f"Install {server.command!r}, or give its full path."


def _allow(given: GatewayServer) -> str:
    if Path(given.server.command).is_dir():
        return f"{given.server.command!r} is a folder: give the program in it as `command`."
    return f"Make {given.server.command!r} executable."


_BROUGHT_BY = {
    **dict.fromkeys(("node", "npm", "npx"), "Node.js"),
    **dict.fromkeys(("uv", "uvx"), "uv"),
    **dict.fromkeys(("bun", "bunx"), "Bun"),
    "deno": "Deno",
    "docker": "Docker",
    "pipx": "pipx",
}

_REMEDIES: tuple[tuple[tuple[str, ...], Callable[[GatewayServer], str]], ...] = (
    (("401", "Unauthorized"), _log_in),
    (("403", "Forbidden"), lambda _: "Its key, or the login to it, does not allow this."),
    (("No such file", "Not a directory"), _install),
    (("Permission denied",), _allow),
    (
        ("no answer within",),
        lambda _: "Start it in a terminal to see what it waits for, or raise `start_seconds`.",
    ),
    (("ConnectError", "ConnectionRefused"), lambda _: "Check its address, and that it is running."),
    (("more than the",), lambda _: "Raise `memory_mb`, or find out what uses it."),
)


def remedy_for(given: GatewayServer, reason: str) -> str:
    """The remedy for a server that failed for `reason`."""
    for signs, remedy in _REMEDIES:
        if any(sign in reason for sign in signs):
            return remedy(given)
    if given.server.transport != "stdio":
        return 'Check its address, and its `type`: "http", or "sse" for an old server.'
    return "Start it in a terminal to see what is wrong."
