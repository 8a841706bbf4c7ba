"""Which passages answer a question: the full-text engine finds them, BM25 ranks them, with a score from 0 to 1.

A passage with every word of the question scores 0.5 or more, one with some of them less. Within each half the score
is the share of the highest BM25 that the words could reach together, which grows with how rare they are and how often
they come, in the title above all; passages that lack words lose in proportion. Those that have less than half of the
question, by the weight of its words, are no results: an empty answer is better than a weak one.

Titles and headings count the same for every passage below them, however short it is (BM25F with b = 0 for them), so
that within a document the passage is best that says the most.

The engine's own bm25() reads the list of every word twice; scoring the few candidates here is several times faster.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ...text.words import Term
from ._database import POSITIONS
from ._narrowing import EVERYTHING, Condition
from ._question import Asked, Question, understood

__all__ = ["Ranked", "ranked"]

_EVERY_WORD = 0.5  # the score from which on a passage has all the words of a question
_TITLE, _HEADING = 4, 2  # how often a word there counts
_K1, _B = 1.2, 0.75
_FLOOR = 0.02
# The words a passage has must weigh this much of the whole question, by how rare they are.
_LEAST_WEIGHT = 0.5
# What all the parts of a compound are worth where they do not stand together.
_WORTH_OF_PARTS = 0.5
# A passage much shorter than others gains nothing more by it, and one without text answers nothing.
_SHORT = 0.25
_WORTH_OF_BARE = 0.6
# More candidates than this are ranked by the engine first, and the best of them here.
_MOST_CANDIDATES = 200
_BEST_OF_MANY = 60
_ENOUGH_DOCUMENTS, _BEST_OF_FEW_DOCUMENTS = 20, 1_000
# A word in more passages than this does not make a result by itself.
_RARE = 500
_ENOUGH = 40
_HEADINGS = re.compile(r"\A(?:\s*#{1,6}[ \t].*(?:\n|\Z))+\s*")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage, and how well it answers."""

    passage: int
    score: float
    complete: bool
    """Whether it has every word of the question."""


def ranked(
    connection: sqlite3.Connection, terms: Sequence[Term], condition: Condition = EVERYTHING
) -> Iterator[Ranked]:
    """Passages best first: those with every word, then those with some, which are looked for only if asked for."""
    question = understood(connection, terms)
    if not question.words:
        return
    engine = _Engine(connection, condition)
    complete: list[int] = []
    if question.is_known:
        complete = engine.candidates(" AND ".join(word.expression for word in question.words))
        yield from _scored(connection, question, complete, complete=True)
    if question.has_parts:
        some = _with_some(engine, question.words)
        yield from _scored(connection, question, some - set(complete), complete=False)


def _with_some(engine: _Engine, words: Sequence[Asked]) -> set[int]:
    """Passages with the rarest word and any other, those that lack only the rarest, and those with it alone."""
    rarest, *others = (word.loose for word in words)
    found: set[int] = set()
    if others:
        found.update(engine.matching(f"{rarest} AND ({' OR '.join(others)})"))
        if len(found) > _MOST_CANDIDATES:  # then those that lack only one word
            left_out = (others[:at] + others[at + 1 :] for at in range(len(others)))
            found = {one for kept in left_out for one in engine.candidates(" AND ".join([rarest, *kept]))}
        found.update(engine.candidates(" AND ".join(others)))
    if words[0].passages <= _RARE and len(found) < _ENOUGH:
        found.update(engine.candidates(rarest))
    return found


@dataclass(frozen=True, slots=True)
class _Engine:
    """The full-text engine, restricted to the documents of a condition."""

    connection: sqlite3.Connection
    condition: Condition

    def candidates(self, expression: str) -> list[int]:
        """The passages that match, or the best of them if they are many."""
        found = self.matching(expression)
        if len(found) <= _MOST_CANDIDATES:
            return found
        best = self._best(expression, _BEST_OF_MANY)
        if len({passage // POSITIONS for passage in best}) < _ENOUGH_DOCUMENTS:  # one long document is not all there is
            best = self._best(expression, _BEST_OF_FEW_DOCUMENTS)
        return best

    def matching(self, expression: str) -> list[int]:
        """The passages that match, in no order; one more than `_MOST_CANDIDATES` says that there are too many."""
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
    connection: sqlite3.Connection, question: Question, passages: Collection[int], *, complete: bool
) -> list[Ranked]:
    """`passages` with their scores, best first, without those below the floor."""
    scored: list[Ranked] = []
    for passage, title, heading, body in _texts(connection, passages):
        text = _HEADINGS.sub("", body)  # what the headings say is counted once
        length = 1 - _B + _B * max(len(text) / question.average_length, _SHORT)
        bm25 = present = weight = 0.0
        for word in question.words:
            times = _TITLE * word.count(title) + _HEADING * word.count(heading) + word.count(text) / length
            if not times and complete:  # the engine's stems find forms that the spelling does not show
                times = 1 / length
            share = 1.0
            if not times:
                share = _WORTH_OF_PARTS * word.share_of_parts(title, heading, text)
                times = 1.0
            if share:
                present += share
                weight += share * word.idf
                bm25 += share * word.idf * times * (_K1 + 1) / (times + _K1)
        reached = bm25 / ((_K1 + 1) * question.weight)
        if not text.strip():
            reached *= _WORTH_OF_BARE
        score = (
            _EVERY_WORD + (1 - _EVERY_WORD) * reached if complete else _EVERY_WORD * reached * present / question.asked
        )
        if score >= _FLOOR and weight >= _LEAST_WEIGHT * question.weight:
            scored.append(Ranked(passage, score, complete))
    return sorted(scored, key=lambda one: (-one.score, one.passage))


def _texts(connection: sqlite3.Connection, passages: Collection[int]) -> Iterator[tuple[int, str, str, str]]:
    """Number, title, headings and text of each passage, in lower case, read with one statement."""
    rows = connection.execute(
        "SELECT passage.id, title, heading, about, body FROM passage JOIN document ON document.id = passage.id / ? "
        f"WHERE passage.id IN ({', '.join('?' * len(passages))})",
        (POSITIONS, *passages),
    )
    for passage, title, heading, about, body in rows:
        yield passage, title.lower(), f"{heading}\n{about}".lower(), body.lower()
