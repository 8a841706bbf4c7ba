"""The Claude Code CLI and its login."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from hikidashi.errors import ClaudeCodeError

from .report import Check, Status

__all__ = ["check_claude_code", "check_cli", "check_login", "find_cli", "require_cli"]

_SECONDS = 10.0
_REINSTALL = "pip install --force-reinstall 'hikidashi[claude]'"


def check_claude_code(environment: Mapping[str, str]) -> Iterator[Check]:
    """Check the CLI that `ClaudeCodeModel` starts, and its login."""
    yield check_cli(find_cli(), needed=find_spec("claude_agent_sdk") is not None)
    yield check_login(environment)


def find_cli() -> Path | None:
    """The CLI bundled with claude-agent-sdk or, like the SDK, the one on PATH; the SDK is not imported."""
    name = "claude.exe" if sys.platform == "win32" else "claude"
    spec = find_spec("claude_agent_sdk")
    for folder in (spec and spec.submodule_search_locations) or ():
        if (bundled := Path(folder) / "_bundled" / name).is_file():
            return bundled
    found = shutil.which("claude")
    return Path(found) if found else None


def check_cli(path: Path | None, *, needed: bool, seconds: float = _SECONDS) -> Check:
    """Whether the CLI at `path` runs; a missing one is a problem only if it is `needed`."""
    if path is None:
        remedy = (
            "Install Claude Code so that `claude` is on PATH: this build of claude-agent-sdk has none inside."
            if needed
            else "pip install 'hikidashi[claude]'"
        )
        return _cli("problem" if needed else "absent", "not found", remedy)
    try:
        version = _version(path, seconds)
    except subprocess.TimeoutExpired:
        return _cli("problem", f"{path} did not answer within {seconds:g} s", f"Run it yourself: {path} --version")
    except subprocess.CalledProcessError as error:
        output = ((error.stderr or error.stdout or "").strip().splitlines() or ["nothing"])[-1][:200]
        return _cli("problem", f"{path} ended with exit code {error.returncode} and printed: {output}", _REINSTALL)
    except OSError as error:
        return _cli("problem", f"{path} cannot be started: {error.strerror or error}", _REINSTALL)
    return _cli("ok", f"{version} at {_from_home(path)}")


def require_cli(path: Path | None) -> None:
    """Raise unless the CLI at `path` runs; by default the one that `ClaudeCodeModel` starts.

    Raises:
        ClaudeCodeError: it does not run, with the reason and the remedy.
    """
    if path is not None and not path.exists():
        raise ClaudeCodeError(f"Claude Code was not found at {path}. Check the path, or leave `--cli-path` out.")
    check = check_cli(path or find_cli(), needed=True)
    if check.status != "ok":
        raise ClaudeCodeError(f"Claude Code does not run: {check.found}. {check.remedy}")


def check_login(environment: Mapping[str, str]) -> Check:
    """Whether there is a login file; it is not read."""
    folder = Path(environment.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    if (folder / ".credentials.json").is_file():
        return Check(area="claude", name="login", status="ok", found=f"there is one in {_from_home(folder)}")
    elsewhere = " (macOS keeps it in the keychain, which is not checked)" if sys.platform == "darwin" else ""
    return Check(
        area="claude",
        name="login",
        status="absent",
        found=f"none in {_from_home(folder)}{elsewhere}",
        remedy=f"To use a subscription, run {_command()} and log in.",
    )


def _command() -> str:
    """How a person starts the CLI: the one inside the SDK is not on PATH."""
    return "`claude`" if shutil.which("claude") or find_cli() is None else "the CLI above, by its path,"


def _cli(status: Status, found: str, remedy: str = "") -> Check:
    return Check(area="claude", name="Claude Code CLI", status=status, found=found, remedy=remedy)


def _version(path: Path, seconds: float) -> str:
    """The version that `claude --version` prints, run in a temporary home."""
    with tempfile.TemporaryDirectory(prefix="hikidashi-doctor-", ignore_cleanup_errors=True) as home:
        private = {"HOME": home, "CLAUDE_CONFIG_DIR": home, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        done = subprocess.run(
            [path, "--version"],
            env={**os.environ, **private},
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=True,
        )
    return done.stdout.strip().partition(" ")[0] or "an unknown version"


def _from_home(path: Path) -> str:
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
