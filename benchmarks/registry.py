"""What a benchmark is made of: samples, measurements, cases and suites. Nothing here knows what is measured."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

Unit = Literal["s", "bytes", "tokens", "count"]


@dataclass(frozen=True, slots=True)
class Sample:
    """What one contestant scored, one figure per round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The figure in the middle."""
        return statistics.median(self.values)

    @property
    def best(self) -> float:
        """The lowest figure: the one that other work on the machine disturbed least."""
        return min(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Between these two lies the middle half of the figures."""
        if len(self.values) == 1:
            return self.best, self.best
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """Ours beside the peer's, both measured in turns in one run; lower is better."""

    group: str
    name: str
    unit: Unit
    ours: Sample
    peer: Sample | None = None
    peer_name: str = ""
    aim: float | None = None
    """What `ours` should stay below, in `unit`."""
    aim_ratio: float | None = None
    """What `ratio` should not exceed."""
    note: str = ""

    @property
    def n(self) -> int:
        """How many rounds stand behind the figures."""
        return len(self.ours.values)

    @property
    def ratio(self) -> float | None:
        """Our median divided by the peer's: below 1 is better than the peer."""
        return None if self.peer is None else self.ours.median / self.peer.median

    @property
    def ratio_quartiles(self) -> tuple[float, float] | None:
        """The middle half of the ratios, each taken within one round, so that a slow moment hits both sides."""
        if self.peer is None:
            return None
        return Sample(tuple(a / b for a, b in zip(self.ours.values, self.peer.values, strict=True))).quartiles

    @property
    def met(self) -> bool | None:
        """Whether every aim is met; `None` if there is none."""
        verdicts: list[bool] = []
        if self.aim is not None:
            verdicts.append(self.ours.median < self.aim)
        if self.aim_ratio is not None and self.ratio is not None:
            # As shown: to the second decimal.
            verdicts.append(round(self.ratio, 2) <= self.aim_ratio)
        return all(verdicts) if verdicts else None


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure, and whom to tell about progress."""

    quick: bool = False
    progress: Callable[[float], None] = lambda _: None
    """Called with the share of the case that is done."""

    def rounds(self, full: int, quick: int = 2) -> int:
        """How many rounds to run."""
        return quick if self.quick else full

    def alternate(
        self, contestants: Mapping[str, Callable[[], float]], rounds: int, *, warm_up: bool = True
    ) -> dict[str, Sample]:
        """The figures of all contestants, who take turns; with `warm_up`, after a round that does not count.

        Every second round runs backwards, so that nobody is always measured after the same neighbour.
        """
        figures: dict[str, list[float]] = {name: [] for name in contestants}
        order = list(contestants)
        if warm_up:
            for name in order:
                contestants[name]()
        for done in range(rounds):
            self.progress((done + 1) / (rounds + 1))
            for name in order if done % 2 == 0 else reversed(order):
                figures[name].append(contestants[name]())
        return {name: Sample(tuple(values)) for name, values in figures.items()}


@dataclass(frozen=True, slots=True)
class Case:
    """Something to measure, inside a group of a suite."""

    group: str
    name: str
    run: Callable[[Plan], Iterable[Measurement]]


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases that are run, printed, written and drawn together."""

    name: str
    title: str
    groups: Mapping[str, str]
    """Each group in the order it is shown, with one line that says what its ratios mean."""
    cases: Sequence[Case]
    packages: Sequence[str] = field(default=())
    """Distributions whose versions matter."""

    def only(self, patterns: Sequence[str]) -> list[Case]:
        """The cases of the groups that a pattern such as `bridge`, `bridge.runs` or `*.memory` names."""
        wanted = [pattern if "." in pattern else f"{pattern}.*" for pattern in patterns]
        return [case for case in self.cases if any(fnmatchcase(f"{self.name}.{case.group}", glob) for glob in wanted)]
