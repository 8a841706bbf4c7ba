"""Files and folders that only their owner can read: what people search for, read and say is private."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

__all__ = ["check_private", "create_private", "make_private", "private_folder"]


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

    A file of another user who lets us write keeps its mode.

    Raises:
        OSError: it cannot be created.
    """
    private_folder(path.parent)
    create_private(path)
    with contextlib.suppress(OSError):
        path.chmod(0o600)


def check_private(folder: Path, *, others_may_read: bool = False) -> None:
    """Raise unless `folder` is a folder of this user, which others can neither read nor write.

    A wider mode of a folder of one's own is narrowed to 0700, or checked to be no wider than 0755 with
    `others_may_read`; then a folder of root, or one like `/tmp` where nobody can replace what others made, is fine too.

    Raises:
        PermissionError: it is a link, no folder, another user's, or open to others.
    """
    if os.name != "posix":  # Windows gives the folders of a profile to its user alone
        return
    status = folder.lstat()
    mine = status.st_uid == os.geteuid()
    if not stat.S_ISDIR(status.st_mode):
        raise PermissionError(f"{folder} is not a folder. Remove it, or set XDG_RUNTIME_DIR to a folder of your own.")
    if not mine and not (others_may_read and status.st_uid == 0):
        raise PermissionError(
            f"{folder} belongs to another user (uid {status.st_uid}). Set XDG_RUNTIME_DIR to a folder of your own."
        )
    if others_may_read:
        if status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
            raise PermissionError(f"Others can write to {folder}. Run: chmod go-w {folder}")
    elif status.st_mode & 0o077:
        folder.chmod(0o700)
