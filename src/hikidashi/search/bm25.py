"""BM25F over an inverted index that changes in place: adding a tool costs what the tool costs.

A term counts in a tool by the weighted sum of its occurrences over the fields, saturated by `k1` and evened
out for long tools by `b`; the score of a tool is the sum over the query's terms, each taken once, times how
rare the term is. Weights and lengths are whole numbers (twentieths), so sums do not depend on the order in
which tools came and went: a changed index scores exactly as a fresh one.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from math import log

__all__ = ["FIELD_WEIGHTS", "Index", "Postings"]

FIELD_WEIGHTS: Mapping[str, int] = {
    # In twentieths. A name is chosen with care and short: 2.5 times a description. Arguments tell what a tool
    # needs more than what it does: .7; their descriptions are long and full of examples: .35.
    "name": 50,
    "aliases": 50,
    "description": 20,
    "tags": 20,
    "argument_names": 14,
    "argument_descriptions": 7,
}
_UNIT = 20
_K1 = 1.2  # the textbook's saturation: a second mention helps, a tenth hardly
_B = 0.6  # below the textbook's .75: a tool with many arguments is longer for a reason


class Postings:
    """The tools that have a term: their numbers, rising, and how much it counts in each."""

    __slots__ = ("_docs", "_scores", "_version", "docs", "peak", "weights")

    def __init__(self, docs: array[int], weights: array[int], peak: int) -> None:
        self.docs = docs
        self.weights = weights
        self.peak = peak
        """The largest of `weights`: no tool gains more from this term than this allows."""
        self._version = -1
        self._docs: list[int] = []
        self._scores: list[float] = []

    def insert(self, doc: int, weight: int) -> None:
        """Put in a tool whose number is higher than all before."""
        self.docs.append(doc)
        self.weights.append(weight)
        if weight > self.peak:
            self.peak = weight

    def discard(self, doc: int) -> None:
        """Take out a tool."""
        at = bisect_left(self.docs, doc)
        weight = self.weights.pop(at)
        self.docs.pop(at)
        if weight == self.peak:
            self.peak = max(self.weights, default=0)

    def weight_in(self, doc: int) -> int:
        """How much the term counts in a tool; 0 where it is not."""
        docs = self.docs
        at = bisect_left(docs, doc)
        return self.weights[at] if at < len(docs) and docs[at] == doc else 0

    def scored(self, index: Index) -> tuple[list[int], list[float]]:
        """The tools and what the term adds to each, computed once per state of the index."""
        if self._version != index.version:
            base, slope, lengths = index.base, index.slope, index.lengths
            rarity = index.rarity(len(self.docs))
            self._docs = self.docs.tolist()
            self._scores = [
                rarity * weight / (weight + base + slope * lengths[doc])
                for doc, weight in zip(self._docs, self.weights, strict=True)
            ]
            self._version = index.version
        return self._docs, self._scores


class Index:
    """Which terms are in which tools, and the best tools for a query."""

    def __init__(self) -> None:
        self.postings: dict[str, Postings] = {}
        self.lengths: array[int] = array("I")
        """The weighted length of each tool; 0 for numbers no longer in use."""
        self.count = 0
        self.total = 0
        self.version = 0
        """Changes with every change of the index: what was computed before is stale."""

    @property
    def base(self) -> float:
        """The part of the saturation that every tool has, in units of weight."""
        return _UNIT * _K1 * (1 - _B)

    @property
    def slope(self) -> float:
        """The part of the saturation that grows with the length of a tool."""
        return _UNIT * _K1 * _B * self.count / self.total if self.total else 0.0

    def rarity(self, found_in: int) -> float:
        """How much a term says that is in `found_in` tools (inverse document frequency, never negative)."""
        return log(1 + (self.count - found_in + 0.5) / (found_in + 0.5))

    def add(self, fields: Iterable[tuple[int, Iterable[str]]]) -> int:
        """The number of a new tool, given the terms of its fields with their weights."""
        doc = len(self.lengths)
        weights: dict[str, int] = {}
        length = 0
        for weight, terms in fields:
            for term in terms:
                weights[term] = weights.get(term, 0) + weight
                length += weight
        postings = self.postings
        for term, weight in weights.items():
            known = postings.get(term)
            if known is None:
                postings[term] = Postings(array("I", (doc,)), array("I", (weight,)), weight)
            else:
                known.insert(doc, weight)
        self.lengths.append(length)
        self.total += length
        self.count += 1
        self.version += 1
        return doc

    def remove(self, doc: int, terms: Iterable[str]) -> None:
        """Forget a tool, given the terms it was added with."""
        for term in set(terms):
            postings = self.postings[term]
            postings.discard(doc)
            if not postings.docs:
                del self.postings[term]
        self.total -= self.lengths[doc]
        self.lengths[doc] = 0
        self.count -= 1
        self.version += 1

    def top(self, query: Mapping[str, float], limit: int) -> list[tuple[int, float]]:
        """The `limit` best tools for weighted terms, best first; equal ones in the order they were added.

        Rare terms propose tools; as soon as the other terms together could not lift a new tool into the
        best, they only add to the tools already proposed.
        """
        lists = sorted(self._lists(query), key=lambda item: (-item[0], item[1]))
        rest = [0.0] * (len(lists) + 1)
        for at in range(len(lists) - 1, -1, -1):
            rest[at] = rest[at + 1] + lists[at][0]
        found: dict[int, float] = {}
        at = 0
        for at, (_, _, gain, postings) in enumerate(lists):
            if len(found) >= limit and len(postings.docs) > 64 and rest[at] < _nth(found.values(), limit):
                break
            _accumulate(found, *postings.scored(self), gain)
        else:
            at = len(lists)
        for place in range(at, len(lists)):
            found = self._rescored(found, lists[place][2], lists[place][3], rest[place + 1], limit)
        if len(found) > limit:
            floor = _nth(found.values(), limit)
            best = [item for item in found.items() if item[1] >= floor]
        else:
            best = list(found.items())
        best.sort(key=lambda item: (-item[1], item[0]))
        return best[:limit]

    def _lists(self, query: Mapping[str, float]) -> Iterator[tuple[float, str, float, Postings]]:
        """For each known term: the most it can add, itself, the query's weight for it, and its postings."""
        base = self.base
        for term, gain in query.items():
            postings = self.postings.get(term)
            if postings is not None:
                bound = gain * self.rarity(len(postings.docs)) * postings.peak / (postings.peak + base)
                yield bound, term, gain, postings

    def _rescored(
        self, found: dict[int, float], gain: float, postings: Postings, rest: float, limit: int
    ) -> dict[int, float]:
        """`found` with one more term added, without the tools that can no longer be among the best."""
        if len(found) * 4 < len(postings.docs):  # a look-up costs about four steps of a scan
            base, slope, lengths = self.base, self.slope, self.lengths
            rarity = self.rarity(len(postings.docs))
            for doc in found:
                weight = postings.weight_in(doc)
                if weight:
                    found[doc] += gain * (rarity * weight / (weight + base + slope * lengths[doc]))
        else:
            docs, scores = postings.scored(self)
            for doc, score in zip(docs, scores, strict=True):
                if doc in found:
                    found[doc] += gain * score
        if len(found) <= limit:
            return found
        floor = _nth(found.values(), limit) - rest
        return {doc: score for doc, score in found.items() if score >= floor}


def _accumulate(found: dict[int, float], docs: list[int], scores: list[float], gain: float) -> None:
    if gain != 1.0:
        scores = [gain * score for score in scores]
    if not found:
        found.update(zip(docs, scores, strict=True))
        return
    known = found.get
    for doc, score in zip(docs, scores, strict=True):
        found[doc] = known(doc, 0.0) + score


def _nth(values: Iterable[float], place: int) -> float:
    return heapq.nlargest(place, values)[-1]
