"""Candidates for the ranking: the passages that FTS5 finds, in groups by the most that they can reach."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
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
    """Passages that can have only some words of a query."""

    words: Sequence[QueryWord]
    """The words that they can have."""
    weight: float
    """The sum of their idf."""
    is_last_resort: bool
    """Whether they are results only if there are no others."""
    find: Callable[[], list[int]]


def groups(engine: Engine, question: Query) -> Iterator[Group]:
    """Groups that together have every passage with a word of `question`.

    No word is required: for each word, there are the passages with it and a more frequent one, and those with it alone.
    A word that more than half of all passages have says nothing by itself.
    """
    words = question.words
    for rest in (words[at:] for at in range(len(words) - 1)):
        yield Group(rest, sum(one.idf for one in rest), False, partial(_with_another, engine, rest))
    for word in words:
        if word.passages <= _RARE or 2 * word.passages <= question.passages:
            is_frequent = word.passages > _RARE
            yield Group([word], word.idf, is_frequent, partial(engine.candidates, word.loose))


def _with_another(engine: Engine, words: Sequence[QueryWord]) -> list[int]:
    """Passages with the first of `words` and another; if there are too many, first those that lack only one word."""
    first, *others = (word.loose for word in words)
    both = f"{first} AND ({' OR '.join(others)})"
    found = engine.matching(both)
    if len(found) <= _MOST_CANDIDATES:
        return found
    left_out = (others[:at] + others[at + 1 :] for at in range(len(others)) if len(others) > 1)
    best = {one for kept in left_out for one in engine.candidates(" AND ".join([first, *kept]))}
    return list(best if len(best) >= _ENOUGH else best.union(engine.candidates(both)))
