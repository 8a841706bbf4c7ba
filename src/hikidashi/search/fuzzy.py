"""Words spelled almost like a known one.

The first letter is taken to be right, as it nearly always is in real typing errors; that leaves a few
hundred words to look at, and a set of letters per word, kept as bits, rules out almost all of those.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from .stem import stem
from .variants import SAME

__all__ = ["Speller"]

_MIN_LETTERS = 5  # shorter words have too many neighbours: `send`, `sand`, `lend`
_TWO_ERRORS_FROM = 8
_NONE: dict[str, int] = {}
_TERMS = {form: stem(form) for form in SAME}  # the index has `mail` for `email`, but people misspell what they say


class Speller:
    """The known words nearest to a misspelled one."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._buckets: dict[tuple[str, int], dict[str, int]] = {}
        self.add(_TERMS)
        self.add(words)

    def add(self, words: Iterable[str]) -> None:
        """Know more words."""
        for word in words:
            if len(word) >= _MIN_LETTERS - 1 and word.isalpha():
                self._buckets.setdefault((word[0], len(word)), {})[word] = _letters(word)

    def nearest(self, word: str, known: Container[str]) -> list[str]:
        """Those of `known` at the smallest distance from `word`, if that is one error, or two in a long word."""
        if len(word) < _MIN_LETTERS or not word.isalpha():
            return []
        found = self._within(word, known, 2 if len(word) >= _TWO_ERRORS_FROM else 1)
        if not found and len(short := stem(word)) == _MIN_LETTERS - 1:  # `tbale` is `tabl`, as the index has `table`
            found = self._within(short, known, 1)
        return sorted(found[min(found)]) if found else []

    def _within(self, word: str, known: Container[str], allowed: int) -> dict[int, set[str]]:
        """Those of `known` at most `allowed` errors from `word`, by their number."""
        letters = _letters(word)
        found: dict[int, set[str]] = {}
        for length in range(len(word) - allowed, len(word) + allowed + 1):
            changes = 2 * allowed - abs(length - len(word))  # a replaced letter changes two bits, a missing one one
            bucket = self._buckets.get((word[0], length), _NONE)
            alike = [other for other, its_letters in bucket.items() if (letters ^ its_letters).bit_count() <= changes]
            for other in alike:
                term = other if other in known else _TERMS.get(other, other)
                if term in known and (errors := _distance(word, other, allowed)) <= allowed:
                    found.setdefault(errors, set()).add(term)
        return found


def _letters(word: str) -> int:
    """One bit for each letter that occurs, another for each that occurs again."""
    bits = 0
    for letter in word:
        bit = 1 << (ord(letter) & 31)
        bits |= bit << 32 if bits & bit else bit
    return bits


def _distance(left: str, right: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two words; more than `most` as `most + 1`."""
    before: list[int] = []
    last = list(range(len(right) + 1))
    for row, letter in enumerate(left, 1):
        line = [row]
        for column, other in enumerate(right, 1):
            cost = last[column - 1]
            if letter != other:
                cost = 1 + min(cost, last[column], line[-1])
                if row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other:
                    cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        if min(line) > most and min(last) >= most:
            return most + 1
        before, last = last, line
    return last[-1]
