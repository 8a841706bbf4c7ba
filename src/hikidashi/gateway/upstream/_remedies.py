"""Remedies for the failures of a server."""

from __future__ import annotations

import shlex
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


_REMEDIES: tuple[tuple[tuple[str, ...], Callable[[GatewayServer], str]], ...] = (
    (("401", "Unauthorized"), _log_in),
    (("403", "Forbidden"), lambda _: "Its key, or the login to it, does not allow this."),
    (("FileNotFoundError", "No such file"), lambda given: f"Install {given.server.command!r}, or give its full path."),
    (("PermissionError",), lambda given: f"Make {given.server.command!r} executable."),
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
    return "Start it in a terminal to see what is wrong."
