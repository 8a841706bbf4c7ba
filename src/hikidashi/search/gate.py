"""Which hits are worth showing: nothing relevant should give nothing, not junk."""

from __future__ import annotations

from .bm25 import Index
from .query import Query
from .stem import stem
from .stopwords import GENERIC

__all__ = ["near_best", "relevant"]

# The best hit must bring a third of what one average word of the question brings when found in full, which a
# chance word among the examples of an argument does not; or have half of what is asked for, wherever it stands.
_THIRD = 1 / 3
_HALF = 1 / 2
# A hit this far behind the best has matched only words that come with any question.
_OF_BEST = 1 / 4


_GENERIC = frozenset(map(stem, GENERIC))


def relevant(index: Index, hits: list[tuple[int, float]], query: Query) -> list[tuple[int, float]]:
    """The hits that have something to do with the question: none, unless the best has enough of it."""
    if not hits:
        return hits
    worth = {term: weight * index.rarity_of(term) for term, weight in query.weights.items()}
    total = sum(worth.values()) + len(query.missing) * index.rarity(0)
    best, score = hits[0]
    matched = [term for term in worth if index.weight(term, best)]
    if _GENERIC.issuperset(matched) and not _GENERIC.issuperset([*worth, *query.missing]):
        return []
    in_passing = score < _THIRD * total / (len(worth) + len(query.missing))
    if in_passing and sum(worth[term] for term in matched) < _HALF * total:
        return []
    return near_best(hits)


def near_best(hits: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The hits that are not too far behind the best; `hits` has the best first."""
    return [hit for hit in hits if hit[1] >= _OF_BEST * hits[0][1]]
