"""The index of a catalogue: BM25F over an inverted index that is updated in place.

The frequency of a term in a tool is the sum of its occurrences over the fields, weighted by field, saturated by `k1`
and normalised for length by `b`. The score of a tool is the sum over the distinct terms of the query, each times its
idf. Weights and lengths are integers, so that sums do not depend on the order of updates: an updated index gives
exactly the scores of a new one.

The index of many tools is built in a thread. It touches nothing but entries, which never change, and what it builds; it
takes no lock. Who needs the index waits for it, without a lock, and builds it if the thread has not: it failed, it is
in the process that this one was forked from, or the interpreter is about to end.
"""

from __future__ import annotations

import heapq
import os
import sys
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import log
from threading import Event, Thread, current_thread
from weakref import WeakSet, ref

from .analyzer import Analyzer
from .entry import Entry
from .spelling import Speller

_LARGE = 500  # tools: they take some 25 ms, the longest that a caller should wait for what it may not need at once


class LexicalIndex:
    """The terms of a catalogue's tools.

    Not thread-safe: call `wait`, then use it with the lock of the catalogue held. Only `version` needs neither.

    Args:
        entries: The tools, numbered from 0.
        version: The version that the index begins with; by default the number of tools.
        in_thread: Whether the index of many tools is built in a thread.
    """

    def __init__(self, entries: Sequence[Entry] = (), *, version: int | None = None, in_thread: bool = True) -> None:
        self._analyzer = Analyzer()
        self._version = len(entries) if version is None else version
        self._entries = entries
        self._built: tuple[Index, Vocabulary] | None = None
        self._build: _Build | None = None
        if in_thread and len(entries) >= _LARGE:
            self._build = _Build.started(self, entries, self._analyzer)
        if self._build is None:
            self._lexicon()

    @classmethod
    def of(cls, index: Index) -> LexicalIndex:
        """With an index that was read from a file."""
        this = cls()
        this._built = index, Vocabulary(index, this._analyzer)
        return this

    @property
    def version(self) -> int:
        """Changes with every update; known before the index is built."""
        return self._version if self._built is None else self._built[0].version

    @property
    def index(self) -> Index:
        """The index."""
        return self._lexicon()[0]

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the index."""
        return self._lexicon()[1]

    @property
    def analyzer(self) -> Analyzer:
        """Turns texts into terms; needs no index."""
        return self._analyzer

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the thread has ended; False if it has not after `timeout` seconds."""
        build = self._build  # another thread may take it meanwhile
        return build is None or build.wait(timeout)

    def terms(self, entry: Entry) -> Iterator[tuple[int, list[str]]]:
        """The weight and the terms of each field of a tool."""
        return weighted_terms(entry, self.analyzer)

    def renumbered(self, entries: Sequence[Entry]) -> LexicalIndex:
        """A new index of the same tools under other numbers: scores and snapshots of this one are stale."""
        return LexicalIndex(entries, version=self.version + 1, in_thread=False)

    def _lexicon(self) -> tuple[Index, Vocabulary]:
        if self._built is None:
            self.wait()
            index = None if self._build is None else self._build.index
            if index is None:
                index = _index_of(self._entries, self._analyzer)
            index.version = self._version
            self._built = index, Vocabulary(index, self._analyzer)
            self._entries, self._build = (), None
        return self._built


