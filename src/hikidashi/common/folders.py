"""Where each system keeps the files of a user: one folder each for data, state, cache, config and sockets.

`XDG_DATA_HOME`, `XDG_STATE_HOME`, `XDG_CACHE_HOME` and `XDG_CONFIG_HOME` override the defaults on every system.
"""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path
from typing import Literal

from .private import private_folder

__all__ = ["cache_folder", "config_folder", "data_folder", "runtime_folder", "state_folder"]

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
