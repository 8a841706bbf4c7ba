"""The files of `data/tasks/`: what people ask that takes several tools, read strictly and checked.

A file ``tasks/<server>.txt`` has tasks for the tools of one server::

    # spotify
    what is she singing in this song -> get_current_track, get_lyrics

In ``tasks/across.txt``, tools are of several servers, and named ``<server>/<tool>``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from .server_files import ARROW, FormatError, Server, folded

__all__ = ["ACROSS", "Task", "read_tasks", "task_faults"]

ACROSS = "across"
FEWEST, MOST = 2, 4


@dataclass(frozen=True)
class Task:
    """What somebody asks, and the tools that it takes, in the order of the calls."""

    text: str
    tools: tuple[str, ...]


def read_tasks(folder: Path) -> dict[str, list[Task]]:
    """The tasks of each file in `folder`, by its server or `ACROSS`; FormatError names the first line that is wrong."""
    return {path.stem: _read(path) for path in sorted(folder.glob("*.txt"))}


def task_faults(tasks: dict[str, list[Task]], servers: list[Server]) -> list[str]:
    """What is wrong in the tasks, a line each."""
    tools = {server.name: {tool.name for tool in server.tools} for server in servers}
    everywhere = {f"{server}/{tool}" for server, names in tools.items() for tool in names}
    found = [f"tasks: there is no server {name}" for name in tasks if name != ACROSS and name not in tools]
    for name, some in tasks.items():
        known = everywhere if name == ACROSS else tools.get(name, set())
        found += [f"tasks/{name}: {fault}" for one in some for fault in _faults(one, known)]
        if name == ACROSS:
            found += [
                f"tasks/{name}: tools of one server alone: {one.text!r}"
                for one in some
                if len({tool.partition("/")[0] for tool in one.tools}) < FEWEST
            ]
    counts = Counter(folded(one.text) for some in tasks.values() for one in some)
    return found + [f"tasks: {text!r} is there {count} times" for text, count in counts.items() if count > 1]


def _read(path: Path) -> list[Task]:
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0] != f"# {path.stem}":
        raise FormatError(f"tasks/{path.name}:1: the first line must be '# {path.stem}'")
    found: list[Task] = []
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        text, arrow, names = line.partition(ARROW)
        if not arrow or not text or line != line.strip() or ARROW in names:
            raise FormatError(f"tasks/{path.name}:{number}: not '<text> -> <tool>, <tool>': {line!r}")
        found.append(Task(text, tuple(name.strip() for name in names.split(","))))
    return found


def _faults(one: Task, known: Collection[str]) -> list[str]:
    found = [f"unknown tool {tool}: {one.text!r}" for tool in one.tools if tool not in known]
    if not FEWEST <= len(set(one.tools)) <= MOST or len(set(one.tools)) < len(one.tools):
        found.append(f"not {FEWEST} to {MOST} different tools: {one.text!r}")
    return found
