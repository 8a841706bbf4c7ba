"""Files that only their owner may read: what people searched for, read and said is nobody else's business."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["make_private", "private_folder"]


def private_folder(folder: Path) -> None:
    """Make `folder` and what is missing above it; those that are made are for their owner only.

    Raises:
        OSError: it cannot be made.
    """
    if folder.is_dir():
        return
    private_folder(folder.parent)
    with contextlib.suppress(FileExistsError):  # another process was quicker
        folder.mkdir(mode=0o700)


def make_private(path: Path) -> None:
    """Make the file `path` if there is none, and take it from everyone but its owner.

    SQLite gives the files beside a database the permissions of the database itself.

    Raises:
        OSError: the file cannot be made. One that belongs to somebody else is left as it is.
    """
    private_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            with contextlib.suppress(PermissionError):
                os.chmod(path, 0o600)  # noqa: PTH101 - `os.fchmod` is missing on Windows
    finally:
        os.close(descriptor)
    for beside in ("-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            os.chmod(f"{path}{beside}", 0o600)  # noqa: PTH101
