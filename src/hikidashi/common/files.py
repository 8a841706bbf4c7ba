"""Files of the user: where each system keeps them, modes for their owner only, and atomic writes.

`XDG_DATA_HOME`, `XDG_STATE_HOME`, `XDG_CACHE_HOME` and `XDG_CONFIG_HOME` override the default folders on every system.

A process that is killed in the middle of an atomic write leaves its temporary file. Each writer holds a lock on its
own, which ends with the process; the next writer removes the files without a lock.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed
    fcntl = None

_PREFIX = ".hikidashi-"
_UNFINISHED = _PREFIX + "[0-9a-f]" * 12

_NAME = "hikidashi"
_NOT_YOURS = "{folder} belongs to another user (uid {uid}). Set XDG_RUNTIME_DIR to a folder of your own."

# Where earlier versions kept these on every system; on Linux it is the default of platformdirs as well.
_EARLIER = {"data": ".local/share", "state": ".local/state", "cache": ".cache", "config": ".config"}


def data_folder() -> Path:
    """Files that the user would miss, such as the index of their documents: `~/.local/share/hikidashi` on Linux."""
    return _folder("data")


def state_folder() -> Path:
    """Files that outlive a command, such as conversations and logs: `~/.local/state/hikidashi` on Linux."""
    return _folder("state")


def cache_folder() -> Path:
    """Files that can be made again: `~/.cache/hikidashi` on Linux."""
    return _folder("cache")


def config_folder() -> Path:
    """Settings of the user: `~/.config/hikidashi` on Linux."""
    return _folder("config")


def runtime_folder() -> Path:
    """The folder for sockets of this user's processes, created if missing: `$XDG_RUNTIME_DIR/hikidashi` on Linux.

    Other users can neither read it nor replace what is in it.

    Raises:
        OSError: it cannot be created, or belongs to another user.
    """
    from platformdirs import PlatformDirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs warns without XDG_RUNTIME_DIR, which only a login session has
        folder = PlatformDirs(_NAME, appauthor=False, opinion=False).user_runtime_path
    private_folder(folder)
    if os.name == "posix":  # on Windows, other users have no access to the folders of a profile
        _check_parent(folder.parent)
        _check_private(folder)
    return folder


def _folder(kind: Literal["data", "state", "cache", "config"]) -> Path:
    if base := os.environ.get(f"XDG_{kind.upper()}_HOME"):
        return Path(base) / _NAME
    from platformdirs import PlatformDirs

    try:
        folder: Path = getattr(PlatformDirs(_NAME, appauthor=False, opinion=False), f"user_{kind}_path")
        earlier = Path.home() / _EARLIER[kind] / _NAME
    except RuntimeError:  # a container may run as a user without a home: writing there raises
        return Path(os.devnull) / _NAME
    return earlier if not folder.exists() and earlier.exists() else folder


def _check_parent(folder: Path) -> None:
    """Raise unless `folder` is this user's or root's, and other users cannot replace what is in it."""
    status = folder.lstat()
    if status.st_uid not in (0, os.geteuid()):
        raise PermissionError(_NOT_YOURS.format(folder=folder, uid=status.st_uid))
    if status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:  # a sticky folder such as /tmp is fine
        raise PermissionError(f"Others can write to {folder}. Run: chmod go-w {folder}")


def _check_private(folder: Path) -> None:
    """Set the mode of `folder` to 0700; raise if it is a link or another user's."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise PermissionError(f"{folder} is not a folder. Remove it, or set XDG_RUNTIME_DIR to a folder of your own.")
    if status.st_uid != os.geteuid():
        raise PermissionError(_NOT_YOURS.format(folder=folder, uid=status.st_uid))
    if status.st_mode & 0o077:
        folder.chmod(0o700)


def private_folder(folder: Path) -> None:
    """Create `folder` and its missing parents with mode 0700; those that exist keep theirs.

    Raises:
        OSError: it cannot be created.
    """
    if folder.is_dir():
        return
    private_folder(folder.parent)
    with suppress(FileExistsError):  # another process was quicker
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
        with suppress(OSError):
            path.chmod(0o600)


def replace_file(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write `content` to `path`; a reader sees the old file or the new one.

    The file keeps its mode; with `private`, it and the folders that are missing are for their owner only.

    Raises:
        OSError: it cannot be written; what was there stays.
        ValueError: `path` is invalid, such as one with a NUL character.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    if private:
        private_folder(path.parent)
    _remove_unfinished(path.parent)
    with _unfinished(path.parent) as (beside, file):
        try:
            with suppress(OSError):  # a new file keeps its default mode; some file systems have no modes
                beside.chmod(0o600 if private else path.stat().st_mode & 0o777)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows cannot move an open file
            beside.replace(path)
        finally:
            file.close()
            beside.unlink(missing_ok=True)


@contextmanager
def _unfinished(folder: Path) -> Generator[tuple[Path, BinaryIO]]:
    """A new file in `folder`, locked against removal by other writers."""
    while True:
        beside = folder / (_PREFIX + os.urandom(6).hex())
        with beside.open("xb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
                if not os.fstat(file.fileno()).st_nlink:  # removed by another writer before it was locked
                    continue
            yield beside, file
            return


def _remove_unfinished(folder: Path) -> None:
    """Remove the files of writers that are gone."""
    for left in folder.glob(_UNFINISHED):
        with suppress(OSError):  # it is locked, already gone, or another user's
            if fcntl is not None:
                with left.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    left.unlink()
            else:
                left.unlink()
