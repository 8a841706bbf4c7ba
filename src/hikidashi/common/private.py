"""Files that only their owner may read: what people searched for, read and said is nobody else's business."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["create_private", "make_private", "private_folder"]


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


def create_private(path: Path) -> None:
    """Make the file `path`, for its owner only, unless there is one.

    A file that exists is not opened: closing it would drop the locks that SQLite has on it in this process.

    Raises:
        OSError: it cannot be made.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def make_private(path: Path) -> None:
    """Make the database `path` if there is none, with its folder, and take it from everyone but its owner.

    SQLite gives the files beside a database the permissions of the database itself. One that belongs to somebody
    else, who lets us write, is left as it is.

    Raises:
        OSError: it cannot be made.
    """
    private_folder(path.parent)
    create_private(path)
    for ending in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            path.with_name(path.name + ending).chmod(0o600)
