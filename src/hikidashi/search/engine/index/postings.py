"""The posting list of a term: the tools that have it, its weight in each, and its BM25F score in each."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ._bounds import bits_of, flagged

if TYPE_CHECKING:
    from .bm25 import Index

__all__ = ["FEW", "SHIFT", "WEIGHT", "Postings", "summed"]

SHIFT = 24
"""A posting is one integer: the number of the tool shifted left by this, plus the weight of the term in the tool."""
WEIGHT = (1 << SHIFT) - 1
FEW = 16
"""A term that at most so many tools have needs no upper bounds: all of them are scored."""
_TABLE = 2_000  # tools: for longer posting lists a table of scores takes longer than the rest of a search
_LONGEST = 1 << 32


class Postings:
    """A posting list, sorted by tool, with its scores for the current state of the index."""

    __slots__ = ("_counted", "_shortest", "_version", "bitset", "idf", "max_score", "packed", "scores")

    def __init__(self, packed: Iterable[int]) -> None:
        self.packed: array[int] = array("Q", packed)
        self._counted = 0
        self._shortest: dict[int, int] = {}
        self._version = -1
        self.idf = 0.0
        """The inverse document frequency of the term."""
        self.scores: dict[int, float] | None = None
        """The score of the term by tool; None for long posting lists, whose scores are computed as needed."""
        self.max_score = 0.0
        """The maximum of these, or an upper bound on them."""
        self.bitset = 0
        """The bitset of the tools; 0 for a short posting list."""

    def __len__(self) -> int:
        return len(self.packed)

    def weight(self, doc: int) -> int:
        """The weight of the term in a tool; 0 if the tool does not have it."""
        place = doc << SHIFT
        if self.packed[-1] < place:
            return 0
        found = self.packed[bisect_left(self.packed, place)]
        return found & WEIGHT if found >> SHIFT == doc else 0

    def discard(self, doc: int) -> None:
        """Remove a tool."""
        self.packed.pop(bisect_left(self.packed, doc << SHIFT))
        self._counted = 0
        self._shortest = {}

    def score(self, index: Index) -> None:
        """Compute `idf`, `scores`, `max_score` and `bitset`, once per version of the index."""
        if self._version == index.version:
            return
        base, slope, lengths, numbers = index.base, index.slope, index.lengths, index.numbers
        self.idf = idf = index.idf_at(len(self.packed))
        if len(self.packed) <= _TABLE:
            self.scores = {
                (doc := numbers[packed >> SHIFT]): idf
                * (weight := packed & WEIGHT)
                / (weight + base + slope * lengths[doc])
                for packed in self.packed
            }
            self.max_score = max(self.scores.values())
            if len(self.packed) <= FEW:
                self.bitset = 0
            elif self._counted != len(self.packed):  # tools were added to this list
                self.bitset = bits_of(self.scores, self.packed[-1] >> SHIFT)
                self._counted = len(self.packed)
        else:
            self.count(lengths)
            self.scores = None
            self.max_score = max(idf * weight / (weight + base + slope * n) for weight, n in self._shortest.items())
        self._version = index.version

    def prepare(self, lengths: array[int]) -> None:
        """For a long posting list, do now what the first search for the term would have to do."""
        if len(self.packed) > _TABLE:
            self.count(lengths)

    def count(self, lengths: array[int]) -> None:
        """Update `bitset`, and the shortest length for each weight: of the tools with one weight it scores highest."""
        shortest = self._shortest
        first = self._counted if shortest else 0
        if first == len(self.packed):
            return
        flags = bytearray((self.packed[-1] >> SHIFT) + 1)
        for packed in self.packed[first:]:
            doc, weight = packed >> SHIFT, packed & WEIGHT
            flags[doc] = 1
            if shortest.get(weight, _LONGEST) > (length := lengths[doc]):
                shortest[weight] = length
        self.bitset = (self.bitset if first else 0) | flagged(flags)
        self._counted = len(self.packed)


def summed(occurrences: list[int]) -> Iterator[int]:
    """One posting per tool, given one per occurrence, with those of a tool next to each other."""
    before = occurrences[0]
    for occurrence in occurrences[1:]:
        if before >> SHIFT == occurrence >> SHIFT:
            before += occurrence & WEIGHT
        else:
            yield before
            before = occurrence
    yield before
