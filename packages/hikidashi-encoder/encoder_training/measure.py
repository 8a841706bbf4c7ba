"""Recall@5 of the rankers on a labelled set, with bootstrap intervals."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hikidashi.search import Embedder, ToolCatalog

from .sets import TrainingSet

__all__ = ["Recall", "difference", "recall"]

_LIMIT = 5
_DRAWS = 2_000


@dataclass(frozen=True)
class Recall:
    """The share of its tools that each question found among the first five."""

    shares: list[float]

    @property
    def mean(self) -> float:
        """In percent."""
        return 100 * sum(self.shares) / len(self.shares)


def recall(one: TrainingSet, embed: Callable[[list[str]], Any] | Embedder | None) -> Recall:
    """Recall@5 through `ToolCatalog`, by words alone or together with an encoder."""
    catalog = ToolCatalog(
        one.tools, ranker="hybrid" if embed else "lexical", embed=embed, limit_tools=100_000, limit_query=100_000
    )
    catalog.ready()
    shares: list[float] = []
    for question, gold in one.questions:
        names = {one.tools[place]["name"] for place in gold}
        found = {hit.name for hit in catalog.search(question, limit=_LIMIT)}
        shares.append(len(names & found) / len(names))
    return Recall(shares)


def difference(one: Recall, other: Recall, *, seed: int = 7) -> tuple[float, float, float]:
    """How many points `one` is above `other`, and the 95 % bootstrap interval of that."""
    gaps = [mine - theirs for mine, theirs in zip(one.shares, other.shares, strict=True)]
    draw = random.Random(seed)
    means = sorted(_mean(draw.choices(gaps, k=len(gaps))) for _ in range(_DRAWS))
    return 100 * _mean(gaps), 100 * means[int(0.025 * _DRAWS)], 100 * means[int(0.975 * _DRAWS)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
