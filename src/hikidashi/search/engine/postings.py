"""Postings of one term: the tools that have it, how much it counts in each, and what it adds to their scores."""

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
"""A posting is one integer: the number of the tool, shifted by so many bits, and the weight of the term in it."""
WEIGHT = (1 << SHIFT) - 1
FEW = 16
"""Tools of a rare term: all are scored, as any of them may be the best."""
_TABLE = 2_000  # tools of a term: to compute what it adds to more of them takes longer than all else in a search
_LONGEST = 1 << 32


class Postings:
    """The tools that have a term, with rising numbers, and how much it counts in each: both packed in one integer."""

    __slots__ = ("_counted", "_shortest", "_version", "best", "docs", "idf", "packed", "scores")

    def __init__(self, packed: Iterable[int]) -> None:
        self.packed: array[int] = array("Q", packed)
        self._counted = 0
        self._shortest: dict[int, int] = {}
        self._version = -1
        self.idf = 0.0
        """The inverse document frequency of the term."""
        self.scores: dict[int, float] | None = None
        """What the term adds to each tool that has it; None for so many tools that these are asked for one by one."""
        self.best = 0.0
        """The most of these."""
        self.docs = 0
        """One bit for each of these tools; 0 for a few tools, which are counted otherwise."""

    def __len__(self) -> int:
        return len(self.packed)

    def weight(self, doc: int) -> int:
        """How much the term counts in a tool; 0 where the tool does not have it."""
        place = doc << SHIFT
        if self.packed[-1] < place:
            return 0
        found = self.packed[bisect_left(self.packed, place)]
        return found & WEIGHT if found >> SHIFT == doc else 0

    def discard(self, doc: int) -> None:
        """Take out a tool."""
        self.packed.pop(bisect_left(self.packed, doc << SHIFT))
        self._counted = 0
        self._shortest = {}

    def score(self, index: Index) -> None:
        """Compute `idf`, `scores`, `best` and `docs`, once per state of the index."""
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
            self.best = max(self.scores.values())
            if len(self.packed) <= FEW:
                self.docs = 0
            elif self._counted != len(self.packed):  # tools came; another tool elsewhere leaves these as they are
                self.docs = bits_of(self.scores, self.packed[-1] >> SHIFT)
                self._counted = len(self.packed)
        else:
            self.count(lengths)
            self.scores = None
            self.best = max(idf * weight / (weight + base + slope * n) for weight, n in self._shortest.items())
        self._version = index.version

    def prepare(self, lengths: array[int]) -> None:
        """Do now what would slow down the first search for a term that many tools have."""
        if len(self.packed) > _TABLE:
            self.count(lengths)

    def count(self, lengths: array[int]) -> None:
        """Take in the tools that came, for `docs` and for `best`: of all with one weight the shortest adds most."""
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
        self.docs = (self.docs if first else 0) | flagged(flags)
        self._counted = len(self.packed)


def summed(occurrences: list[int]) -> Iterator[int]:
    """One packed posting for each tool, given one for each occurrence, with those of a tool next to each other."""
    before = occurrences[0]
    for occurrence in occurrences[1:]:
        if before >> SHIFT == occurrence >> SHIFT:
            before += occurrence & WEIGHT
        else:
            yield before
            before = occurrence
    yield before
