"""`hikidashi serve status` and `stop`: the gateways that run, as tables or as JSON."""

from __future__ import annotations

import logging
import os
import shlex
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group
from rich.live import Live
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hikidashi.errors import HikidashiError
from hikidashi.gateway.config import is_own_format, read_servers

from ...gateway.shim import ask_daemon, sockets_folder
from ..output import clean, counted, print_json, print_text, stderr, stdout, wrapped
from .options import default_files

_MARKS = {"ready": ("✓", "green"), "failed": ("✗", "bold red"), "starting": ("…", "yellow"), "stopped": ("·", "dim")}


def marked(server: dict[str, Any]) -> Text:
    """The mark of a server's state."""
    mark, style = _MARKS.get(server["status"], ("·", "dim"))
    return Text(mark, style)


def summary(server: dict[str, Any]) -> Text:
    """The summary of a server while the gateway starts."""
    match server["status"]:
        case "ready":
            return Text(counted(server["tools"], "tool"))
        case "failed":
            return Text(clean(server["reason"]), "red")
        case "waiting" if server["listed"]:
            return Text(f"{counted(server['tools'], 'tool')}, starts when it is needed", "dim")
        case _:
            return Text(server["status"], "dim")


def problem_lines(server: dict[str, Any], width: int, *, indent: int) -> Iterator[Text]:
    """Why a server failed and what to do, below its name."""
    before = Text(" " * indent)
    for text, style in ((server["reason"], "red"), (server["remedy"], "")):
        cleaned = clean(text)
        if cleaned:
            start = "" if style else "→ "
            for number, line in enumerate(wrapped(Text(cleaned, style), max(20, width - indent - len(start)))):
                yield before + Text(start if not number else " " * len(start), "bold") + line


_EVERY = 0.1  # seconds
_LONGEST = 120.0  # seconds, after which nothing more is shown


@contextmanager
def showing_progress(status: Callable[[], dict[str, Any] | None]) -> Generator[None]:
    """Show how far the servers are until all have started or failed, on a terminal.

    Args:
        status: Returns the state of each server, as `hikidashi.gateway.daemon` has it.
    """
    stop = Event()
    thread = Thread(target=_show, args=(status, stop, stderr()), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=1.0)


def _show(status: Callable[[], dict[str, Any] | None], stop: Event, console: Console) -> None:
    console.soft_wrap = False
    deadline = time.monotonic() + _LONGEST
    with _without_warnings(), Live(console=console, auto_refresh=False) as live:
        while not stop.is_set() and time.monotonic() < deadline:
            found = status()
            servers: list[dict[str, Any]] = (found or {}).get("servers", [])
            live.update(_lines(servers, console.width), refresh=True)
            if found is not None and all(server["listed"] for server in servers):
                break  # all are listed, or failed to be: retries are not part of the start
            stop.wait(_EVERY)


@contextmanager
def _without_warnings() -> Generator[None]:
    """Suppress warnings in the log, which repeat what is shown."""
    logger = logging.getLogger("hikidashi.gateway")

    def is_error(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR

    logger.addFilter(is_error)
    try:
        yield
    finally:
        logger.removeFilter(is_error)


def _lines(servers: list[dict[str, Any]], width: int) -> Group:
    names = [clean(server["name"]) for server in servers]
    widest = max(map(cell_len, names), default=0)
    lines: list[Text] = []
    for name, server in zip(names, servers, strict=True):
        if server["status"] == "starting" and server["listed"] and server["last_error"]:  # it is tried again
            server = {**server, "status": "failed", "reason": server["last_error"], "remedy": ""}  # noqa: PLW2901
        start = Text.assemble(marked(server), f" {set_cell_size(name, widest)}  ")
        if server["status"] == "failed":
            first, *others = problem_lines(server, width, indent=widest + 4)
            lines += [start + first[widest + 4 :], *others]
        else:
            line = start + summary(server)
            line.truncate(width, overflow="ellipsis")
            lines.append(line)
    return Group(*lines)


_SECONDS = 20.0
_EXIT_SECONDS = 3.0


def stop_daemon(path: Path, on_silence: Callable[[int | None], None] = lambda _: None) -> bool | None:
    """Whether the daemon at `path` and its servers have ended in time; None where none runs, or none answers.

    Args:
        path: Its socket.
        on_silence: Called with the process of a daemon that does not answer, if it is known.
    """
    stopping = ask_daemon(path, "stop", on_silence=on_silence)
    if stopping is None:
        return None
    import fcntl  # there is no daemon on Windows

    deadline = time.monotonic() + _SECONDS
    lock = path.with_suffix(".lock")  # which the daemon holds until its servers have ended
    if not lock.exists():
        return True
    with lock.open("rb") as held:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                time.sleep(0.02)
            else:
                _wait_for_exit(stopping.get("pid"))
                return True
    return False


def _wait_for_exit(pid: object) -> None:
    """Wait for a process that only has to exit; not for long, since its parent may not reap it."""
    deadline = time.monotonic() + _EXIT_SECONDS
    while isinstance(pid, int) and time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except OSError:
            return
        time.sleep(0.02)


def print_status(*, as_json: bool) -> int:
    """Print the gateways that run; return 1 if a server failed, or a gateway does not answer."""
    silent: list[int | None] = []
    running = _running(silent)
    failed = any(map(_has_failed, (server for status in running for server in status["servers"])))
    console = stdout()
    if as_json:
        unanswered: list[dict[str, Any]] = [{"pid": pid, "servers": [], "problem": _silence(pid)} for pid in silent]
        print_json([*running, *unanswered])
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
        mark = marked(server)
        state = Text(server["status"], str(mark.style).removeprefix("bold "))
        table.add_row(mark, clean(server["name"]), state, *numbers, *revision)
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
