"""Files of other programs: replaced whole, keeping permissions, with a backup, unless another program changed them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ...common.atomic import replace_file
from ...common.private import create_private
from ...errors import ToolSourceError
from .finding import read_bytes

__all__ = ["make_backup", "write_file"]


def write_file(file: Path, content: bytes, *, before: bytes | None, private: bool = False) -> None:
    """Replace `before` by `content`; a new file is for its owner only, as is any file if `private`.

    Raises:
        ToolSourceError: it cannot be written, or has changed since `before` was read.
    """
    if read_bytes(file) != before:
        raise ToolSourceError(str(file), "was changed by another program meanwhile", "Close it, and try again.")
    found = None if before is None else file.stat()
    try:
        replace_file(file, content, private=private or found is None)
        if found is not None:
            with suppress(OSError, AttributeError):  # only root may give a file back to another user
                if (found.st_uid, found.st_gid) != (os.getuid(), os.getgid()):
                    os.chown(file, found.st_uid, found.st_gid)
    except OSError as error:
        reason = f"cannot be written ({error.strerror or error})"
        raise ToolSourceError(str(file), reason, "Check the permissions there.") from error


def make_backup(file: Path, content: bytes) -> Path:
    """A file beside `file` with `content` and the same permissions, named after the time.

    Raises:
        ToolSourceError: it cannot be written.
    """
    file = Path(os.path.realpath(file))
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    number = 0
    while True:
        backup = file.with_name(f"{file.name}.{now}{f'-{number}' if number else ''}.hikidashi-backup")
        try:
            if not create_private(backup):
                number += 1
                continue
            replace_file(backup, content, private=True)
            backup.chmod(stat.S_IMODE(file.stat().st_mode))
            return backup
        except OSError as error:
            reason = f"cannot be written ({error.strerror or error})"
            raise ToolSourceError(str(backup), reason, "Check the permissions there.") from error
