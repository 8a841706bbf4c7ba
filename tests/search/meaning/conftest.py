"""Vectors go to a folder of the test, not to that of the user."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache_of_the_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
