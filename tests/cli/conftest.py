"""The `hikidashi` command as a user runs it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Web = Callable[..., "subprocess.CompletedProcess[str]"]

_BLOCK = "import sys; sys.modules.update(dict.fromkeys({blocked!r})); from hikidashi.cli import main; main()"


@pytest.fixture
def command() -> Command:
    """`command("doctor", "--json")` runs `hikidashi doctor --json`; `without` names modules that it cannot import."""

    def run(*arguments: str, without: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess[str]:
        start = ["-c", _BLOCK.format(blocked=without)] if without else ["-m", "hikidashi"]
        plain = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_TOKEN", "_URL"))}
        return subprocess.run(
            [sys.executable, *start, *arguments],
            env={**plain, "LANG": "C.UTF-8", "COLUMNS": "80", **environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Folders of its own for every command, and no proxy on the way to this machine."""
    return {
        "HOME": str(tmp_path / "home"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "NO_PROXY": "127.0.0.1",
    }


@pytest.fixture
def web(command: Command, home: dict[str, str]) -> Web:
    """`web("search", "bread")` runs `hikidashi web search bread`."""

    def run(*arguments: str, without: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess[str]:
        return command("web", *arguments, without=without, **{**home, **environment})

    return run
