"""Peak memory, each figure from a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable

from ..registry import Case, Measurement, Plan
from .conversion import BY_HAND, WAYS

GROUP = "memory"
MEANING = "peak memory with the bridge ÷ without it"


def _bytes(what: str, way: str, count: int = 0) -> Callable[[], float]:
    command = [sys.executable, "-m", f"{__package__}.probe", what, way, str(count)]

    def once() -> float:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"The probe `{what} {way}` failed: {done.stderr.strip()[-300:]}")
        return float(json.loads(done.stdout))

    return once


def _conversion(plan: Plan) -> Iterable[Measurement]:
    count = 1_000 if plan.quick else 10_000
    for what, meaning in (("traced", "Python objects (tracemalloc)"), ("rss", "whole process (RSS)")):
        figures = plan.alternate(
            {way: _bytes(what, way, count) for way in (*WAYS, BY_HAND)}, plan.rounds(2, quick=1), warm_up=False
        )
        for way in WAYS:
            yield Measurement(
                group=GROUP,
                name=f"{count:,} tools, {way}",
                unit="bytes",
                ours=figures[way],
                peer=figures[BY_HAND],
                peer_name=BY_HAND,
                note=meaning,
            )


def _run(plan: Plan) -> Iterable[Measurement]:
    figures = plan.alternate(
        {way: _bytes("run", way) for way in ("mcp", "raw", "agent")}, plan.rounds(2, quick=1), warm_up=False
    )
    for mode in ("mcp", "agent"):
        yield Measurement(
            group=GROUP,
            name=f'agent run, tool_execution="{mode}"',
            unit="bytes",
            ours=figures[mode],
            peer=figures["raw"],
            peer_name="raw `query`",
            note="whole process without the CLI (RSS)",
        )


CASES = (Case(GROUP, "converting tools", _conversion), Case(GROUP, "agent run", _run))
