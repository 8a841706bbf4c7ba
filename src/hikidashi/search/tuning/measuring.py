"""How often a catalogue finds the right tool: recall@5 and first hit, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..catalog import ToolCatalog
from .questions import Labelled

__all__ = ["DEPTH", "Change", "Figure", "Measured", "change_of", "figure", "measured"]

DEPTH = 5
"""How many results of a search are looked at."""
_RESAMPLES = 2_000
_LOW, _HIGH = 2.5, 97.5  # percentiles: an interval of 95 %


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean, and its bootstrap interval of 95 %."""

    mean: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        """The figure as a JSON object."""
        return {name: round(value, 4) for name, value in asdict(self).items()}


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """What a catalogue found for each question."""

    recall: NDArray[np.float64]
    """Per question, the share of its tools among the first five results."""
    first: NDArray[np.float64]
    """Per question, 1 if the first result is one of its tools, else 0."""

    @property
    def both(self) -> NDArray[np.float64]:
        """Per question, the mean of the two: what a tune is judged by."""
        return (self.recall + self.first) / 2

    def at(self, places: slice) -> Measured:
        """The same for some of the questions."""
        return Measured(self.recall[places], self.first[places])

    def as_json(self) -> dict[str, Any]:
        """Both figures as a JSON object."""
        return {"recall_at_5": figure(self.recall).as_json(), "first": figure(self.first).as_json()}


@dataclass(frozen=True, slots=True)
class Change:
    """The differences between two measurements of the same questions, after less before."""

    recall: Figure
    first: Figure
    both: Figure

    def as_json(self) -> dict[str, Any]:
        """The differences as a JSON object."""
        return {"recall_at_5": self.recall.as_json(), "first": self.first.as_json(), "both": self.both.as_json()}


def measured(
    catalog: ToolCatalog,
    questions: Sequence[Labelled],
    *,
    before_each: Callable[[int], None] = lambda place: None,
) -> Measured:
    """What `catalog` finds for `questions`; `before_each` is called with the place of each."""
    recall, first = np.zeros(len(questions)), np.zeros(len(questions))
    for place, question in enumerate(questions):
        before_each(place)
        found = [match.name for match in catalog.search(question.text, limit=DEPTH)]
        wanted = set(question.tools)
        recall[place] = len(wanted.intersection(found)) / min(len(wanted), DEPTH)
        first[place] = bool(found) and found[0] in wanted
    return Measured(recall, first)


def change_of(before: Measured, after: Measured) -> Change:
    """The differences, with intervals of the paired bootstrap."""
    return Change(
        figure(after.recall - before.recall), figure(after.first - before.first), figure(after.both - before.both)
    )


def figure(values: NDArray[np.float64]) -> Figure:
    """The mean of `values`; the same values give the same interval."""
    random = np.random.default_rng(0)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(_RESAMPLES)]
    low, high = np.percentile(means, [_LOW, _HIGH])
    return Figure(float(values.mean()), float(low), float(high))
