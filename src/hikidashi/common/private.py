"""Files and folders that only their owner can read."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["create_private", "make_private", "private_folder"]


def private_folder(folder: Path) -> None:
    """Create `folder` and its missing parents with mode 0700; those that exist keep theirs.

    Raises:
        OSError: it cannot be created.
    """
    if folder.is_dir():
        return
    private_folder(folder.parent)
    with contextlib.suppress(FileExistsError):  # another process was quicker
        folder.mkdir(mode=0o700)


def create_private(path: Path) -> bool:
    """Create the empty file `path` with mode 0600; False if it exists.

    A file that exists is not opened: closing it would drop the locks that SQLite has on it in this process.

    Raises:
        OSError: it cannot be created.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def make_private(path: Path) -> None:
    """Create the file `path` and its folder if missing, and set its mode to 0600.

    A file of another user that this one may write keeps its mode, and so does what is not a file, such as a folder or a
    device.

    Raises:
        OSError: it cannot be created.
    """
    private_folder(path.parent)
    create_private(path)
    if path.is_file():
        with contextlib.suppress(OSError):
            path.chmod(0o600)
