"""Memory and processor time of a process group, as Linux reports them."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

__all__ = ["memory_of_group", "processor_time_of_group"]

_PROC = Path("/proc")


def memory_of_group(group: int) -> int | None:
    """Bytes of memory that the processes of `group` use together; None on systems other than Linux."""
    if sys.platform != "linux":
        return None
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for process, _ in _processes(group):
        with suppress(OSError, ValueError, IndexError):  # the process has ended
            total += int((process / "statm").read_text().split()[1]) * page
    return total


def processor_time_of_group(group: int) -> tuple[int, bool] | None:
    """Clock ticks that the processes of `group` have used so far, and whether one waits for a processor or a disk.

    None on systems other than Linux.
    """
    if sys.platform != "linux":
        return None
    found = [fields for _, fields in _processes(group)]
    ticks = sum(int(ticks) for fields in found for ticks in fields[11:15])  # with ended children
    return ticks, any(fields[0] in "RD" for fields in found)


def _processes(group: int) -> Generator[tuple[Path, list[str]]]:
    """The processes of a group or session, with the fields of `stat` from the state on."""
    for process in _PROC.iterdir():
        if process.name.isdigit():
            with suppress(OSError):  # the process has ended
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                if str(group) in fields[2:4]:
                    yield process, fields
