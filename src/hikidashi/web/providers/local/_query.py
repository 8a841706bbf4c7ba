"""The words of a query as they occur in the index: whole, or for compounds by their parts."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from ...text.words import HAN, KATAKANA, Term, beginning, run_term

__all__ = ["Query", "QueryWord", "resolved"]

_MOST_WORDS = 12
_LONGEST_PART = 8
# 経費の精算, 経費を毎月精算 and 経費事前精算 match 経費精算.
# Parts in two clauses (確定し、申告) or in a list (確定と申告) do not.
_BETWEEN_PARTS = 4
_JOINED_BY = rf"(?:[のをにがはでへな][^\W_]{{0,{_BETWEEN_PARTS - 1}}}|[{HAN}{KATAKANA}]{{0,{_BETWEEN_PARTS}}})??"

# Between two words: an ending and a stop word or two, or in a script without spaces an ending and a particle.
_BETWEEN_WORDS, _BETWEEN_LETTERS = 12, 4


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One word of a query that occurs in the index, whole or by its parts."""

    expression: str
    """FTS5 expression for the whole word; empty if no passage has it. For a compound, its parts close together."""
    loose: str
    """FTS5 expression for the word or any of its parts."""
    passages: int
    """Upper bound of the number of passages that have it."""
    idf: float
    count: Callable[[str], int]
    """Counts the whole word in a lower-case text."""
    letters: str = ""
    """The letters that `count` counts; empty for a compound."""
    parts: tuple[tuple[str, float], ...] = ()
    """The parts of a compound that does not occur as one word, each with its share of the letters."""

    def is_in(self, *texts: str) -> bool:
        """Whether one of `texts`, which match `expression`, has the whole word."""
        return not self.parts or any(self.count(text) for text in texts)

    def share_of_parts(self, *texts: str) -> float:
        """The total share of the parts that occur in one of `texts`."""
        return sum(share for letters, share in self.parts if any(letters in text for text in texts))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two words that follow each other in a query, stop words aside."""

    first: str
    second: str
    between: int
    """How many letters may stand between them in a text."""
    weight: float

    def is_in(self, text: str) -> bool:
        """Whether the two follow each other in `text`, in the same order."""
        at = text.find(self.first)
        while at >= 0:
            end = at + len(self.first)
            if text.find(self.second, end, end + self.between + len(self.second)) >= 0:
                return True
            at = text.find(self.first, end)
        return False


@dataclass(frozen=True, slots=True)
class Query:
    """The words of a query that occur in the index, with their weights."""

    words: list[QueryWord]
    """Rarest first."""
    asked: int
    """Number of words in the query, including those that do not occur in the index."""
    weight: float
    """The sum of their idf."""
    pairs: list[Pair]
    """The words that follow each other."""
    weight_of_pairs: float
    passages: int
    """Number of passages in the index."""
    average_length: float
    """Of a passage, in letters."""

    def share_of_pairs(self, words: Collection[QueryWord]) -> float:
        """The share of `pairs`, by weight, that a passage with `words` can have."""
        letters = {word.letters for word in words}
        can = (pair.weight for pair in self.pairs if pair.first in letters and pair.second in letters)
        return sum(can) / self.weight_of_pairs

    def share_of_pairs_in(self, letters: Collection[str], *texts: str) -> float:
        """The share of `pairs`, by weight, in one of `texts`, which have the words with `letters`."""
        found = 0.0
        for pair in self.pairs:
            if pair.first in letters and pair.second in letters:
                for text in texts:
                    if pair.is_in(text):
                        found += pair.weight
                        break
        return found / self.weight_of_pairs

    @property
    def is_known(self) -> bool:
        """Whether every word occurs in the index."""
        return len(self.words) == self.asked and all(word.expression for word in self.words)

    @property
    def has_parts(self) -> bool:
        """Whether a passage can match the query in part."""
        return self.asked > 1 or any(word.parts for word in self.words)


def resolved(connection: sqlite3.Connection, terms: Sequence[Term]) -> Query:
    """`terms` looked up in the index."""
    passages, letters = connection.execute("SELECT passages, letters FROM total").fetchone()

    def idf(number: int) -> float:
        return math.log(1 + (passages - number + 0.5) / (number + 0.5))

    words: list[QueryWord] = []
    pairs: list[Pair] = []
    before: QueryWord | None = None
    unknown = 0
    for term in terms:
        number = _count(connection, term.expression)
        if number:
            start = beginning(term)
            word = QueryWord(term.expression, term.expression, number, idf(number), _counting(start), start)
        else:
            word = _compound(connection, term, idf)
        if word is None:
            unknown += 1
        else:
            words.append(word)
            if before and before.letters and word.letters:
                pairs.append(_pair(before, word, is_run=term.is_run))
        before = word
    words = sorted(words, key=lambda word: word.passages)[:_MOST_WORDS]
    # A word that no passage has may be a name or another way to say it: it does not outweigh a known one.
    least = min((word.idf for word in words if word.expression), default=idf(1))
    words = [word if word.expression else replace(word, idf=min(word.idf, least)) for word in words]
    weight = sum(word.idf for word in words) + unknown * least
    return Query(
        words,
        len(words) + unknown,
        weight,
        pairs,
        sum(pair.weight for pair in pairs),
        passages,
        letters / max(1, passages),
    )


def _pair(first: QueryWord, second: QueryWord, *, is_run: bool) -> Pair:
    between = _BETWEEN_LETTERS if is_run else _BETWEEN_WORDS
    return Pair(first.letters, second.letters, between, min(first.idf, second.idf))


def _compound(connection: sqlite3.Connection, term: Term, idf: Callable[[int], float]) -> QueryWord | None:
    """A run of letters that no passage has, split greedily into the longest words that occur in the index.

    A compound may occur in parts: 経費精算 as 経費の精算. Parts that are close together count as the whole word.
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
    pattern = re.compile(_JOINED_BY.join(map(re.escape, parts)))
    return QueryWord(
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
