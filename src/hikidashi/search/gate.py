"""Which hits are worth showing: nothing relevant should give nothing, not junk."""

from __future__ import annotations

from .bm25 import Index
from .query import Query
from .text import is_inflection, is_weak, share_of_word

__all__ = ["NEAREST", "judged", "near_best"]

NEAREST = 3  # shown where none is certain: enough to recognise the right one, too few to fill a context

# A large catalogue has some tool for any word: there, one word that question and tool share must be half of what is
# asked for, and a tool that has less than half of it must bring a quarter of what an average word brings when found
# in full, which a chance word in an example does not. A small catalogue lacks most words, so that it says little how
# many of them are missing; but there too, words that come in any talk, words whose spelling was guessed, and less than
# half a word must be two thirds of what is asked for.
_QUARTER = 1 / 4
_HALF = 1 / 2
_TWO_THIRDS = 2 / 3
_LARGE = 2_000
# A hit this far behind the best has matched only words that come with any question.
_OF_BEST = 1 / 4


def judged(index: Index, query: Query, limit: int) -> tuple[list[tuple[int, float]], str]:
    """The best hits, and why they may not be what was asked for: empty where the best has enough of the question.

    There are none where no tool has a word that tells tools apart.
    """
    hits = index.top(query.weights, limit)
    if not hits or _is_enough(index, *hits[0], query):
        return near_best(hits), ""
    telling = {term: weight for term, weight in query.weights.items() if not _is_doubtful(term, query)}
    if not any(index.has(hits[0][0], term) for term in telling):
        hits = index.top(telling, limit)  # doubtful words brought the best, and may have hidden a better one
        if hits and _is_enough(index, *hits[0], query):
            return near_best(hits), ""
    return near_best(hits), "Too little of the question is in any tool."


def _is_enough(index: Index, doc: int, score: float, query: Query) -> bool:
    """Whether a tool with this score is about the question.

    Words of the question are counted, however many terms each became. What is optional and missing does not count.
    """
    asked: dict[str, float] = {}
    found: dict[str, float] = {}
    sure = 0.0
    for term, weight in query.weights.items():
        is_found = index.has(doc, term)
        if not is_found and term in query.optional:
            continue
        word = query.word_of(term)
        worth = weight * share_of_word(term) * index.rarity_of(term)
        asked[word] = max(worth, asked.get(word, 0.0))
        if is_found:
            found[word] = max(worth, found.get(word, 0.0))
            sure += 0.0 if _is_doubtful(term, query) else share_of_word(term)
    missing = sum(map(share_of_word, query.missing))
    total = sum(asked.values()) + missing * index.rarity(0)
    share = sum(found.values()) / total
    if sure < _HALF and share < _TWO_THIRDS:
        return False
    if share >= _HALF:
        return True
    strictness = min(1.0, index.count / _LARGE)
    if len(found) == 1 and share < _HALF * strictness:
        return False
    return score >= _QUARTER * strictness * total / (len(asked) + missing)


def _is_doubtful(term: str, query: Query) -> bool:
    if is_weak(term) or is_inflection(term) or term in query.respelled:
        return True
    word = query.word_of(term)
    return is_weak(word) or (word is term and len(term) == 1 and share_of_word(term) < 1)


def near_best(hits: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The hits that are not too far behind the best; `hits` has the best first."""
    return [hit for hit in hits if hit[1] >= _OF_BEST * hits[0][1]]
