"""BM25F over an inverted index that is updated in place.

The frequency of a term in a tool is the sum of its occurrences over the fields, weighted by field, saturated by `k1`
and normalised for length by `b`. The score of a tool is the sum over the distinct terms of the query, each times its
idf. Weights and lengths are integers, so that sums do not depend on the order of updates: an updated index gives
exactly the scores of a new one.
"""

from __future__ import annotations

import heapq
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import log

from ._fields import WEIGHT_UNIT
from .postings import SHIFT, Postings, summed

__all__ = ["Index"]

_K1 = 1.2  # the usual value
_B = 0.6  # below the usual .75: a tool with many arguments is longer for a reason

_FEW = 16  # tools: after a term of no more, looking for the end of the search takes longer than going on
_LONG = 512  # occurrences: a term with as many gets its posting list when the index is built
_ROUNDING = 1 - 1e-9  # tolerance for sums of floats in another order, so that pruning keeps ties


class Index:
    """An inverted index: the posting list of each term, and the highest-scoring tools for a query."""

    def __init__(self) -> None:
        self.terms: dict[str, Postings | int | list[int]] = {}
        """The posting list of each term, unpacked when first used. An int is the only posting of a term, or, if
        negative, -1 minus the position that `stored` takes. A list has one posting per occurrence, in order."""
        self.stored: Callable[[int], Postings] | None = None
        """Reads the posting list at a position of a saved catalogue."""
        self.terms_added = 0
        """How many terms were ever added to `terms`."""
        self.lengths: array[int] = array("I")
        """The weighted length of each tool by number; 0 for removed tools."""
        self.numbers: list[int] = []
        """All numbers so far: tables of scores share these int objects, which saves memory."""
        self.count = 0
        """The number of tools."""
        self.total = 0
        """The sum of their lengths."""
        self.version = 0
        """Changes with every update: scores of an earlier version are stale."""

    @property
    def base(self) -> float:
        """The part of the BM25 denominator that does not depend on length, in units of weight."""
        return WEIGHT_UNIT * _K1 * (1 - _B)

    @property
    def slope(self) -> float:
        """The factor of a tool's length in the BM25 denominator."""
        return WEIGHT_UNIT * _K1 * _B * self.count / self.total if self.total else 0.0

    def postings(self, term: str) -> Postings | None:
        """The posting list of a term; None if no tool has it."""
        found = self.terms.get(term)
        if found is None or isinstance(found, Postings):
            return found
        self.terms[term] = postings = self._unpacked(found)
        return postings

    def _unpacked(self, known: int | list[int]) -> Postings:
        if isinstance(known, list):
            return Postings(summed(known))
        if known >= 0:
            return Postings((known,))
        assert self.stored is not None
        return self.stored(-1 - known)

    def idf_at(self, document_frequency: int) -> float:
        """The inverse document frequency of a term that so many tools have; never negative."""
        return log(1 + (self.count - document_frequency + 0.5) / (document_frequency + 0.5))

    def idf(self, term: str) -> float:
        """The inverse document frequency of a term, whether or not some tool has it."""
        postings = self._scored(term)
        return self.idf_at(0) if postings is None else postings.idf

    def first_with(self, term: str) -> int:
        """The number of the first tool that has a known term."""
        postings = self.postings(term)
        assert postings is not None
        return postings.packed[0] >> SHIFT

    def tools_with(self, term: str) -> int:
        """The document frequency of a term."""
        return len(self.postings(term) or ())

    def has(self, doc: int, term: str) -> bool:
        """Whether a tool has a term."""
        postings = self._scored(term)
        return postings is not None and doc in postings.scores

    def _scored(self, term: str) -> Postings | None:
        postings = self.postings(term)
        if postings is not None:
            postings.score(self)
        return postings

    def add(self, fields: Iterable[tuple[int, Sequence[str]]]) -> int:
        """Add a tool, given the weight and the terms of each field, at most `MAX_TERMS` per field; its number."""
        doc = len(self.lengths)
        place = doc << SHIFT
        terms = self.terms
        length = 0
        for weight, found in fields:
            length += weight * len(found)
            for term in found:
                known = terms.get(term)
                if known is None:
                    terms[term] = place | weight
                    self.terms_added += 1
                    continue
                if isinstance(known, int) and known >= place:  # a second occurrence in this tool
                    terms[term] = known + weight
                    continue
                if not isinstance(known, Postings):
                    terms[term] = known = self._unpacked(known)
                packed = known.packed
                if packed[-1] >= place:
                    packed[-1] += weight
                else:
                    packed.append(place | weight)
        self.lengths.append(length)
        self.numbers.append(doc)
        self.total += length
        self.count += 1
        self.version += 1
        return doc

    def extend(self, tools: Iterable[Iterable[tuple[int, Sequence[str]]]]) -> None:
        """Add many tools to an empty index; several times faster than `add` for each.

        Occurrences are summed up to postings when a term is first searched for, or now if it has many of them: that
        would delay the search by milliseconds, and a posting list needs a fraction of the memory.
        """
        assert not self.terms
        occurrences: defaultdict[str, list[int]] = defaultdict(list)
        for doc, fields in enumerate(tools):
            length = 0
            for weight, found in fields:
                length += weight * len(found)
                place = doc << SHIFT | weight
                for term in found:
                    occurrences[term].append(place)
            self.lengths.append(length)
        self.terms = {
            term: places[0] if len(places) == 1 else places if len(places) < _LONG else Postings(summed(places))
            for term, places in occurrences.items()
        }
        self.terms_added = len(self.terms)
        self.count = self.version = len(self.lengths)
        self.numbers = list(range(self.count))
        self.total = sum(self.lengths)

    def remove(self, doc: int, terms: Iterable[str]) -> None:
        """Remove a tool, given the terms it was added with."""
        for term in set(terms):
            postings = self.postings(term)
            assert postings is not None
            postings.discard(doc)
            if not postings.packed:
                del self.terms[term]
        self.total -= self.lengths[doc]
        self.lengths[doc] = 0
        self.count -= 1
        self.version += 1

    def top(self, query: Mapping[str, float], limit: int) -> list[tuple[int, float]]:
        """The `limit` highest-scoring tools for weighted terms, with their scores; ties in the order they were added.

        MaxScore pruning: once the remaining terms cannot bring a new tool among the best, they only add to the tools
        found so far. Nearly all of it runs in C.
        """
        lists = sorted(self._lists(query))
        found: dict[int, float] = {}
        rest = sum([boost * postings.max_score for _, _, boost, postings in lists])
        closed = False
        for _, _, boost, postings in lists:
            scores = postings.scores
            if not closed and len(found) >= limit and len(scores) > _FEW:
                closed = rest < heapq.nlargest(limit, found.values())[-1] * _ROUNDING
            rest -= boost * postings.max_score
            both = {doc: found[doc] + boost * scores[doc] for doc in found.keys() & scores.keys()}
            if not closed:
                found |= scores if boost == 1.0 else {doc: boost * score for doc, score in scores.items()}
            found |= both
        if len(found) > 4 * limit:
            floor = heapq.nlargest(limit, found.values())[-1]
            found = {doc: score for doc, score in found.items() if score >= floor}
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def scores(self, query: Mapping[str, float], docs: Iterable[int]) -> dict[int, float]:
        """The scores of some tools for weighted terms; 0 for those that have none of them."""
        found = dict.fromkeys(docs, 0.0)
        for _, _, boost, postings in sorted(self._lists(query)):
            for doc in found.keys() & postings.scores.keys():
                found[doc] += boost * postings.scores[doc]
        return found

    def _lists(self, query: Mapping[str, float]) -> Iterator[tuple[float, str, float, Postings]]:
        """For each known term: a key that sorts by falling idf, the term, its weight in the query, its posting list."""
        for term, boost in query.items():
            postings = self._scored(term)
            if postings is not None:
                yield -boost * postings.idf, term, boost, postings
