"""`make versions` finds each supported Python, and says which it did not find."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.versions import ROOT, interpreter, supported


def python_at(path: Path, says: str, code: int = 0) -> None:
    """A Python that only knows its version."""
    program(path, f"echo 'Python {says}'; exit {code}")


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 3.92 on the PATH, 3.93 in pyenv alone, and a `make` that fails with 3.92."""
    python_at(tmp_path / "bin/python3.92", "3.92.0")
    python_at(tmp_path / "bin/python3.93", "not selected", code=127)  # as a shim of pyenv does
    for patch in ("2", "10"):
        python_at(tmp_path / f"pyenv/versions/3.93.{patch}/bin/python3.93", f"3.93.{patch}")
    program(tmp_path / "make", 'echo "$@"; case "$*" in *3.92*) exit 1;; esac')
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), "/usr/bin", "/bin"]))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("MAKE", str(tmp_path / "make"))
    return tmp_path


def versions(*arguments: str) -> tuple[int, str]:
    """The exit code of `make versions` and what it says."""
    command = [sys.executable, "-m", "tests.versions", *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout


def test_every_version_that_the_project_names_is_tested() -> None:
    assert supported() == ["3.11", "3.12", "3.13"]


def test_the_newest_patch_release_is_used_and_the_oldest_where_that_is_wanted(machine: Path) -> None:
    assert interpreter("3.92") == ("3.92.0", str(machine / "bin/python3.92"))
    assert interpreter("3.93") == ("3.93.10", str(machine / "pyenv/versions/3.93.10/bin/python3.93"))
    assert interpreter("3.93", oldest=True) == ("3.93.2", str(machine / "pyenv/versions/3.93.2/bin/python3.93"))
    assert interpreter("3.94") is None


@pytest.mark.parametrize(("deps", "patch"), [("pinned", "10"), ("lowest", "2"), ("newest", "10")])
def test_a_python_that_is_not_installed_is_reported_and_the_others_are_tested(
    machine: Path, deps: str, patch: str
) -> None:
    code, said = versions("--deps", deps, "--only", "3.93", "3.94", "--", "-k", "one or two")
    python = machine / f"pyenv/versions/3.93.{patch}/bin/python3.93"
    environment = ".venvs/3.93" if deps == "pinned" else f".venvs/{deps}"
    first, made, passed, missing = said.splitlines()
    assert first == f"##### Python 3.93.{patch}, {deps} packages: {python}"
    assert made == f"test PYTHON={python} VENV={environment} DEPS={deps} ARGS=-k 'one or two'"
    assert passed.startswith(f"Python 3.93.{patch}, {deps} packages (")
    assert passed.endswith("): passed")
    assert missing == f"Python 3.94, {deps} packages: not installed, so not tested"
    assert code == 0


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("only", [("3.92", "3.93"), ("3.94",)])
def test_a_failing_version_is_a_failure_and_so_is_having_none(only: tuple[str, ...]) -> None:
    assert versions("--only", *only)[0] == 1
