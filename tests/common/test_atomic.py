"""Atomic writes: their modes; what a killed writer leaves is in tests/search/engine/test_saved.py."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hikidashi.common.files import replace_file


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o640)
    assert os.listdir(tmp_path) == ["x"]  # noqa: PTH208


def test_a_private_file_and_its_new_folders_are_for_the_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x"
    replace_file(path, b"1", private=True)
    assert [mode_of(one) for one in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]
    path.chmod(0o644)
    replace_file(path, b"2", private=True)
    assert (path.read_bytes(), mode_of(path)) == (b"2", 0o600)


def test_a_folder_that_is_missing_is_an_error_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "missing" / "x", b"1")
    assert list(tmp_path.iterdir()) == []
