"""What it costs to import hikidashi, and to ask its CLI for help; each figure comes from a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter

from ..registry import Case, Measurement, Plan

GROUP = "startup"
MEANING = "import hikidashi ÷ importing the frameworks it bridges; --help, start to exit of the process"

_TIMED_IMPORT = "from time import perf_counter as t; s = t(); import {}; print(t() - s)"


def _import_seconds(module: str) -> Callable[[], float]:
    return lambda: float(_output([sys.executable, "-c", _TIMED_IMPORT.format(module)]))


def _process_seconds(command: list[str]) -> Callable[[], float]:
    def once() -> float:
        start = perf_counter()
        _output(command)
        return perf_counter() - start

    return once


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"`{Path(command[0]).name} {' '.join(command[1:])}` failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _imports(plan: Plan) -> Iterable[Measurement]:
    peers = ("pydantic_ai", "claude_agent_sdk")
    figures = plan.alternate({module: _import_seconds(module) for module in ("hikidashi", *peers)}, plan.rounds(15))
    for peer in peers:
        yield Measurement(
            group=GROUP,
            name="import hikidashi",
            unit="s",
            ours=figures["hikidashi"],
            peer=figures[peer],
            peer_name=f"import {peer}",
            aim=0.060,
        )


def _help(plan: Plan) -> Iterable[Measurement]:
    command = str(Path(sys.executable).with_name("hikidashi"))
    figures = plan.alternate({"ours": _process_seconds([command, "--help"])}, plan.rounds(15))
    yield Measurement(group=GROUP, name="hikidashi --help", unit="s", ours=figures["ours"], aim=0.300)


CASES = (Case(GROUP, "imports", _imports), Case(GROUP, "--help", _help))
