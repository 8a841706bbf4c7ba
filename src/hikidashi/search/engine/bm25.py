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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import cast

from ._bounds import Bounds, docs_of
from .fields import WEIGHT_UNIT
from .postings import FEW, SHIFT, WEIGHT, Postings, summed

__all__ = ["Index"]

_K1 = 1.2  # the textbook's saturation: a second mention helps, a tenth hardly
_B = 0.6  # below the textbook's .75: a tool with many arguments is longer for a reason

_DIRECT = 600  # tools over all terms of a question, and fewer than `_TABLE`: they are scored sooner than chosen from
_LONG = 512  # occurrences of a term: so many are summed up before anybody asks
_ROUNDING = 1 - 1e-9  # sums in another order differ in the last digits: a bound must not be above the sum it bounds


class Index:
    """Which terms are in which tools, and the best tools for a query."""

    def __init__(self) -> None:
        self.terms: dict[str, Postings | int | list[int]] = {}
        """The postings of each term. Most terms are in one tool: a number stands for that one posting, packed. A
        number below zero counts from -1 the places in a file that `stored` reads. A list has all occurrences, in
        order, each packed like a posting."""
        self.stored: Callable[[int], Postings] | None = None
        self.terms_added = 0
        """How many terms were ever put into `terms`."""
        self.lengths: array[int] = array("I")
        """The weighted length of each tool; 0 for numbers no longer in use."""
        self.numbers: list[int] = []
        """The numbers given out so far: what is computed for a term refers to these, which spares it its own."""
        self.count = 0
        self.total = 0
        self.version = 0
        """Changes with every change of the index: what was computed before is stale."""

    @property
    def base(self) -> float:
        """The part of the saturation that every tool has, in units of weight."""
        return WEIGHT_UNIT * _K1 * (1 - _B)

    @property
    def slope(self) -> float:
        """The part of the saturation that grows with the length of a tool."""
        return WEIGHT_UNIT * _K1 * _B * self.count / self.total if self.total else 0.0

    def postings(self, term: str) -> Postings | None:
        """The tools that have a term; None where no tool has it."""
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
        """The number of the first tool that has a term, which some tool has."""
        postings = self.postings(term)
        assert postings is not None
        return postings.packed[0] >> SHIFT

    def tools_with(self, term: str) -> int:
        """How many tools have a term."""
        return len(self.postings(term) or ())

    def has(self, doc: int, term: str) -> bool:
        """Whether a term is in a tool."""
        postings = self._scored(term)
        if postings is None:
            return False
        return postings.weight(doc) > 0 if postings.scores is None else doc in postings.scores

    def _scored(self, term: str) -> Postings | None:
        postings = self.postings(term)
        if postings is not None:
            postings.score(self)
        return postings

    def add(self, fields: Iterable[tuple[int, Sequence[str]]]) -> int:
        """The number of a new tool, given the terms of its fields with their weights; at most `MAX_TERMS` in each."""
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
                if isinstance(known, int) and known >= place:  # the same tool has it again
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
        """Add many tools to an empty index, as `add` would one by one, but several times faster.

        What a term counts in a tool is summed up when the term is first asked for, or now if it has many occurrences:
        the first question for it would wait for milliseconds, and the sums need a fraction of the memory.
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
            term: places[0] if len(places) == 1 else places if len(places) < _LONG else self._counted(places)
            for term, places in occurrences.items()
        }
        self.terms_added = len(self.terms)
        self.count = self.version = len(self.lengths)
        self.numbers = list(range(self.count))
        self.total = sum(self.lengths)

    def _counted(self, places: list[int]) -> Postings:
        postings = Postings(summed(places))
        postings.prepare(self.lengths)
        return postings

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

        Only tools that may be among the best are scored: those that have a rare term, those for which the terms they
        have could add most, and then those for which these could add what the best so far really have.
        """
        lists = sorted(self._lists(query))
        frequent = [(gain * postings.best, postings.docs) for _, _, gain, postings in lists if postings.docs]
        if sum([len(postings.packed) for *_, postings in lists]) <= _DIRECT or not frequent:
            found = _all_scored(lists, limit)
        else:
            bounds = Bounds(frequent)
            highest = bounds.highest(2 * limit)
            rare = [postings.scores or () for *_, postings in lists if not postings.docs]
            found = self._sums(docs_of(highest).union(*rare), lists)
            floor = heapq.nlargest(limit, found.values())[-1] * _ROUNDING if len(found) >= limit else 0.0
            others = bounds.at_least(floor) & ~highest
            if others:
                found |= self._sums(docs_of(others) - found.keys(), lists)
        if len(found) > 4 * limit:
            floor = heapq.nlargest(limit, found.values())[-1]
            found = {doc: score for doc, score in found.items() if score >= floor}
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def _sums(self, docs: set[int], lists: list[tuple[float, str, float, Postings]]) -> dict[int, float]:
        """What the terms of `lists` together add to each of `docs`."""
        found = dict.fromkeys(docs, 0.0)
        base, slope, lengths = self.base, self.slope, self.lengths
        for _, _, gain, postings in lists:
            scores = postings.scores
            if scores is None:
                idf, packed = postings.idf, postings.packed
                last = packed[-1]
                for doc in docs:  # as `weight` does it, but this is where a search in a large catalogue spends its time
                    place = doc << SHIFT
                    if place <= last and (there := packed[bisect_left(packed, place)]) >> SHIFT == doc:
                        weight = there & WEIGHT
                        found[doc] += gain * (idf * weight / (weight + base + slope * lengths[doc]))
            else:
                for doc in docs & scores.keys():
                    found[doc] += gain * scores[doc]
        return found

    def _lists(self, query: Mapping[str, float]) -> Iterator[tuple[float, str, float, Postings]]:
        """For each known term: how little it can add, itself, the query's weight for it, and its postings."""
        for term, gain in query.items():
            postings = self._scored(term)
            if postings is not None:
                yield -gain * postings.idf, term, gain, postings


def _all_scored(lists: list[tuple[float, str, float, Postings]], limit: int) -> dict[int, float]:
    """What the terms of `lists` together add to each tool that may be among the `limit` best.

    Nearly all of it runs in C. Once the terms that remain cannot lift a new tool to the best so far, they only add
    to the tools that are there.
    """
    found: dict[int, float] = {}
    rest = sum([gain * postings.best for _, _, gain, postings in lists])
    closed = False
    for _, _, gain, postings in lists:
        scores = cast("dict[int, float]", postings.scores)
        if not closed and len(found) >= limit and len(scores) > FEW:
            closed = rest < heapq.nlargest(limit, found.values())[-1] * _ROUNDING
        rest -= gain * postings.best
        both = {doc: found[doc] + gain * scores[doc] for doc in found.keys() & scores.keys()}
        if not closed:
            found |= scores if gain == 1.0 else {doc: gain * score for doc, score in scores.items()}
        found |= both
    return found
