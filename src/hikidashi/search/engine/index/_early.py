"""`EarlyIndex`: many tools are searched by words before their index is built.

It knows which tools have which token (what stands between two spaces), which takes a fifth of the time that the index
takes. For a question, it finds the tokens that have its terms, so that the document frequencies are known, analyzes the
tools that have the rarest terms, and ranks these as the index would.
"""

from __future__ import annotations

import heapq
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ..entry import Entry
from ..text.analyzer import Analyzer
from ..text.spelling import Speller
from ._fields import weighted_terms
from ._tokens import Tokens, add_places, beginning
from .bm25 import Index
from .postings import SHIFT, Postings, summed
from .vocabulary import Vocabulary

__all__ = ["EarlyIndex"]

_ANALYZED = 100  # tools: measured, with more of them no answer is better
_LOOKED_AT = 3 * _ANALYZED  # of these, the names are compared
_FREQUENT = 2_000  # tools: a term of more of them does not decide which are analyzed
_SAMPLE = 150  # tools whose lengths stand for those of all


class EarlyIndex:
    """Which tools have which token, and the search by them.

    Not thread-safe: call it with the lock of the catalogue held.

    Args:
        entries: The tools, numbered from 0.
        analyzer: The one that the index is built with: what it learns of tokens here need not be computed again.
    """

    def __init__(self, entries: Sequence[Entry], analyzer: Analyzer) -> None:
        self._entries = entries
        self._letters = 0
        tools: dict[str, int | list[int]] = {}
        for number, entry in enumerate(entries):
            text = _text_of(entry)
            self._letters += len(text)
            add_places(tools, set(text.split()), number)
        self._tools = list(tools.values())
        self._tokens = Tokens(list(tools), analyzer)
        self._mean_length = 0.0
        self.vocabulary = _EarlyVocabulary(self, analyzer)
        """The terms of the tools, as far as they are asked for."""

    def __len__(self) -> int:
        return len(self._entries)

    def has(self, term: str) -> bool:
        """Whether some tool has a term."""
        return next(self._tokens.with_term(term), None) is not None

    def tools_with(self, term: str) -> set[int]:
        """The numbers of the tools that have a term."""
        found: set[int] = set()
        for token in self._tokens.with_term(term):
            tools = self._tools[token]
            if isinstance(tools, int):
                found.add(tools)
            else:
                found.update(tools)
        return found

    def stems(self, first: str) -> Iterable[str]:
        """The stems of the words that begin with a letter."""
        return self._tokens.stems(first)

    def index_for(self, weights: Mapping[str, float], named: Sequence[int] = ()) -> Index:
        """An index that ranks for these weighted terms: of the tools that may be among the best, and those of `named`.

        Its document frequencies are those of all tools, and so is its mean length, but for a few percent.
        """
        index = _PartIndex(self.vocabulary)
        index.numbers, index.lengths = list(range(len(self))), array("I", bytes(4 * len(self)))
        index.count = index.version = len(self)
        occurrences: defaultdict[str, list[int]] = defaultdict(list)
        for number in sorted({*self._nearest(weights), *named}):
            for weight, terms in weighted_terms(self._entries[number], self.vocabulary.analyzer):
                index.lengths[number] += weight * len(terms)
                for term in terms:
                    if term in weights:
                        occurrences[term].append(number << SHIFT | weight)
        index.total = round(self._length() * len(self))
        for term, places in occurrences.items():
            index.terms[term] = postings = Postings(summed(places))
            postings.elsewhere = max(0, len(self.vocabulary.tools_with(term)) - len(postings.packed))
        return index

    def _nearest(self, weights: Mapping[str, float]) -> list[int]:
        """The tools that have the most of the terms, by idf; one in the name counts twice."""
        known = self.vocabulary
        gains = sorted(((weight * known.idf(term), term) for term, weight in weights.items()), reverse=True)
        sums: defaultdict[int, float] = defaultdict(float)
        for gain, term in gains:
            tools = known.tools_with(term)
            is_open = len(tools) <= _FREQUENT or len(sums) < _LOOKED_AT
            for number in tools if is_open else sums.keys() & tools:
                sums[number] += gain
        nearest = heapq.nlargest(_LOOKED_AT, sums, key=sums.__getitem__)
        beginnings = [(gain, beginning(term)) for gain, term in gains]
        for number in nearest:
            name = self._entries[number].name.lower()
            sums[number] += sum([gain for gain, letters in beginnings if letters in name])
        return heapq.nlargest(_ANALYZED, nearest, key=sums.__getitem__)

    def _length(self) -> float:
        """The mean length of a tool, estimated from the letters of all and the lengths of some."""
        if not self._mean_length:
            sample = self._entries[:: max(1, len(self) // _SAMPLE)]
            analyzer = self.vocabulary.analyzer
            lengths = sum(weight * len(terms) for one in sample for weight, terms in weighted_terms(one, analyzer))
            letters = sum(len(_text_of(one)) for one in sample)
            self._mean_length = lengths * self._letters / (max(1, letters) * len(self))
        return self._mean_length


class _EarlyVocabulary(Vocabulary):
    """The vocabulary of an `EarlyIndex`; each term is looked up once."""

    def __init__(self, early: EarlyIndex, analyzer: Analyzer) -> None:
        counted = Index()
        counted.count = len(early)
        super().__init__(counted, analyzer)
        self._early = early
        self._known: dict[str, bool] = {}
        self._tools: dict[str, set[int]] = {}
        self._letters: set[str] = set()
        self._near = Speller()

    @property
    def version(self) -> int:
        """That of no index: what is read with this vocabulary is not for the index."""
        return -1

    def __contains__(self, term: str) -> bool:
        if term not in self._known:
            self._known[term] = self._early.has(term)
        return self._known[term]

    def tools_with(self, term: str) -> set[int]:
        """The numbers of the tools that have a term."""
        if term not in self._tools:
            self._tools[term] = self._early.tools_with(term)
        return self._tools[term]

    def idf(self, term: str) -> float:
        """The inverse document frequency of `term`, whether or not some tool has it."""
        return self._index.idf_at(len(self.tools_with(term)))

    def nearest(self, word: str) -> list[str]:
        """The terms that `word` may be a misspelling of."""
        for letter in {*word[:2]} - self._letters:  # the speller looks at no words that begin with others
            self._letters.add(letter)
            self._near.add(self._early.stems(letter))
        return self._near.nearest(word, self)


class _PartIndex(Index):
    """The index of some tools, with the document frequencies of all."""

    def __init__(self, vocabulary: _EarlyVocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def idf(self, term: str) -> float:
        """The inverse document frequency of a term among all tools."""
        return self._vocabulary.idf(term)

    def tools_with(self, term: str) -> int:
        """The document frequency of a term among all tools."""
        return len(self._vocabulary.tools_with(term))


def _text_of(entry: Entry) -> str:
    """Without the descriptions of arguments, which are half of the text and count little."""
    rest = (*entry.aliases, *entry.tags, *entry.argument_names, *entry.argument_values)
    return "\n".join((entry.name, entry.description, *rest))
