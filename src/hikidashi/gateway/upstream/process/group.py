"""Memory of process groups and what they do, as Linux reports it."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Generator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Work", "memory_of_group", "work_of_groups"]

_PROC = Path("/proc")


def memory_of_group(group: int) -> int | None:
    """Bytes of memory that the processes of `group` use together; None on systems other than Linux."""
    if sys.platform != "linux":
        return None
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for process, _ in _processes({str(group)}):
        with suppress(OSError, ValueError, IndexError):  # the process has ended
            total += int((process / "statm").read_text().split()[1]) * page
    return total


@dataclass(frozen=True, slots=True)
class Work:
    """What the processes of a group have done so far, together."""

    seconds: float = 0.0
    """Processor time, with that of ended children."""
    faults: int = 0
    """How often they touched a page of memory for the first time: often while programs and data are loaded."""
    waited: float = 0.0
    """Seconds for which they were ready to run, and other processes had the processors; 0 if Linux does not tell."""
    is_waiting: bool = False
    """Whether one runs, or waits for a processor or a disk, now."""


def work_of_groups(groups: Collection[int]) -> dict[int, Work] | None:
    """What each of `groups` has done; one that has no process is left out. None on systems other than Linux."""
    if sys.platform != "linux":
        return None
    found: dict[int, Work] = {}
    for process, fields in _processes({str(group) for group in groups}):
        group = int(fields[2]) if int(fields[2]) in groups else int(fields[3])
        before = found.get(group, Work())
        found[group] = Work(
            seconds=before.seconds + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"),
            faults=before.faults + int(fields[7]),
            waited=before.waited + _waited(process),
            is_waiting=before.is_waiting or fields[0] in "RD",
        )
    return found


def _waited(process: Path) -> float:
    with suppress(OSError, ValueError, IndexError):  # the process has ended, or the kernel does not count it
        return int((process / "schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _processes(groups: Collection[str]) -> Generator[tuple[Path, list[str]]]:
    """The processes of groups or sessions, with the fields of `stat` from the state on."""
    for process in _PROC.iterdir():
        if process.name.isdigit():
            with suppress(OSError):  # the process has ended
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                if fields[2] in groups or fields[3] in groups:
                    yield process, fields
