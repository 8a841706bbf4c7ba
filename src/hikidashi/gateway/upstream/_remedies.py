"""Remedies for the failures of a server."""

from __future__ import annotations

from collections.abc import Callable

from ..options import GatewayServer

__all__ = ["remedy_for"]

_REMEDIES: tuple[tuple[tuple[str, ...], Callable[[GatewayServer], str]], ...] = (
    (("401", "403", "Unauthorized", "Forbidden"), lambda _: "It needs a login: set its key or `headers`."),
    (("FileNotFoundError", "No such file"), lambda given: f"Install {given.server.command!r}, or give its full path."),
    (("PermissionError",), lambda given: f"Make {given.server.command!r} executable."),
    (("no answer within",), lambda _: "Start it by hand to see what it waits for, or raise `start_seconds`."),
    (("ConnectError", "ConnectionRefused"), lambda _: "Check its address, and that it is running."),
    (("more than the",), lambda _: "Raise `memory_mb`, or find out what fills it."),
)


def remedy_for(given: GatewayServer, reason: str) -> str:
    """The remedy for a server that failed for `reason`."""
    for signs, remedy in _REMEDIES:
        if any(sign in reason for sign in signs):
            return remedy(given)
    return "Start it by hand to see what is wrong."
