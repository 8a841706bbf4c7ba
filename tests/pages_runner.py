"""Runs Python files of documentation, each in a process of its own that has the frameworks imported already.

Importing pydantic-ai, the Claude Agent SDK and MCP takes longer than most examples. So one process imports them, and is
forked for each file: the file still starts in a fresh `__main__`, with the environment and folder it is given.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Done", "run_file"]

_SECONDS = 120
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["tests.pages_runner", "pydantic_ai", "pydantic_ai.models.anthropic", "claude_agent_sdk", "mcp", "strands"]
)
_SLOW_PLUGINS = ("cacheprovider", "hypothesispytest", "inline_snapshot")  # of pytest: they take a second to import


@dataclass(frozen=True)
class Done:
    """How a run ended."""

    returncode: int | None
    """`None` where it was stopped because it took too long."""
    stdout: str
    stderr: str


def run_file(name: str, *, environment: Mapping[str, str], folder: Path, as_test: bool = False) -> Done:
    """Run the Python file `name` of `folder`, with pytest if it is a test."""
    out, err = folder / ".stdout", folder / ".stderr"
    process = _FORKS.Process(target=_run, args=(name, dict(environment), str(folder), str(out), str(err), as_test))
    process.start()
    process.join(_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        code = None
    else:
        code = process.exitcode
    process.close()
    return Done(code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))


def _run(name: str, environment: Mapping[str, str], folder: str, out: str, err: str, as_test: bool) -> None:
    """The child's part."""
    for path, number in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 - as long as the process lives
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:] = [folder, *(path for path in sys.path if path and Path(path) != Path(__file__).parents[1])]
    sys.argv = [name]
    code = 1
    try:
        if as_test:
            import pytest

            code = int(pytest.main(["-q", *(f"-pno:{plugin}" for plugin in _SLOW_PLUGINS), name]))
        else:
            runpy.run_path(name, run_name="__main__")
            code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.exit(code)
