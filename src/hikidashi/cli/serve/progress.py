"""Progress on a terminal's standard error while the servers of a gateway start."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ..output import stderr
from ..tools.text import clean
from .view import marked, problem_lines, summary

__all__ = ["showing_progress"]

_EVERY = 0.1  # seconds
_LONGEST = 120.0  # seconds, after which nothing more is shown


@contextmanager
def showing_progress(status: Callable[[], dict[str, Any] | None]) -> Generator[None]:
    """Show how far the servers are until all have started or failed, on a terminal.

    Args:
        status: Returns the state of each server, as `hikidashi.gateway.status` has it.
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
            if found is not None and all(map(_is_settled, servers)):
                break
            stop.wait(_EVERY)


def _is_settled(server: dict[str, Any]) -> bool:
    return server["listed"]  # or failed to; retries are not part of the start


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
