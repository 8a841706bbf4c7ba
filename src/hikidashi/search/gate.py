"""Which hits are worth showing: nothing relevant should give nothing, not junk."""

from __future__ import annotations

from .bm25 import Index
from .query import Query
from .text import is_inflection, is_weak, share_of_word

__all__ = ["near_best", "relevant"]

# A large catalogue has some tool for any word: there, one word that question and tool share must be half of what is
# asked for, and a tool that has less than half of it must bring a quarter of what an average word brings when found
# in full, which a chance word in an example does not. A small catalogue lacks most words, so that it says little how
# many of them are missing; but there too, words that come in any talk, words whose spelling was guessed, and less than
# half a word must be two thirds of what is asked for.
_QUARTER = 1 / 4
_HALF = 1 / 2
_TWO_THIRDS = 2 / 3
_LARGE = 2_000
# What a tool calls the thing that a word of the question means is most of that word, but hardly a reason of its own: it
# takes two of them to be as sure as half a word that stands there.
_HINTED = 0.7
_SURE_HINT = 1 / 4
# What is told rather than asked for shares a word with some tool by chance, but seldom two.
_MORE_THAN_ONE = 3 / 2
# A hit this far behind the best has matched only words that come with any question.
_OF_BEST = 1 / 4


def relevant(index: Index, hits: list[tuple[int, float]], query: Query, limit: int) -> list[tuple[int, float]]:
    """The hits that have something to do with the question: none, unless the best has enough of it."""
    if not hits or _is_enough(index, *hits[0], query):
        return near_best(hits)
    telling = {term: weight for term, weight in query.weights.items() if not _is_doubtful(term, query)}
    if any(index.has(hits[0][0], term) for term in telling):
        return []
    hits = index.top(telling, limit)  # doubtful words brought the best, and may have hidden a better one
    return near_best(hits) if hits and _is_enough(index, *hits[0], query) else []


def _is_enough(index: Index, doc: int, score: float, query: Query) -> bool:
    """Whether a tool with this score is about the question.

    Words of the question are counted, however many terms each became. What is optional and missing does not count.
    """
    asked: dict[str, float] = {}
    found: dict[str, float] = {}
    sure = 0.0
    hinted: dict[str, float] = {}
    for term, weight in query.weights.items():
        is_found = index.has(doc, term)
        word = query.word_of(term)
        if term in query.relatives:
            if is_found:
                hinted[word] = _HINTED * index.rarity_of(word)
            continue
        if not is_found and term in query.optional:
            continue
        worth = weight * share_of_word(term) * index.rarity_of(term)
        asked[word] = max(worth, asked.get(word, 0.0))
        if is_found:
            found[word] = max(worth, found.get(word, 0.0))
            sure += 0.0 if _is_doubtful(term, query) else share_of_word(term)
    sure += _SURE_HINT * sum(not is_weak(word) for word in hinted)
    missing = sum(map(share_of_word, query.missing))
    total = sum(asked.values()) + missing * index.rarity(0)
    share = sum((hinted | found).values()) / total if total else 0.0
    if sure < (_MORE_THAN_ONE if query.is_told else _HALF) and share < _TWO_THIRDS:
        return False
    if share >= _HALF:
        return True
    strictness = min(1.0, index.count / _LARGE)
    if len(found) <= 1 and share < _HALF * strictness:
        return False
    return score >= _QUARTER * strictness * total / ((len(asked) + missing) or 1)


def _is_doubtful(term: str, query: Query) -> bool:
    if is_weak(term) or is_inflection(term) or term in query.respelled:
        return True
    word = query.word_of(term)
    return is_weak(word) or (word is term and len(term) == 1 and share_of_word(term) < 1)


def near_best(hits: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The hits that are not too far behind the best; `hits` has the best first."""
    return [hit for hit in hits if hit[1] >= _OF_BEST * hits[0][1]]
