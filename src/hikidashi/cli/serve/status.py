"""What runs, as a table or as JSON."""

from __future__ import annotations

import json
from typing import Any

from rich.table import Table
from rich.text import Text

from hikidashi.gateway.attach import ask_daemon, sockets_folder

from ..output import stdout

__all__ = ["print_status", "stop_all"]

_COLOUR = {"ready": "green", "failed": "red", "starting": "yellow"}


def print_status(*, as_json: bool) -> int:
    """Print the gateways that run; return 1 if a server failed."""
    running = _running()
    failed = any(map(_has_failed, (server for status in running for server in status["servers"])))
    console = stdout()
    if as_json:
        print(json.dumps(running, indent=2))  # noqa: T201
    elif not running:
        console.print("No gateway runs. A client starts one: hikidashi serve --config FILE")
    for status in [] if as_json else running:
        shown = "search" if status["searching"] else "list"
        clients = f"{status['clients']} client" + ("" if status["clients"] == 1 else "s")
        console.print(Text(f"gateway {status['pid']}: {clients}, tools by {shown}", "bold"))
        console.print(_table(status["servers"]))
        for server in status["servers"]:
            if server["reason"] and _has_failed(server):
                console.print(Text(f"{server['name']}: {server['reason']}. {server['remedy']}", "red"))
    return int(failed)


def _has_failed(server: dict[str, Any]) -> bool:
    """Whether a server does not work; one that is tried again after a fault has its reason."""
    return server["status"] == "failed" or (server["status"] == "starting" and bool(server["reason"]))


def stop_all() -> None:
    """Stop the gateways that run."""
    stopped = sum(ask_daemon(path, "stop") is not None for path in sorted(sockets_folder().glob("*.sock")))
    stdout().print(f"Stopped {stopped} gateway{'' if stopped == 1 else 's'}.")


def _running() -> list[dict[str, Any]]:
    answers = (ask_daemon(path, "status") for path in sorted(sockets_folder().glob("*.sock")))
    return [answer for answer in answers if answer]


def _table(servers: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("server", "state", "revision"):
        table.add_column(heading)
    for heading in ("tools", "tokens", "calls", "errors"):
        table.add_column(heading, justify="right")
    for server in servers:
        state = Text(server["status"], _COLOUR.get(server["status"], ""))
        numbers = (f"{server[key]:,}" for key in ("tools", "tokens", "calls", "errors"))
        table.add_row(server["name"], state, server["protocol"] or "–", *numbers)
    return table
