"""How often a catalogue finds the right tool, and how often one where none is asked for; with bootstrap intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..catalog import ToolCatalog
from .questions import Labelled

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
    chance: NDArray[np.float64]
    """Per question, the mean of the two that its results have for the tools of a question at random."""

    @property
    def beyond_chance(self) -> NDArray[np.float64]:
        """Per question, the mean of the two less what is chance: what a tune is judged by.

        A search that finds more tools than before finds more right ones, even if it knows nothing.
        """
        return (self.recall + self.first) / 2 - self.chance

    def at(self, places: slice) -> Measured:
        """The same for some of the questions."""
        return Measured(self.recall[places], self.first[places], self.chance[places])

    def as_json(self) -> dict[str, Any]:
        """Both figures as a JSON object."""
        return {"recall_at_5": figure(self.recall).as_json(), "first": figure(self.first).as_json()}


@dataclass(frozen=True, slots=True)
class Change:
    """The differences between two measurements of the same questions, after less before."""

    recall: Figure
    first: Figure
    beyond_chance: Figure

    def as_json(self) -> dict[str, Any]:
        """The differences as a JSON object."""
        return {
            "recall_at_5": self.recall.as_json(),
            "first": self.first.as_json(),
            "beyond_chance": self.beyond_chance.as_json(),
        }


@dataclass(frozen=True, eq=False, slots=True)
class Confident:
    """Which of some sentences find a tool with confidence, without an adapter and with one."""

    before: NDArray[np.float64]
    """Per sentence, 1 if it finds one, else 0."""
    after: NDArray[np.float64] | None = None
    """None if there is none."""

    @property
    def rise(self) -> Figure | None:
        """The difference, after less before."""
        return None if self.after is None else figure(self.after - self.before)

    def as_json(self) -> dict[str, Any]:
        """The numbers of sentences as a JSON object, and the rise of the share that finds a tool."""
        rise = self.rise
        return {
            "sentences": len(self.before),
            "before": int(self.before.sum()),
            "after": None if self.after is None else int(self.after.sum()),
            "rise": rise and rise.as_json(),
        }


def measured(
    catalog: ToolCatalog,
    questions: Sequence[Labelled],
    *,
    before_each: Callable[[int], None] = lambda place: None,
) -> Measured:
    """What `catalog` finds for `questions`; `before_each` is called with the place of each."""
    found: list[list[str]] = []
    for place, question in enumerate(questions):
        before_each(place)
        found.append([match.name for match in catalog.search(question.text, limit=DEPTH)])
    return scored(found, [question.tools for question in questions])


def with_confidence(
    catalog: ToolCatalog, sentences: Sequence[str], *, before_each: Callable[[int], None] = lambda place: None
) -> NDArray[np.float64]:
    """Per sentence, 1 if `catalog` finds a tool with confidence, else 0."""
    found: list[bool] = []
    for place, sentence in enumerate(sentences):
        before_each(place)
        found.append(any(match.confident for match in catalog.search(sentence, limit=1)))
    return np.array(found, float)


def scored(found: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> Measured:
    """The figures of the results of questions, given the tools of each."""
    recall = [
        sum(name in tools for name in names) / min(len(tools), DEPTH)
        for names, tools in zip(found, wanted, strict=True)
    ]
    first = [bool(names) and names[0] in tools for names, tools in zip(found, wanted, strict=True)]
    # What each tool is worth in a list of results, and as the first, for a question at random.
    listed: defaultdict[str, float] = defaultdict(float)
    leading: defaultdict[str, float] = defaultdict(float)
    for tools in wanted:
        for name in tools:
            listed[name] += 1 / min(len(tools), DEPTH) / len(wanted)
            leading[name] += 1 / len(wanted)
    chance = [(sum(listed[name] for name in names) + (leading[names[0]] if names else 0)) / 2 for names in found]
    return Measured(np.array(recall, float), np.array(first, float), np.array(chance, float))


def change_of(before: Measured, after: Measured) -> Change:
    """The differences, with intervals of the paired bootstrap."""
    return Change(
        figure(after.recall - before.recall),
        figure(after.first - before.first),
        figure(after.beyond_chance - before.beyond_chance),
    )


def figure(values: NDArray[np.float64]) -> Figure:
    """The mean of `values`; the same values give the same interval."""
    random = np.random.default_rng(0)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(_RESAMPLES)]
    low, high = np.percentile(means, [_LOW, _HIGH])
    return Figure(float(values.mean()), float(low), float(high))
