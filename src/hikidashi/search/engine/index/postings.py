"""The posting list of a term: the tools that have it, its weight in each, and its BM25F score in each."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bm25 import Index

__all__ = ["SHIFT", "Postings", "summed"]

SHIFT = 24
"""A posting is one integer: the number of the tool shifted left by this, plus the weight of the term in the tool."""
_WEIGHT = (1 << SHIFT) - 1


class Postings:
    """A posting list, sorted by tool, with its scores for the current state of the index."""

    __slots__ = ("_version", "idf", "max_score", "packed", "scores")

    def __init__(self, packed: Iterable[int]) -> None:
        self.packed: array[int] = array("Q", packed)
        self._version = -1
        self.idf = 0.0
        """The inverse document frequency of the term."""
        self.scores: dict[int, float] = {}
        """The score of the term by tool."""
        self.max_score = 0.0
        """The maximum of these."""

    def __len__(self) -> int:
        return len(self.packed)

    def discard(self, doc: int) -> None:
        """Remove a tool."""
        self.packed.pop(bisect_left(self.packed, doc << SHIFT))

    def score(self, index: Index) -> None:
        """Compute `idf`, `scores` and `max_score`, once per version of the index."""
        if self._version == index.version:
            return
        base, slope, lengths, numbers = index.base, index.slope, index.lengths, index.numbers
        self.idf = idf = index.idf_at(len(self.packed))
        self.scores = {
            (doc := numbers[packed >> SHIFT]): idf
            * (weight := packed & _WEIGHT)
            / (weight + base + slope * lengths[doc])
            for packed in self.packed
        }
        self.max_score = max(self.scores.values())
        self._version = index.version


def summed(occurrences: list[int]) -> Iterator[int]:
    """One posting per tool, given one per occurrence, with those of a tool next to each other."""
    before = occurrences[0]
    for occurrence in occurrences[1:]:
        if before >> SHIFT == occurrence >> SHIFT:
            before += occurrence & _WEIGHT
        else:
            yield before
            before = occurrence
    yield before
