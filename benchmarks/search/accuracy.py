"""How often the right tool is among the first results: recall and nDCG, every engine on every data set.

Questions that no tool serves are counted apart: there, the right answer is an empty list, or one that is marked as
uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from .data import Dataset, Question
from .engines import Engine, Judging, Searcher

DEPTHS = (1, 5, 10)
_DEEPEST = DEPTHS[-1]
FEW = 200
"""At most so many questions of a data set are asked of an engine that is slow, spread evenly over all of them."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What one engine scored on one data set."""

    dataset: str
    tools: int
    questions: int
    """That some tool serves."""
    engine: str
    recall: dict[int, float]
    """Mean share of the gold found in the first so many results."""
    ndcg: float
    splits: dict[str, float]
    """recall@5 for each split of a data set that has several."""
    unserved: int = 0
    """How many further questions no tool serves."""
    rightly_empty: float | None = None
    """The share of these with nothing found, or only what is marked as uncertain; `None` where there are none."""
    empty_splits: dict[str, float] = field(default_factory=dict[str, float])
    """The same for each split of them."""
    wrongly_empty: float = 0.0
    """The share of the questions that some tool serves for which nothing was found."""
    wrongly_unsure: float = 0.0
    """The share of these for which nothing was found, or only what is marked as uncertain."""


def recall(found: Sequence[str], question: Question, depth: int) -> float:
    """Share of the gold in the first `depth` results; an alternative stands in for one of the gold."""
    wanted = question.gold | question.alternatives
    return min(len(wanted.intersection(found[:depth])), len(question.gold)) / len(question.gold)


def ndcg(found: Sequence[str], question: Question, depth: int) -> float:
    """How high the gold stands in the first `depth` results; 1 when all of it comes first."""
    wanted = question.gold | question.alternatives
    places = [place for place, name in enumerate(found[:depth]) if name in wanted][: len(question.gold)]
    ideal = range(min(len(question.gold), depth))
    return _discounted(places) / _discounted(ideal)


def _discounted(places: Iterable[int]) -> float:
    return sum(1 / math.log2(place + 2) for place in places)


def scored(dataset: Dataset, name: str, searcher: Searcher) -> Accuracy:
    """What `searcher` scores on `dataset`."""
    results = [(question, searcher.search(question.query, _DEEPEST)) for question in dataset.questions]
    served = [(question, found) for question, found in results if question.gold]
    unserved = [(question, found) for question, found in results if not question.gold]
    left_empty: dict[str, list[bool]] = {}
    for question, found in unserved:
        left_empty.setdefault(question.split, []).append(_is_held_back(searcher, question, found))
    by_split: dict[str, list[float]] = {}
    for question, found in served:
        by_split.setdefault(question.split, []).append(recall(found, question, 5))
    return Accuracy(
        dataset=dataset.name,
        tools=len(dataset.tools),
        questions=len(served),
        engine=name,
        recall={depth: _mean(recall(found, question, depth) for question, found in served) for depth in DEPTHS},
        ndcg=_mean(ndcg(found, question, _DEEPEST) for question, found in served),
        splits={split: _mean(figures) for split, figures in by_split.items()} if len(by_split) > 1 else {},
        unserved=len(unserved),
        rightly_empty=_mean(chain.from_iterable(left_empty.values())) if unserved else None,
        empty_splits={split: _mean(figures) for split, figures in left_empty.items()},
        wrongly_empty=_mean(not found for _, found in served),
        wrongly_unsure=_mean(_is_held_back(searcher, question, found) for question, found in served),
    )


def _is_held_back(searcher: Searcher, question: Question, found: Sequence[str]) -> bool:
    """Whether nothing was shown that the engine is sure of."""
    return not found or (isinstance(searcher, Judging) and not searcher.is_confident(question.query))


def measure(
    datasets: Sequence[Dataset], engines: Sequence[Engine], progress: Callable[[str], None]
) -> Iterable[Accuracy]:
    """Every engine that is installed on every data set."""
    for dataset in datasets:
        for engine in engines:
            if engine.missing is None:
                progress(f"{dataset.name}, {engine.name}")
                asked = dataset.thinned(FEW) if engine.is_slow else dataset
                yield scored(asked, engine.name, engine.searching(dataset.tools))


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / (len(every) or 1)
