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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import log

__all__ = ["FIELD_WEIGHTS", "MAX_TERMS", "Index", "Postings"]

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
_SHIFT = 24
_WEIGHT = (1 << _SHIFT) - 1
MAX_TERMS = 10_000  # of one field: what comes after says no more about a tool, and its weight must fit `_SHIFT` bits
_K1 = 1.2  # the textbook's saturation: a second mention helps, a tenth hardly
_B = 0.6  # below the textbook's .75: a tool with many arguments is longer for a reason

_NO_SCORES: dict[int, float] = {}


class Postings:
    """The tools that have a term, with rising numbers, and how much it counts in each: both packed in one integer."""

    __slots__ = ("_scores", "_version", "packed")

    def __init__(self, packed: Iterable[int]) -> None:
        self.packed: array[int] = array("Q", packed)
        self._version = -1
        self._scores = _NO_SCORES

    def __len__(self) -> int:
        return len(self.packed)

    def discard(self, doc: int) -> None:
        """Take out a tool."""
        self.packed.pop(bisect_left(self.packed, doc << _SHIFT))

    def weight_in(self, doc: int) -> int:
        """How much the term counts in a tool; 0 where it is not."""
        packed = self.packed
        at = bisect_left(packed, doc << _SHIFT)
        return packed[at] & _WEIGHT if at < len(packed) and packed[at] >> _SHIFT == doc else 0

    def scores(self, index: Index) -> dict[int, float]:
        """What the term adds to each tool that has it, computed once per state of the index."""
        if self._version != index.version:
            base, slope, lengths = index.base, index.slope, index.lengths
            rarity = index.rarity(len(self.packed))
            self._scores = {
                (doc := packed >> _SHIFT): rarity
                * (weight := packed & _WEIGHT)
                / (weight + base + slope * lengths[doc])
                for packed in self.packed
            }
            self._version = index.version
        return self._scores

    def scores_of(self, docs: Collection[int], index: Index) -> Mapping[int, float]:
        """What the term adds to at least those of `docs` that have it."""
        # One tool of a few costs about four times one of all.
        if self._version == index.version or len(docs) * 4 > len(self.packed):
            return self.scores(index)
        base, slope, lengths = index.base, index.slope, index.lengths
        rarity = index.rarity(len(self.packed))
        return {
            doc: rarity * weight / (weight + base + slope * lengths[doc])
            for doc in docs
            if (weight := self.weight_in(doc))
        }


class Index:
    """Which terms are in which tools, and the best tools for a query."""

    def __init__(self) -> None:
        self.terms: dict[str, Postings | int] = {}
        """The postings of each term. Most terms are in one tool: a number stands for that one posting, packed. A
        number below zero counts from -1 the places in a file that `stored` reads."""
        self.stored: Callable[[int], Postings] | None = None
        self.new_terms: list[str] | None = None
        """The terms that came since somebody put a list here."""
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

    def postings(self, term: str) -> Postings | None:
        """The tools that have a term; None where no tool has it."""
        found = self.terms.get(term)
        if isinstance(found, int):
            self.terms[term] = found = self._unpacked(found)
        return found

    def _unpacked(self, known: int) -> Postings:
        if known >= 0:
            return Postings((known,))
        assert self.stored is not None
        return self.stored(-1 - known)

    def rarity(self, found_in: int) -> float:
        """How much a term says that is in `found_in` tools (inverse document frequency, never negative)."""
        return log(1 + (self.count - found_in + 0.5) / (found_in + 0.5))

    def rarity_of(self, term: str) -> float:
        """How much a term says."""
        postings = self.postings(term)
        return self.rarity(len(postings.packed) if postings else 0)

    def weight(self, term: str, doc: int) -> int:
        """How much a term counts in a tool; 0 where it is not."""
        postings = self.postings(term)
        return postings.weight_in(doc) if postings else 0

    def add(self, fields: Iterable[tuple[int, Sequence[str]]]) -> int:
        """The number of a new tool, given the terms of its fields with their weights; at most `MAX_TERMS` in each."""
        doc = len(self.lengths)
        place = doc << _SHIFT
        terms = self.terms
        length = 0
        for weight, found in fields:
            length += weight * len(found)
            for term in found:
                known = terms.get(term)
                if known is None:
                    terms[term] = place | weight
                    if self.new_terms is not None:
                        self.new_terms.append(term)
                    continue
                if isinstance(known, int):
                    if known >= place:  # the same tool has it again
                        terms[term] = known + weight
                        continue
                    terms[term] = known = self._unpacked(known)
                packed = known.packed
                if packed[-1] >= place:
                    packed[-1] += weight
                else:
                    packed.append(place | weight)
        self.lengths.append(length)
        self.total += length
        self.count += 1
        self.version += 1
        return doc

    def remove(self, doc: int, terms: Iterable[str]) -> None:
        """Forget a tool, given the terms it was added with."""
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
        """The `limit` best tools for weighted terms, best first; equal ones in the order they were added.

        Rare terms propose tools; as soon as the other terms together could not lift a new tool into the
        best, they only add to the tools already proposed.
        """
        lists = sorted(self._lists(query), key=lambda item: (-item[0], item[1]))
        rest = [0.0] * (len(lists) + 1)
        for at in range(len(lists) - 1, -1, -1):
            rest[at] = rest[at + 1] + lists[at][0]
        found: dict[int, float] = {}
        for at, (_, _, gain, postings) in enumerate(lists):
            if limit <= len(found) < 2 * len(postings.packed) and _reached(rest[at], found, limit):
                found = self._rescored(found, lists[at:], rest[at + 1 :], limit)
                break
            _add(found, postings.scores(self), gain)
        if len(found) > limit:
            floor = heapq.nlargest(limit, found.values())[-1]
            found = {doc: score for doc, score in found.items() if score >= floor}
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def _lists(self, query: Mapping[str, float]) -> Iterator[tuple[float, str, float, Postings]]:
        """For each known term: the most it can add, itself, the query's weight for it, and its postings."""
        for term, gain in query.items():
            postings = self.postings(term)
            if postings is not None:
                yield gain * self.rarity(len(postings.packed)), term, gain, postings

    def _rescored(
        self, found: dict[int, float], lists: list[tuple[float, str, float, Postings]], rest: list[float], limit: int
    ) -> dict[int, float]:
        """`found` with more terms added, without the tools that these can no longer lift among the best."""
        for (_, _, gain, postings), still in zip(lists, rest, strict=True):
            scores = postings.scores_of(found, self)
            for doc in found.keys() & scores.keys():
                found[doc] += gain * scores[doc]
            if len(found) > 2 * limit:
                floor = heapq.nlargest(limit, found.values())[-1] - still
                found = {doc: score for doc, score in found.items() if score >= floor}
        return found


def _add(found: dict[int, float], scores: dict[int, float], gain: float) -> None:
    """Add `scores` to `found`; written so that almost all of it runs in C, as most tools are in only one of them."""
    if gain != 1.0:
        scores = {doc: gain * score for doc, score in scores.items()}
    both = {doc: found[doc] + scores[doc] for doc in found.keys() & scores.keys()}
    found |= scores
    found |= both


def _reached(bound: float, found: dict[int, float], limit: int) -> bool:
    """Whether the best `limit` tools already have more than `bound`."""
    return bound < max(found.values()) and bound < heapq.nlargest(limit, found.values())[-1]
