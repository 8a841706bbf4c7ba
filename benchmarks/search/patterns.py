"""Patterns a model might send to a regex search, over 10,000 tools; every engine in a process that can be killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from threading import Timer
from types import TracebackType
from typing import Literal, Self

from .regex_engines import REGEX_ENGINES

SIZE = 10_000
DEADLINE = 5.0
"""Seconds after which a search is stopped by ending its process."""
AIM = 0.050
"""No pattern may take ours longer, in seconds."""

ORDINARY = {
    "one word": "weather",
    "a name with a gap": "get_.*_invoice",
    "begins a name": "^graprawil_create",
    "one of two": "refund|dividend",
    "two words in order": "send.*message",
    "finds nothing": "no_such_tool_anywhere",
}
HOSTILE = {
    "words to the end": r"^(\w+\s?)*$",
    "gaps around words": ".*calendar.*event.*",
    "nested plus": r"(\w+)+!$",
    "nested star": "(.*)*=$",
    "many gaps": ".*.*.*.*.*=",
    "overlapping choices": "(a|a|aa|e|ee)+$!",
    "counted inside counted": r"(\w{1,30}\s?){1,30}!",
    "every letter optional": "(a?){60}a{60}",
}
UNSUPPORTED = {"look-ahead": "(?=.*mail).*send", "back-reference": r"(\w+) \1"}

Outcome = Literal["found", "refused", "killed"]
Kind = Literal["ordinary", "hostile", "unsupported"]


@dataclass(frozen=True, slots=True)
class Searched:
    """What came of one pattern with one engine."""

    engine: str
    kind: Kind
    name: str
    pattern: str
    outcome: Outcome
    seconds: float
    """How long it took, the median of the rounds; or the deadline if it was killed."""
    slowest: float
    """How long the slowest round took."""
    hits: int = 0


def worst(rows: Iterable[Searched], engine: str) -> Searched:
    """The pattern that kept `engine` busy longest in a single round."""
    return max((row for row in rows if row.engine == engine), key=lambda row: row.slowest)


def measure(size: int, rounds: int, progress: Callable[[str], None]) -> Iterable[Searched]:
    """Every pattern with every engine that is installed."""
    kinds: dict[Kind, dict[str, str]] = {"ordinary": ORDINARY, "hostile": HOSTILE, "unsupported": UNSUPPORTED}
    for engine in REGEX_ENGINES.values():
        if engine.missing is not None:
            continue
        with Worker(engine.name, size) as worker:
            for kind, patterns in kinds.items():
                for name, pattern in patterns.items():
                    progress(f"{engine.name}: {pattern}")
                    tries = [worker.search(pattern)]
                    while len(tries) < rounds and tries[-1][0] != "killed":
                        tries.append(worker.search(pattern))
                    outcome, _, hits = tries[-1]
                    took = [seconds for _, seconds, _ in tries]
                    yield Searched(engine.name, kind, name, pattern, outcome, median(took), max(took), hits)


class Worker:
    """A process that searches with one engine and is replaced when a pattern hangs it."""

    def __init__(self, engine: str, size: int, deadline: float = DEADLINE) -> None:
        self._command = [sys.executable, "-m", f"{__package__}.regex_engines", engine, str(size)]
        self._deadline = deadline
        self._process = self._started()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._end()

    def search(self, pattern: str) -> tuple[Outcome, float, int]:
        """What came of it, after how many seconds, with how many hits."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(json.dumps(pattern) + "\n")
        asked.flush()
        stop = Timer(self._deadline, self._process.kill)
        stop.start()
        line = answers.readline()
        stop.cancel()
        if line:
            outcome, seconds, hits = json.loads(line)
            return outcome, seconds, hits
        self._end()
        self._process = self._started()
        return "killed", self._deadline, 0

    def _started(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        if not process.stdout.readline():  # it says when its catalogue is ready
            raise RuntimeError(f"The regex worker `{' '.join(self._command[1:])}` did not start.")
        return process

    def _end(self) -> None:
        self._process.kill()
        with self._process:  # closes the pipes and waits
            pass
