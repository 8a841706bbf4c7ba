"""Watching folders and files for changes.

By polling, which works on every system and on network drives, and needs no dependency.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from .documents.sources import is_web_address, source_list
from .documents.walk import FileFound, walk

__all__ = ["Snapshot", "changed", "snapshot"]

Snapshot = frozenset[tuple[str, int, int]]
"""Path, size and modification time of each document."""


def snapshot(sources: Sequence[str | os.PathLike[str]]) -> Snapshot:
    """The current state of the documents in `sources`, without web pages."""
    found: set[tuple[str, int, int]] = set()
    for source in source_list(sources):
        if is_web_address(source):
            continue
        path = Path(source).expanduser().absolute()
        if path.is_dir():
            found.update((str(one.path), one.size, one.mtime_ns) for one in walk(path) if isinstance(one, FileFound))
        else:
            try:
                status = path.stat()
            except (OSError, ValueError):  # ValueError: a path with a NUL character
                continue
            found.add((str(path), status.st_size, status.st_mtime_ns))
    return frozenset(found)


def changed(sources: Sequence[str | os.PathLike[str]], before: Snapshot, *, every: float = 1.0) -> Snapshot:
    """Wait until the documents of `sources` differ from `before`, polling `every` so many seconds; their new state.

    If polling is slow, the interval grows, so that it takes at most a tenth of the time.
    """
    while True:
        began = time.monotonic()
        now = snapshot(sources)
        if now != before:
            return now
        time.sleep(max(every, 9 * (time.monotonic() - began)))
