"""Files that only their owner can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hikidashi.common.files import make_private


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_made_private_whether_it_is_new_or_not(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.touch()
    old.chmod(0o644)
    (tmp_path / "link").symlink_to(old)
    make_private(new)
    make_private(tmp_path / "link")
    assert (mode_of(new), mode_of(old)) == (0o600, 0o600)


def test_what_is_not_a_file_keeps_its_mode(tmp_path: Path) -> None:
    folder, pipe = tmp_path / "folder", tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    for path in (folder, pipe):
        path.chmod(0o755)
        make_private(path)
        assert mode_of(path) == 0o755
