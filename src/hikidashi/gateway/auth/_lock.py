"""A file lock between processes, acquired without blocking the event loop; released when its process ends."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from ...common.private import private_folder

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["file_lock"]

_POLL = 0.02  # seconds between two attempts


@asynccontextmanager
async def file_lock(path: Path) -> AsyncGenerator[None]:
    """Hold the lock of the file `path`, which is created if missing."""
    private_folder(path.parent)
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not _taken(lock):  # noqa: ASYNC110 - other processes set no events
            await anyio.sleep(_POLL)
        yield
    finally:
        os.close(lock)


def _taken(lock: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
