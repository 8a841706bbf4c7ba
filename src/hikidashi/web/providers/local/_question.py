"""What a question asks for, in terms of what the index knows: whole words, and compounds by their parts."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...text.words import Term, beginning, run_term

__all__ = ["Asked", "Question", "understood"]

_MOST_WORDS = 12
_LONGEST_PART = 8
# 経費の精算 and 経費を毎月精算 are 経費精算; what stands further apart may be about anything.
_BETWEEN_PARTS = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """One word of a question that the index knows, whole or by its parts."""

    expression: str
    """What finds it whole; empty if no passage has it."""
    loose: str
    """What finds it, or any of its parts."""
    passages: int
    """In how many passages at most."""
    idf: float
    count: Callable[[str], int]
    """How often a text in lower case has it whole."""
    parts: tuple[tuple[str, float], ...] = ()
    """The parts of a compound that stands nowhere as one word, and the share of its letters that each has."""

    def share_of_parts(self, *texts: str) -> float:
        """Which share of the letters the parts have that are in one of `texts`."""
        return sum(share for letters, share in self.parts if any(letters in text for text in texts))


@dataclass(frozen=True, slots=True)
class Question:
    """The words of a question that the index knows, and what they are worth."""

    words: list[Asked]
    """Rarest first."""
    asked: int
    """How many words there were, with those that the index does not know."""
    weight: float
    """The idf of all of them together."""
    average_length: float
    """Of a passage, in letters."""

    @property
    def is_known(self) -> bool:
        """Whether there may be a passage that has every word."""
        return len(self.words) == self.asked and all(word.expression for word in self.words)

    @property
    def has_parts(self) -> bool:
        """Whether a passage can have some of it but not all."""
        return self.asked > 1 or any(word.parts for word in self.words)


def understood(connection: sqlite3.Connection, terms: Sequence[Term]) -> Question:
    """What the index knows of `terms`."""
    passages, letters = connection.execute("SELECT passages, letters FROM total").fetchone()

    def idf(number: int) -> float:
        return math.log(1 + (passages - number + 0.5) / (number + 0.5))

    words: list[Asked] = []
    unknown = 0
    for term in terms:
        number = _count(connection, term.expression)
        if number:
            word = Asked(term.expression, term.expression, number, idf(number), _counting(beginning(term)))
        else:
            word = _compound(connection, term, idf)
        if word is None:
            unknown += 1
        else:
            words.append(word)
    words = sorted(words, key=lambda word: word.passages)[:_MOST_WORDS]
    weight = sum(word.idf for word in words) + unknown * idf(1)  # as if one passage had it
    return Question(words, len(words) + unknown, weight, letters / max(1, passages))


def _compound(connection: sqlite3.Connection, term: Term, idf: Callable[[int], float]) -> Asked | None:
    """A run of letters that no passage has, by the longest words in it that the index knows, from the left.

    What nobody wrote as one word may stand there in parts: 経費精算 as 経費の精算. Parts that are close together
    count as the whole word; each by itself is only a part of it.
    """
    letters, parts, at, passages = term.letters, dict[str, str](), 0, 0
    while term.is_run and at < len(letters) - 1 and len(parts) < _MOST_WORDS:
        for end in range(min(len(letters), at + _LONGEST_PART), at + 1, -1):
            part = run_term(letters[at:end])
            if number := _count(connection, part.expression):
                parts[part.letters.lower()] = part.expression
                at, passages = end, passages + number
                break
        else:
            at += 1
    if not parts:
        return None
    whole, near = "", 0
    if len(parts) > 1 and sum(map(len, parts)) == len(letters):
        whole = f"NEAR({' '.join(parts.values())}, {_BETWEEN_PARTS + 1})"
        near = _count(connection, whole)
    loose = f"({' OR '.join(parts.values())})"
    pattern = re.compile(f".{{0,{_BETWEEN_PARTS}}}?".join(map(re.escape, parts)), re.DOTALL)
    return Asked(
        expression=whole if near else "",
        loose=loose,
        passages=passages,
        idf=idf(max(near, 1)),
        count=lambda text: len(pattern.findall(text)) if near else 0,
        parts=tuple((part, len(part) / len(letters)) for part in parts),
    )


def _counting(letters: str) -> Callable[[str], int]:
    return lambda text: text.count(letters)


def _count(connection: sqlite3.Connection, expression: str) -> int:
    (number,) = connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (expression,)).fetchone()
    return number
