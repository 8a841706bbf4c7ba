"""Which passages answer a question: the full-text engine finds them, BM25 ranks them, with a score from 0 to 1.

A passage with every word of the question scores 0.5 or more, one with some of them less. Within each half the score
is the share of the highest BM25 that the words could reach together, which grows with how rare they are and how often
they come, in the title above all; passages that lack words lose in proportion. Those that have less than half of the
question, by the weight of its words, are no results: an empty answer is better than a weak one.

The engine's own bm25() reads the list of every word twice; scoring the few candidates here is several times faster.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from .database import POSITIONS
from .words import Term, beginning, run_term

__all__ = ["EVERY_WORD", "Ranked", "best_documents", "best_passages"]

EVERY_WORD = 0.5
"""The score from which on a passage has all the words of a question."""

_TITLE, _HEADING = 4, 2  # how often a word there counts
_K1, _B = 1.2, 0.75
_FLOOR = 0.04
# The words a passage has must weigh this much of the whole question, by how rare they are.
_LEAST_WEIGHT = 0.5
# More candidates than this are ranked by the engine first, and the best of them here.
_MOST_CANDIDATES = 200
_BEST_OF_MANY = 60
# A word in more passages than this does not make a result by itself.
_RARE = 500
_ENOUGH = 40
_MOST_WORDS = 12
_LONGEST_PART = 8


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage, and how well it answers."""

    passage: int
    score: float


@dataclass(frozen=True, slots=True)
class _Word:
    """A word that the index knows, in how many passages it is, and what it is worth."""

    passages: int
    term: Term
    idf: float


@dataclass(frozen=True, slots=True)
class _Question:
    words: list[_Word]
    """Rarest first."""
    asked: int
    """How many words there were, with those that the index does not know."""
    highest: float
    """The BM25 that no passage can exceed."""
    average_length: float


