"""The vocabulary of an index: its terms, their inverse document frequency, and the nearest to a misspelled word."""

from __future__ import annotations

from itertools import islice

from ..text.analyzer import Analyzer
from ..text.spelling import Speller
from .bm25 import Index

__all__ = ["Vocabulary"]

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
