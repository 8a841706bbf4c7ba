"""Remedies for the failures of a server."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from ..auth.logins import takes_login
from ..options import GatewayServer

__all__ = ["remedy_for"]


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
