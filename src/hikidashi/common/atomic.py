"""Atomic writes: a temporary file beside the target, then moved over it.

A process that is killed in between leaves its temporary file. Each writer holds a lock on its own, which ends with the
process; the next writer removes the files without a lock.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .private import private_folder

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed
    fcntl = None

__all__ = ["replace_file"]

_PREFIX = ".hikidashi-"
_UNFINISHED = _PREFIX + "[0-9a-f]" * 12


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
