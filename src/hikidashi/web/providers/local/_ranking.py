"""Ranking of passages: FTS5 finds candidates, BM25F ranks them, with scores from 0 to 1.

A passage with every word of the query scores 0.5 or more, one with some of them less. Within each half the score is the
BM25F score divided by the highest that the words could reach; passages that lack words are reduced in proportion.
Those with less than half of the query by idf are dropped: no result is better than a weak one.

Titles and headings are weighted the same for every passage below them (b = 0), so that within a document the passage
with the most matches wins.

FTS5's own bm25() reads every posting list twice; scoring the few candidates here is several times faster.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ...text.words import Term
from ._conditions import NO_CONDITION, Condition
from ._database import POSITIONS
from ._query import Query, QueryWord, resolved

__all__ = ["Ranked", "ranked"]

_EVERY_WORD = 0.5  # the lowest score of a passage that has all words of the query
_TITLE, _HEADING = 4, 2  # weights of the fields
_K1, _B = 1.2, 0.75
_FLOOR = 0.02
# The words of a passage must have this share of the idf that the best has.
_OF_THE_BEST = 0.5
# Without a whole word, the parts of compounds must have this share of the query's idf.
_LEAST_WEIGHT = 0.5
# Weight of words that follow each other as in the query, that of the sequential dependence model.
_TOGETHER = 0.15
# Weight of all parts of a compound that do not occur together.
_WORTH_OF_PARTS = 0.5
# Lower bound of the length normalization, and the factor for a passage without text.
_SHORT = 0.25
_WORTH_OF_BARE = 0.6
# If there are more candidates, FTS5 preselects the best.
_MOST_CANDIDATES = 200
_BEST_OF_MANY = 60
_ENOUGH_DOCUMENTS, _BEST_OF_FEW_DOCUMENTS = 20, 1_000
# A word in more passages does not give results by itself.
_RARE = 500
_ENOUGH = 40
_HEADINGS = re.compile(r"\A(?:\s*#{1,6}[ \t].*(?:\n|\Z))+\s*")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage and its score."""

    passage: int
    score: float
    complete: bool
    """Whether it has every word of the query."""


def ranked(
    connection: sqlite3.Connection, terms: Sequence[Term], condition: Condition = NO_CONDITION
) -> Iterator[Ranked]:
    """Passages, best first: those with every word, then lazily those with some."""
    question = resolved(connection, terms)
    if not question.words:
        return
    engine = _Engine(connection, condition)
    near: list[int] = []
    complete: list[Ranked] = []
    if question.is_known:
        near = engine.candidates(" AND ".join(word.expression for word in question.words))
        complete = _scored(connection, question, near, complete=True)
        yield from complete
    if question.has_parts:
        some = _with_some(engine, question, complete=bool(complete)).union(near).difference(one.passage for one in complete)
        yield from _scored(connection, question, some, complete=False, found_complete=bool(complete))


def _with_some(engine: _Engine, question: Query, *, complete: bool) -> set[int]:
    """Passages that lack words, but may have enough of the query: no word is required.

    `complete` says whether a passage has every word. Words are taken rarest first, each with those that are more
    frequent, as long as these together can reach the least weight (MaxScore).
    """
    words = question.words
    weights = [word.idf for word in words]
    best = sum(weights) if complete else 0.0
    found: set[int] = set()
    for at, word in enumerate(words):
        if sum(weights[at:]) < _OF_THE_BEST * best:
            break
        if with_another := _with_another(engine, [one.loose for one in words[at:]]):
            found.update(with_another)
            best = max(best, weights[at] + weights[-1])
        if weights[at] >= _OF_THE_BEST * best and _distinguishes(word, question, alone=not found):
            found.update(engine.candidates(word.loose))
            best = max(best, weights[at])
    return found


