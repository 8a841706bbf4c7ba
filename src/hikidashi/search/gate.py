"""Which hits are worth showing: nothing relevant should give nothing, not junk."""

from __future__ import annotations

from .bm25 import Index
from .query import Query
from .stem import stem
from .stopwords import GENERIC

__all__ = ["near_best", "relevant"]

# A large catalogue has some tool for any word: there, one word that question and tool share must be half of what is
# asked for, and a tool that has less than half of it must bring a quarter of what an average word brings when found
# in full, which a chance word in an example does not. A small catalogue lacks most words, so that it says little how
# many of them are missing; but there too, words whose spelling was guessed must be half of what is asked for.
_QUARTER = 1 / 4
_HALF = 1 / 2
_LARGE = 2_000
# A hit this far behind the best has matched only words that come with any question.
_OF_BEST = 1 / 4


_GENERIC = frozenset(map(stem, GENERIC))


def relevant(index: Index, hits: list[tuple[int, float]], query: Query, limit: int) -> list[tuple[int, float]]:
    """The hits that have something to do with the question: none, unless the best has enough of it."""
    if not hits:
        return hits
    matched = [term for term in query.weights if index.has(hits[0][0], term)]
    if _GENERIC.issuperset(matched) and not _GENERIC.issuperset([*query.weights, *query.missing]):
        telling = {term: weight for term, weight in query.weights.items() if term not in _GENERIC}
        hits = index.top(telling, limit)
        if not hits:
            return hits
        matched = [term for term in telling if index.has(hits[0][0], term)]
    return near_best(hits) if _is_enough(index, matched, hits[0][1], query) else []


def _is_enough(index: Index, matched: list[str], score: float, query: Query) -> bool:
    """Whether a tool with these terms and this score is about the question.

    What is optional and missing there does not count against it.
    """
    worth = {
        term: weight * index.rarity_of(term)
        for term, weight in query.weights.items()
        if term not in query.optional or term in matched
    }
    total = sum(worth.values()) + len(query.missing) * index.rarity(0)
    share = sum([worth[term] for term in matched]) / total
    strictness = min(1.0, index.count / _LARGE)
    if query.respelled.issuperset(matched) and share < _HALF:
        return False
    if len(matched) == 1 and share < _HALF * strictness:
        return False
    average = total / (len(worth) + len(query.missing))
    return share >= _HALF or score >= _QUARTER * strictness * average


def near_best(hits: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The hits that are not too far behind the best; `hits` has the best first."""
    return [hit for hit in hits if hit[1] >= _OF_BEST * hits[0][1]]