def best_documents(connection: sqlite3.Connection, terms: Sequence[Term], limit: int) -> list[Ranked]:
    """The best passage of each of the best `limit` documents, best first."""
    found: dict[int, Ranked] = {}
    for ranked in _ranked(connection, terms):
        found.setdefault(ranked.passage // POSITIONS, ranked)
        if len(found) == limit:
            break
    return list(found.values())


def best_passages(connection: sqlite3.Connection, terms: Sequence[Term], limit: int) -> list[Ranked]:
    """The best `limit` passages, best first."""
    return list(islice(_ranked(connection, terms), limit))


def _ranked(connection: sqlite3.Connection, terms: Sequence[Term]) -> Iterator[Ranked]:
    """Passages with every word, then those with some, which are looked for only if someone asks so far."""
    question = _understood(connection, terms)
    if not question.words:
        return
    complete: list[int] = []
    if len(question.words) == question.asked:
        complete = _candidates(connection, " AND ".join(word.term.expression for word in question.words))
        yield from _scored(connection, question, complete, complete=True)
    if question.asked > 1:
        some = _with_some(connection, question.words)
        yield from _scored(connection, question, some - set(complete), complete=False)


def _understood(connection: sqlite3.Connection, terms: Sequence[Term]) -> _Question:
    passages, letters = connection.execute("SELECT passages, letters FROM total").fetchone()

    def idf(number: int) -> float:
        return math.log(1 + (passages - number + 0.5) / (number + 0.5))

    words: list[_Word] = []
    unknown = 0
    for term in terms:
        known = {term: number} if (number := _count(connection, term)) else _parts(connection, term)
        words += [_Word(number, part, idf(number)) for part, number in known.items()]
        unknown += not known
    words = sorted(words, key=lambda word: word.passages)[:_MOST_WORDS]
    highest = (_K1 + 1) * (sum(word.idf for word in words) + unknown * idf(1))  # as if one passage had it
    return _Question(words, len(words) + unknown, highest, letters / max(1, passages))


def _parts(connection: sqlite3.Connection, term: Term) -> dict[Term, int]:
    """The longest words, from the left, that the index knows of a run of letters it does not know.

    A compound that nobody wrote as one word may stand there in parts: 経費精算 as 経費の精算.
    """
    letters, parts, at = term.letters, dict[Term, int](), 0
    while term.is_run and at < len(letters) - 1 and len(parts) < _MOST_WORDS:
        for end in range(min(len(letters), at + _LONGEST_PART), at + 1, -1):
            part = run_term(letters[at:end])
            if number := _count(connection, part):
                parts[part] = number
                at = end
                break
        else:
            at += 1
    return parts


def _with_some(connection: sqlite3.Connection, words: Sequence[_Word]) -> set[int]:
    """Passages with the rarest word and any other, those that lack only the rarest, and those with it alone."""
    rarest, *others = (word.term.expression for word in words)
    found: set[int] = set()
    if others:
        found.update(_matching(connection, f"{rarest} AND ({' OR '.join(others)})"))
        if len(found) > _MOST_CANDIDATES:  # then those that lack only one word
            left_out = (others[:at] + others[at + 1 :] for at in range(len(others)))
            found = {one for kept in left_out for one in _candidates(connection, " AND ".join([rarest, *kept]))}
        found.update(_candidates(connection, " AND ".join(others)))
    if words[0].passages <= _RARE and len(found) < _ENOUGH:
        found.update(_candidates(connection, rarest))
    return found


def _candidates(connection: sqlite3.Connection, expression: str) -> list[int]:
    """The passages that match, or the best of them if they are many."""
    found = _matching(connection, expression)
    if len(found) <= _MOST_CANDIDATES:
        return found
    rows = connection.execute(
        f"SELECT rowid FROM words WHERE words MATCH ? AND rank MATCH 'bm25({_TITLE}.0, {_HEADING}.0, 1.0)' "
        "ORDER BY rank LIMIT ?",
        (expression, _BEST_OF_MANY),
    )
    return [passage for (passage,) in rows]


def _matching(connection: sqlite3.Connection, expression: str) -> list[int]:
    """The passages that match, in no order; one more than `_MOST_CANDIDATES` says that there are too many."""
    rows = connection.execute("SELECT rowid FROM words WHERE words MATCH ? LIMIT ?", (expression, _MOST_CANDIDATES + 1))
    return [passage for (passage,) in rows]


def _scored(
    connection: sqlite3.Connection, question: _Question, passages: Collection[int], *, complete: bool
) -> list[Ranked]:
    """`passages` with their scores, best first, without those below the floor."""
    letters = [(beginning(word.term), word.idf) for word in question.words]
    at_least = 1 if complete else 0  # the engine's stems find forms that the spelling does not show
    scored: list[Ranked] = []
    for passage, title, heading, body in _texts(connection, passages):
        length = _K1 * (1 - _B + _B * len(body) / question.average_length)
        bm25, present, weight = 0.0, 0, 0.0
        for word, idf in letters:
            times = _TITLE * title.count(word) + _HEADING * heading.count(word) + body.count(word) or at_least
            if times:
                present += 1
                weight += idf
                bm25 += idf * times * (_K1 + 1) / (times + length)
        share = bm25 / question.highest
        score = EVERY_WORD + (1 - EVERY_WORD) * share if complete else EVERY_WORD * share * present / question.asked
        if score >= _FLOOR and weight * (_K1 + 1) >= _LEAST_WEIGHT * question.highest:
            scored.append(Ranked(passage, score))
    return sorted(scored, key=lambda one: (-one.score, one.passage))


def _texts(connection: sqlite3.Connection, passages: Collection[int]) -> Iterator[tuple[int, str, str, str]]:
    """Number, title, headings and text of each passage, in lower case, read with one statement."""
    rows = connection.execute(
        "SELECT passage.id, title, heading, body FROM passage JOIN document ON document.id = passage.id / ? "
        f"WHERE passage.id IN ({', '.join('?' * len(passages))})",
        (POSITIONS, *passages),
    )
    for passage, title, heading, body in rows:
        yield passage, title.lower(), heading.lower(), body.lower()


def _count(connection: sqlite3.Connection, term: Term) -> int:
    (number,) = connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (term.expression,)).fetchone()
    return number
