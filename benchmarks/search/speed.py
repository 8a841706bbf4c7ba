"""How long building, growing, saving, loading and asking take, and how much memory, as the catalogue grows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

from .engines import OURS, WORDS, Engine

SIZES = (100, 1_000, 10_000, 100_000)
QUICK_SIZES = (100, 1_000)

AIMS = {OURS: {"build": 0.5, "p50": 0.006}, WORDS: {"build": 0.5, "load": 0.1, "p50": 0.0002, "p99": 0.002}}
"""What ours should stay below at 10,000 tools, in seconds."""
AIMED_AT = 10_000
_LARGE = 100_000  # tools: one round, since even making so many up takes seconds
_PATIENCE = 45  # seconds: an engine that takes longer for one round is not asked for another


@dataclass(frozen=True, slots=True)
class Speed:
    """What one engine needed for one catalogue, in its best round; `None` is what it cannot do."""

    engine: str
    size: int
    figures: dict[str, float | None]
    """Seconds by `build`, `add`, `save`, `load`, `p50`, `p99`, and by `words`: what it takes to count the words of the
    catalogue; `bytes` of memory; how many questions were `asked`."""

    def meets(self, what: str) -> bool | None:
        """Whether an aim is met; `None` where there is none."""
        figure, aim = self.figures[what], AIMS.get(self.engine, {}).get(what)
        return None if self.size != AIMED_AT or aim is None or figure is None else figure < aim


def measure(
    engines: Sequence[Engine], sizes: Sequence[int], rounds: int, seconds: float, progress: Callable[[str], None]
) -> Iterable[Speed]:
    """Every engine that is installed at every size, each in a process of its own, in turns."""
    here = [engine for engine in engines if engine.missing is None]
    for size in sizes:
        taking_part = [engine for engine in here if engine.largest is None or size <= engine.largest]
        figures: dict[str, list[dict[str, float | None]]] = {engine.name: [] for engine in taking_part}
        slow: set[str] = set()
        for round_ in range(1 if size >= _LARGE else rounds):
            for engine in taking_part if round_ % 2 == 0 else reversed(taking_part):
                if engine.name in slow:
                    continue
                progress(f"{size:,} tools, {engine.name}")
                start = perf_counter()
                figures[engine.name].append(_probed(engine.name, size, seconds))
                if perf_counter() - start > _PATIENCE:
                    slow.add(engine.name)
        for name, every in figures.items():
            yield Speed(name, size, {what: _best([one[what] for one in every]) for what in every[0]})


def _probed(name: str, size: int, seconds: float) -> dict[str, float | None]:
    command = [sys.executable, "-m", f"{__package__}.probe", name, str(size), str(seconds)]
    # Where tqdm happens to be installed, bm25s asks it on every search, which costs as much as the search.
    env = {**os.environ, "DISABLE_TQDM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(f"The probe of {name} with {size:,} tools failed: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def _best(values: Sequence[float | None]) -> float | None:
    """The lowest figure, which other work on the machine disturbed least."""
    return min((value for value in values if value is not None), default=None)
