"""Folders and files looked at again and again, until something in them is another.

Polling, because it works on every system and disk, also on those of other machines, and needs nothing installed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from ._walk import FileFound, walk
from .sources import is_web_address

__all__ = ["Snapshot", "changed", "snapshot"]

Snapshot = frozenset[tuple[str, int, int]]
"""Path, size and date of each document."""


def snapshot(sources: Sequence[str | os.PathLike[str]]) -> Snapshot:
    """The documents of `sources` as they are now; pages of the web are left out."""
    found: set[tuple[str, int, int]] = set()
    for source in sources:
        if is_web_address(source):
            continue
        path = Path(source).expanduser().absolute()
        if path.is_dir():
            found.update((str(one.path), one.size, one.mtime_ns) for one in walk(path) if isinstance(one, FileFound))
        else:
            try:
                status = path.stat()
            except OSError:
                continue
            found.add((str(path), status.st_size, status.st_mtime_ns))
    return frozenset(found)


def changed(sources: Sequence[str | os.PathLike[str]], before: Snapshot, *, every: float = 1.0) -> Snapshot:
    """The documents of `sources` as soon as they are not as `before`, looked at `every` so many seconds.

    Where looking takes long, more time is left between: at most a tenth of the time is spent on it.
    """
    while True:
        began = time.monotonic()
        now = snapshot(sources)
        if now != before:
            return now
        time.sleep(max(every, 9 * (time.monotonic() - began)))
