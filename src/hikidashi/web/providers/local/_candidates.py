"""Candidates for the ranking: the passages that FTS5 finds, in groups by the most that they can reach."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from ._conditions import Condition
from ._database import POSITIONS
from ._query import Query, QueryWord

__all__ = ["HEADING", "TITLE", "Engine", "Group", "groups"]

TITLE, HEADING = 4, 2
"""Weights of the fields."""

# If there are more candidates, FTS5 preselects the best.
_MOST_CANDIDATES = 200
_BEST_OF_MANY = 60
_ENOUGH = 40
_ENOUGH_DOCUMENTS, _BEST_OF_FEW_DOCUMENTS = 20, 1_000
# A word in more passages gives results by itself only if there are no others.
_RARE = 500


@dataclass(frozen=True, slots=True)
class Engine:
    """FTS5, restricted to the documents of a condition."""

    connection: sqlite3.Connection
    condition: Condition

    def candidates(self, expression: str) -> list[int]:
        """The passages that match, or the best if there are many."""
        found = self.matching(expression)
        if len(found) <= _MOST_CANDIDATES:
            return found
        best = self._best(expression, _BEST_OF_MANY)
        if len({passage // POSITIONS for passage in best}) < _ENOUGH_DOCUMENTS:  # all of one long document
            best = self._best(expression, _BEST_OF_FEW_DOCUMENTS)
        return best

    def matching(self, expression: str) -> list[int]:
        """The passages that match, unordered; more than `_MOST_CANDIDATES` means that there are too many."""
        return self._select(expression, "", "", _MOST_CANDIDATES + 1)

    def _best(self, expression: str, limit: int) -> list[int]:
        return self._select(expression, f" AND rank MATCH 'bm25({TITLE}.0, {HEADING}.0, 1.0)'", " ORDER BY rank", limit)

    def _select(self, expression: str, rank: str, order: str, limit: int) -> list[int]:
        narrowed = self.condition.of_passage("words.rowid")
        rows = self.connection.execute(
            f"SELECT words.rowid FROM words WHERE words MATCH ?{rank}{narrowed}{order} LIMIT ?",
            (expression, *self.condition.values, limit),
        )
        return [passage for (passage,) in rows]


@dataclass(frozen=True, slots=True)
class Group:
    """Passages that lack words of a query, by the words that they can have."""

    words: Sequence[QueryWord]
    passages: Collection[int] = ()
    search: Callable[[], list[Group]] | None = None
    """Finds the passages, in smaller groups; None if `passages` has them."""
    is_last_resort: bool = False
    """Whether they are results only if there are no others."""

    @property
    def weight(self) -> float:
        """The sum of the idf of the words."""
        return sum(word.idf for word in self.words)


def groups(engine: Engine, question: Query) -> list[Group]:
    """Groups that together have every passage with a word of `question`: no word is required.

    For each word there are the passages with it and a more frequent one, and those with it alone. A word that more than
    half of all passages have says nothing by itself.
    """
    words = question.words
    together = [Group(rest, search=partial(_with_another, engine, rest)) for rest in _ends(words)]
    alone = [
        Group([word], search=partial(_with, engine, word), is_last_resort=word.passages > _RARE)
        for word in words
        if word.passages <= _RARE or 2 * word.passages <= question.passages
    ]
    return together + alone


def _ends(words: Sequence[QueryWord]) -> list[Sequence[QueryWord]]:
    """`words` from each of them on, as long as there are two."""
    return [words[at:] for at in range(len(words) - 1)]


def _with(engine: Engine, word: QueryWord) -> list[Group]:
    return [Group([word], engine.candidates(word.loose))]


def _with_another(engine: Engine, words: Sequence[QueryWord]) -> list[Group]:
    """Passages with the first of `words` and another, by the words that they have."""
    first, *others = words
    had: dict[int, int] = {}  # a bit for each of the others
    for at, other in enumerate(others):
        found = engine.matching(f"{first.loose} AND {other.loose}")
        if len(found) > _MOST_CANDIDATES:
            return [Group(words, _best_with_another(engine, words))]
        for passage in found:
            had[passage] = had.get(passage, 0) | 1 << at
    by_words: dict[int, list[int]] = {}
    for passage, bits in had.items():
        by_words.setdefault(bits, []).append(passage)
    return [
        Group([first, *(other for at, other in enumerate(others) if bits >> at & 1)], passages)
        for bits, passages in by_words.items()
    ]


def _best_with_another(engine: Engine, words: Sequence[QueryWord]) -> set[int]:
    """The best of many: those that lack only one word, or if there are few of these, those that FTS5 prefers."""
    first, *others = (word.loose for word in words)
    left_out = (others[:at] + others[at + 1 :] for at in range(len(others)) if len(others) > 1)
    best = {one for kept in left_out for one in engine.candidates(" AND ".join([first, *kept]))}
    if len(best) < _ENOUGH:
        best.update(engine.candidates(f"{first} AND ({' OR '.join(others)})"))
    return best
