"""Which hits are worth showing: nothing relevant should give nothing, not junk."""

from __future__ import annotations

from .bm25 import Index
from .query import Query

__all__ = ["relevant"]

# The best hit must have half of what is asked for, counted by rarity. Or else a tenth of it (a long question says
# much beside the point), and bring a third of what one average word of it brings when found in full: a chance
# word among the examples of an argument brings less.
_HALF = 1 / 2
_TENTH = 1 / 10
_THIRD = 1 / 3
# A hit this far behind the best has matched only words that come with any question.
_OF_BEST = 1 / 4


def relevant(index: Index, hits: list[tuple[int, float]], query: Query) -> list[tuple[int, float]]:
    """The hits that have something to do with the question: none, unless the best has enough of it."""
    if not hits:
        return hits
    worth = {term: weight * index.rarity(len(index.postings[term])) for term, weight in query.weights.items()}
    total = sum(worth.values()) + len(query.missing) * index.rarity(0)
    best, score = hits[0]
    covered = sum(value for term, value in worth.items() if index.postings[term].weight_in(best))
    passing = covered >= _TENTH * total and score >= _THIRD * total / (len(worth) + len(query.missing))
    if not passing and covered < _HALF * total:
        return []
    return [hit for hit in hits if hit[1] >= _OF_BEST * score]
