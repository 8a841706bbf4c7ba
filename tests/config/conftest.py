"""A config file, written and read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hikidashi.config import Config, load_config

Load = Callable[..., Config]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """`load(text, NAME="value")` is the config in `text`, with these variables set and no others."""

    def load_text(text: str | bytes, name: str = "config.yaml", **environment: str) -> Config:
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_config(file, environment=environment)

    return load_text