class _Build:
    """An index that a daemon thread builds; it stops when the `owner` is gone."""

    def __init__(self, owner: LexicalIndex, entries: Sequence[Entry], analyzer: Analyzer) -> None:
        self.index: Index | None = None
        """The index; None until it is built."""
        self._ended = Event()
        self._process = os.getpid()
        wanted = self._wanted(ref(owner), entries)
        self._thread = Thread(target=self._run, args=(wanted, analyzer), name="hikidashi-index", daemon=True)

    @classmethod
    def started(cls, owner: LexicalIndex, entries: Sequence[Entry], analyzer: Analyzer) -> _Build | None:
        """The build of the index of `entries`; None if no thread can be started."""
        build = cls(owner, entries, analyzer)
        try:
            build._thread.start()
        except RuntimeError:  # the interpreter is about to end, or the system has no threads, or no more of them
            return None
        _running.add(build)
        return build

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the thread has ended; True at once if it does not run any more, or is the one that asks."""
        is_lost = self._process != os.getpid() or sys.is_finalizing()
        return is_lost or self._thread is current_thread() or self._ended.wait(timeout)

    def _wanted(self, owner: ref[LexicalIndex], entries: Sequence[Entry]) -> Iterator[Entry]:
        for entry in entries:
            if owner() is None:
                return
            yield entry

    def _run(self, entries: Iterable[Entry], analyzer: Analyzer) -> None:
        try:
            self.index = _index_of(entries, analyzer)
        except BaseException:  # who needs the index builds it again, and raises the error there
            self.index = None
        finally:
            _running.discard(self)
            self._ended.set()


def _index_of(entries: Iterable[Entry], analyzer: Analyzer) -> Index:
    index = Index()
    index.extend(weighted_terms(entry, analyzer) for entry in entries)
    return index


_running: WeakSet[_Build] = WeakSet()


def _wait_for_all() -> None:
    """Wait for all threads: processes forked now, such as the workers of a server, need not build the index again."""
    for build in list(_running):
        build.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_all)


WEIGHT_UNIT = 20
"""The weight of a description: weights are whole numbers, so that sums of them are exact in any order."""
FIELD_WEIGHTS: Mapping[str, int] = {
    # A name is short and specific: 2.5 times a description. Arguments show what a tool needs rather than what it
    # does: .7; their descriptions are long and full of examples: .35.
    "name": 50,
    "aliases": 50,
    "description": 20,
    "tags": 20,
    "argument_names": 14,
    "argument_descriptions": 7,
    "argument_values": 14,
}
_NAMED = FIELD_WEIGHTS["name"]
MAX_TERMS = 10_000
"""The most terms that are indexed of one field: the summed weight of a term must fit into a posting."""


def weighted_terms(entry: Entry, analyzer: Analyzer) -> Iterator[tuple[int, list[str]]]:
    """The weight and the terms of each field that is not empty."""
    terms = analyzer.terms
    for name, texts in entry.texts():
        if texts:
            yield FIELD_WEIGHTS[name], terms(texts[0] if len(texts) == 1 else "\n".join(texts))[:MAX_TERMS]


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

    @property
    def saturation(self) -> float:
        """The factor of idf in the score of a term that stands in the name of a tool of average length."""
        return _NAMED / (_NAMED + WEIGHT_UNIT * _K1)

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


_REMEMBERED = 10_000  # misspelled words: people repeat theirs


class Vocabulary:
    """The terms that the tools of an index have; it follows the index as that changes."""

    def __init__(self, index: Index, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        """Turns texts into terms."""
        self._index = index
        self._speller: Speller | None = None
        self._spelled = 0
        self._nearest: dict[str, list[str]] = {}
        self._version = -1

    @property
    def version(self) -> int:
        """The version of the index."""
        return self._index.version

    def __contains__(self, term: str) -> bool:
        """Whether some tool has `term`."""
        return term in self._index.terms

    def idf(self, term: str) -> float:
        """The inverse document frequency of `term`, whether or not some tool has it."""
        return self._index.idf(term)

    def nearest(self, word: str) -> list[str]:
        """The terms that `word` may be a misspelling of."""
        index = self._index
        if self._version != index.version or len(self._nearest) >= _REMEMBERED:
            self._nearest, self._version = {}, index.version
        if word not in self._nearest:
            self._nearest[word] = self._updated_speller().nearest(word, index.terms)
        return self._nearest[word]

    def _updated_speller(self) -> Speller:
        """The speller with the terms that were added since the last call."""
        index = self._index
        if self._speller is None:  # made for the first misspelled word: most questions have none
            self._speller = Speller()
        # A dict keeps its order, so that new terms are the last ones. Where terms were removed since, these are some
        # more than the new ones, which does no harm.
        self._speller.add(islice(reversed(index.terms), index.terms_added - self._spelled))
        self._spelled = index.terms_added
        return self._speller
