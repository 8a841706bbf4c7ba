"""`hikidashi serve status` and `stop`: the gateways that run, as tables or as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hikidashi.errors import HikidashiError
from hikidashi.gateway.daemon.attach import ask_daemon, sockets_folder
from hikidashi.gateway.settings.config import is_own_format, read_servers

from ..output import print_text, stderr, stdout
from ..tools.text import clean, counted
from ..wrap import wrapped
from .files import default_files
from .stopping import stop_daemon
from .view import marked, problem_lines, state_of

__all__ = ["print_status", "stop_all"]


def print_status(*, as_json: bool) -> int:
    """Print the gateways that run; return 1 if a server failed, or a gateway does not answer."""
    silent: list[int | None] = []
    running = _running(silent)
    failed = any(map(_has_failed, (server for status in running for server in status["servers"])))
    console = stdout()
    if as_json:
        unanswered: list[dict[str, Any]] = [{"pid": pid, "servers": [], "problem": _silence(pid)} for pid in silent]
        print(json.dumps([*running, *unanswered], indent=2))  # noqa: T201
    elif not running and not silent:
        for line in _nothing_runs():
            print_text(console, Text(clean(line)))
    for number, status in enumerate([] if as_json else running):
        if number:
            console.print()
        _print_gateway(console, status)
    for pid in [] if as_json else silent:
        console.print(_silence(pid), soft_wrap=True)
    return int(failed or bool(silent))


def _silence(pid: int | None) -> str:
    """That a gateway does not answer, and what to do."""
    if pid is None:
        return "A gateway does not answer. End its process, `hikidashi serve`; the next client starts another."
    return (
        f"gateway {pid}: it does not answer. If that stays so, end it: kill -9 {pid}; the next client starts another."
    )


def _nothing_runs() -> Iterator[str]:
    """That no gateway runs, the servers that one would have, and what to do next."""
    yield "No gateway runs: a client starts it when it connects."
    files = default_files()
    try:
        names = [server.name for server in read_servers(files)]
    except HikidashiError as error:
        yield str(error)
        return
    if not names:
        yield "No servers are configured. Take over those of your MCP clients: hikidashi serve import"
        return
    yield f"{counted(len(names), 'server')} in {', '.join(map(str, files))}: {', '.join(names)}"
    yield "Put hikidashi into a client: hikidashi serve install CLIENT"
    if not is_own_format(files[-1]):
        yield f"Start each server once, to see its tools: hikidashi tools tokens --mcp {shlex.quote(str(files[-1]))}"


def _has_failed(server: dict[str, Any]) -> bool:
    """Whether a server does not work; one that is being retried has a reason too."""
    return server["status"] == "failed" or (server["status"] == "starting" and bool(server["reason"]))


def stop_all() -> None:
    """Stop the gateways that run, and wait for their servers to end."""
    silent: list[int | None] = []
    paths = sorted(sockets_folder().glob("*.sock"))
    ended = [end for path in paths if (end := stop_daemon(path, silent.append)) is not None]
    stopped = sum(ended)
    stdout().print(f"Stopped {counted(stopped, 'gateway')}.")
    if not all(ended):
        stderr().print(
            f"{len(ended) - stopped} more got the request to stop and still run. See: hikidashi serve status"
        )
    for pid in silent:
        stderr().print(_silence(pid))


def _running(silent: list[int | None]) -> list[dict[str, Any]]:
    """The status of each gateway; the processes of those that do not answer are added to `silent`."""
    paths = sorted(sockets_folder().glob("*.sock"))
    answers = (ask_daemon(path, "status", on_silence=silent.append) for path in paths)
    return [answer for answer in answers if answer]


def _print_gateway(console: Console, status: dict[str, Any]) -> None:
    servers: list[dict[str, Any]] = status["servers"]
    shown = "search" if status["searching"] else "list"
    console.print(Text.assemble((f"gateway {status['pid']}", "bold"), f": {_reached(status)}, tools by {shown}"))
    table = _table(servers)
    narrow = Measurement.get(console, console.options.update(width=10_000), table).maximum > console.width
    console.print(_table(servers, with_revision=False) if narrow else table)
    for server in servers:
        if server["status"] == "failed":
            console.print(Text.assemble("\n", marked(server), " ", (clean(server["name"]), "bold")))
            for line in problem_lines(server, console.width, indent=2):
                console.print(line)
    for server in servers:
        notes = [clean(note) for note in server["notes"]]
        if server["last_error"] and server["status"] != "failed":
            notes.insert(0, f"its last error was: {clean(server['last_error'])}")
        if notes:
            console.print(Text.assemble("\n", marked(server), " ", (clean(server["name"]), "bold")))
        for note in notes:
            for line in wrapped(Text(note, "dim"), max(20, console.width - 2)):
                console.print(Text("  ") + line)
    _print_names(console, status)


def _reached(status: dict[str, Any]) -> str:
    """How clients reach a gateway: how many share it in the background, its address, or one on its own."""
    if status["clients"] is not None:
        return counted(status["clients"], "client")
    return status["address"] or "one client on standard input"


def _table(servers: list[dict[str, Any]], *, with_revision: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "server", "state"):
        table.add_column(heading, no_wrap=heading != "server", overflow="fold")
    for heading in ("tools", "tokens", "calls", "errors"):
        table.add_column(heading, justify="right", no_wrap=True)
    if with_revision:
        table.add_column("revision", no_wrap=True)
    for server in servers:
        numbers = (f"{server[key]:,}" for key in ("tools", "tokens", "calls", "errors"))
        revision = [Text(server["protocol"] or "–", "dim")] if with_revision else []
        table.add_row(marked(server), clean(server["name"]), state_of(server), *numbers, *revision)
    return table


def _print_names(console: Console, status: dict[str, Any]) -> None:
    """Names that were shortened or changed, and the tools they stand for."""
    rows = [(name, status["names"][name]) for name in status["shortened"]]
    if not rows:
        return
    shown = [("shortened name", "server", "tool")]
    shown += [(clean(name), clean(place["server"]), clean(place["name"])) for name, place in rows]
    widest = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    console.print()
    for number, (name, server, tool) in enumerate(shown):
        line = f"{set_cell_size(name, widest[0])}  {set_cell_size(server, widest[1])}  {tool}"
        console.print(Text(line, "" if number else "dim"), soft_wrap=True)
