"""The thin end that a client starts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from hikidashi.gateway.attach import socket_path


def test_a_runtime_folder_that_is_too_long_for_a_socket_is_replaced_by_a_short_private_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    long = tmp_path / ("x" * 90)
    long.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    with tempfile.TemporaryDirectory(prefix="hk-") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        path = socket_path("0123456789abcdef")
        assert path.parent.parent == Path(short)
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert len(str(path)) < 104
