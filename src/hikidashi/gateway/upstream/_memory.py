"""Memory usage of a process group."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["memory_of_group"]

_PROC = Path("/proc")


def memory_of_group(group: int) -> int | None:
    """Bytes of memory that the processes of `group` use together; None on systems other than Linux."""
    if sys.platform != "linux":
        return None
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for process in _PROC.iterdir():
        if not process.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):  # the process has ended
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group or int(fields[3]) == group:  # its group, or its session
                total += int((process / "statm").read_text().split()[1]) * page
    return total
