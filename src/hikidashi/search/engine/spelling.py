"""Words spelled almost like a known one.

The index has stems, but people misspell whole words: each stem is compared with the endings that English words have.
The first letter is taken to be right, as it nearly always is in real typing errors, or to have changed places with the
second; that leaves a few hundred words to look at, and a set of letters per word, kept as bits, rules out almost all of
those.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable

from .stem import IRREGULAR, stem

__all__ = ["Speller"]

_MIN_LETTERS = 5  # shorter words have too many neighbours, `send`, `sand`, `lend`, unless a letter is missing
_MIN_STEM = 3  # `tabl`, `not` in `note`
_TWO_ERRORS_FROM = 8
_ENDINGS = ("", "e", "s", "y", "ed", "er", "es", "ly", "ate", "ing", "ion", "ment", "ation")
_LONGEST = max(map(len, _ENDINGS)) + 2  # letters that a word may have more than its stem


class Speller:
    """The known words nearest to a misspelled one."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._words: defaultdict[str, list[str]] = defaultdict(list)
        """Words by first letter."""
        self._letters: defaultdict[str, dict[str, int]] = defaultdict(dict)
        """The letters of these words, as far as somebody asked for that first letter."""
        self._counted: defaultdict[str, int] = defaultdict(int)
        """How many of them that was."""
        self.add(IRREGULAR)
        self.add(words)

    def add(self, words: Iterable[str]) -> None:
        """Know more words."""
        by_first = self._words
        for word in words:
            by_first[word[0]].append(word)

    def nearest(self, word: str, known: Container[str]) -> list[str]:
        """Those of `known` at the smallest distance from `word`, if that is one error, or two in a long word."""
        if len(word) < _MIN_LETTERS - 1 or not word.isalpha():
            return []
        found = self._within(word, word[0], known)
        if not found and len(word) >= _MIN_LETTERS and word[0] != word[1]:
            found = self._within(word, word[1], known)
        return sorted(found[min(found)]) if found else []

    def _within(self, word: str, first: str, known: Container[str]) -> dict[int, set[str]]:
        """Those of `known` that begin with `first` and are few errors from `word`, by the number of errors."""
        allowed = 2 if len(word) >= _TWO_ERRORS_FROM else 1
        letters, length = _letters(word), len(word)
        shortest = _MIN_LETTERS if length < _MIN_LETTERS else _MIN_LETTERS - 1
        found: dict[int, set[str]] = {}
        for stemmed, its_letters in self._beginning_with(first).items():
            if (its_letters & ~letters).bit_count() > allowed or not -_LONGEST <= len(stemmed) - length <= allowed:
                continue
            for ending in _ENDINGS:
                form = stemmed + ending
                added = abs(len(form) - length)
                if added > allowed or len(form) < shortest:
                    continue
                if (letters ^ _letters(form)).bit_count() > 2 * allowed - added:  # a replaced letter changes two bits
                    continue
                term = _term(stemmed, form, known)
                if term is not None and (errors := _distance(word, form, allowed)) <= allowed:
                    found.setdefault(errors, set()).add(term)
        return found

    def _beginning_with(self, first: str) -> dict[str, int]:
        """The words that begin so, with their letters."""
        words, letters = self._words.get(first, ()), self._letters[first]
        if self._counted[first] < len(words):
            for word in words[self._counted[first] :]:
                if len(word) >= _MIN_STEM and word.isalpha():
                    letters[word] = _letters(word)
            self._counted[first] = len(words)
        return letters


def _term(word: str, form: str, known: Container[str]) -> str | None:
    """What `known` has for `form`, which is `word` with an ending; None where it has nothing."""
    if form in known:
        return form
    term = IRREGULAR.get(word, word) if form == word else word if form.isascii() and stem(form) == word else None
    return term if term is not None and term in known else None


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