def _with_another(engine: _Engine, words: Sequence[str]) -> set[int]:
    """Passages with the first of `words` and another; if there are too many, first those that lack only one word."""
    first, *others = words
    if not others:
        return set()
    both = f"{first} AND ({' OR '.join(others)})"
    found = set(engine.matching(both))
    if len(found) > _MOST_CANDIDATES:
        left_out = (others[:at] + others[at + 1 :] for at in range(len(others)) if len(others) > 1)
        found = {one for kept in left_out for one in engine.candidates(" AND ".join([first, *kept]))}
        if len(found) < _ENOUGH:
            found.update(engine.candidates(both))
    return found


def _distinguishes(word: QueryWord, question: Query, *, alone: bool) -> bool:
    """Whether `word` by itself says enough about a passage: it is rare, or there is nothing else to go by."""
    return word.passages <= _RARE or (alone and 2 * word.passages <= question.passages)


@dataclass(frozen=True, slots=True)
class _Engine:
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
        return self._select(
            expression, f" AND rank MATCH 'bm25({_TITLE}.0, {_HEADING}.0, 1.0)'", " ORDER BY rank", limit
        )

    def _select(self, expression: str, rank: str, order: str, limit: int) -> list[int]:
        narrowed = self.condition.of_passage("words.rowid")
        rows = self.connection.execute(
            f"SELECT words.rowid FROM words WHERE words MATCH ?{rank}{narrowed}{order} LIMIT ?",
            (expression, *self.condition.values, limit),
        )
        return [passage for (passage,) in rows]


def _scored(
    connection: sqlite3.Connection, question: Query, passages: Collection[int], *, complete: bool, found_complete: bool = False
) -> list[Ranked]:
    """`passages` with their scores, best first, without those below the minimum.

    If `complete`, passages that have only the parts of a compound are dropped.
    """
    scored: list[tuple[float, Ranked]] = []
    pairs = sum(pair.weight for pair in question.pairs)
    best = question.weight if found_complete else 0.0
    for passage, title, heading, body in _texts(connection, passages):
        text = _HEADINGS.sub("", body)  # headings are counted in their own field
        if complete and not all(word.is_in(title, heading, text) for word in question.words):
            continue
        length = 1 - _B + _B * max(len(text) / question.average_length, _SHORT)
        bm25 = present = weight = 0.0
        whole = False
        for word in question.words:
            times = _TITLE * word.count(title) + _HEADING * word.count(heading) + word.count(text) / length
            if not times and complete:  # FTS5's stemmer also matches forms that are spelled differently
                times = 1 / length
            share = 1.0
            if times:
                whole = True
            else:
                share = _WORTH_OF_PARTS * word.share_of_parts(title, heading, text)
                times = 1.0
            if share:
                present += share
                weight += share * word.idf
                bm25 += share * word.idf * times * (_K1 + 1) / (times + _K1)
        reached = bm25 / ((_K1 + 1) * question.weight)
        if question.pairs:
            together = sum(pair.weight for pair in question.pairs if any(map(pair.is_in, (title, heading, text))))
            reached += _TOGETHER * (together / pairs - reached)
        if not text.strip():
            reached *= _WORTH_OF_BARE
        score = (
            _EVERY_WORD + (1 - _EVERY_WORD) * reached if complete else _EVERY_WORD * reached * present / question.asked
        )
        if whole or weight >= _LEAST_WEIGHT * question.weight:
            best = max(best, weight)
            scored.append((weight, Ranked(passage, score, complete)))
    kept = (one for weight, one in scored if weight >= _OF_THE_BEST * best and one.score >= _FLOOR)
    return sorted(kept, key=lambda one: (-one.score, one.passage))


def _texts(connection: sqlite3.Connection, passages: Collection[int]) -> Iterator[tuple[int, str, str, str]]:
    """Id, title, headings and text of each passage in lower case, in one query."""
    rows = connection.execute(
        "SELECT passage.id, title, heading, about, body FROM passage JOIN document ON document.id = passage.id / ? "
        f"WHERE passage.id IN ({', '.join('?' * len(passages))})",
        (POSITIONS, *passages),
    )
    for passage, title, heading, about, body in rows:
        yield passage, title.lower(), f"{heading}\n{about}".lower(), body.lower()
