"""Spelling correction: the known terms within a small edit distance of a word.

The index has stems, but people misspell whole words: each stem is tried with common English suffixes. The first letter
is assumed to be right, as it nearly always is, or transposed with the second. That leaves a few hundred candidates,
most of which a bitset of their letters rules out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable

from .analyzer import IRREGULAR, stem

# Shorter words have too many neighbours (`send`, `sand`, `lend`), unless a letter is missing or two are swapped.
_MIN_LETTERS = 5
_MIN_STEM = 3  # `tabl`, `not` in `note`
_TWO_ERRORS_FROM = 8
_SUFFIXES = ("", "e", "s", "y", "ed", "er", "es", "ly", "ate", "ing", "ion", "ment", "ation")
_LONGEST = max(map(len, _SUFFIXES)) + 2  # the most letters that a misspelled word has more than the stem


class Speller:
    """Finds the known terms nearest to a misspelled word."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._words: defaultdict[str, list[str]] = defaultdict(list)
        """Words by first letter."""
        self._letters: defaultdict[str, dict[str, int]] = defaultdict(dict)
        """The bitset of letters of each word, computed per first letter when first needed."""
        self._counted: defaultdict[str, int] = defaultdict(int)
        """How many words of each first letter have a bitset."""
        self.add(IRREGULAR)
        self.add(words)

    def add(self, words: Iterable[str]) -> None:
        """Add words to the candidates."""
        by_first = self._words
        for word in words:
            by_first[word[0]].append(word)

    def nearest(self, word: str, known: Container[str]) -> list[str]:
        """Those of `known` at the smallest edit distance from `word`, which is at most 1, or 2 for a long word."""
        if len(word) < _MIN_LETTERS - 1 or not word.isalpha():
            return []
        if len(word) < _MIN_LETTERS and (swapped := _swapped(word, known)):
            return swapped
        found = self._within(word, word[0], known)
        if not found and len(word) >= _MIN_LETTERS and word[0] != word[1]:
            found = self._within(word, word[1], known)
        return sorted(found[min(found)]) if found else []

    def _within(self, word: str, first: str, known: Container[str]) -> dict[int, set[str]]:
        """Those of `known` that begin with `first` and are near `word`, by edit distance."""
        allowed = 2 if len(word) >= _TWO_ERRORS_FROM else 1
        letters, length = _letters(word), len(word)
        shortest = _MIN_LETTERS if length < _MIN_LETTERS else _MIN_LETTERS - 1
        found: dict[int, set[str]] = {}
        for stemmed, its_letters in self._beginning_with(first).items():
            if (its_letters & ~letters).bit_count() > allowed or not -_LONGEST <= len(stemmed) - length <= allowed:
                continue
            missing = length - len(stemmed)
            for suffix, size, suffix_letters in _SUFFIX_LETTERS:
                added = abs(missing - size)
                if added > allowed or len(stemmed) + size < shortest:
                    continue
                both = its_letters | suffix_letters | (its_letters & suffix_letters & _ONCE) << 32
                if (letters ^ both).bit_count() > 2 * allowed - added:  # a substitution changes two bits
                    continue
                form = stemmed + suffix
                term = _term(stemmed, form, known)
                if term is not None and (errors := _distance(word, form, allowed)) <= allowed:
                    found.setdefault(errors, set()).add(term)
        return found

    def _beginning_with(self, first: str) -> dict[str, int]:
        """The words that begin with `first`, and their bitsets of letters."""
        words, letters = self._words.get(first, ()), self._letters[first]
        if self._counted[first] < len(words):
            for word in words[self._counted[first] :]:
                if len(word) >= _MIN_STEM and word.isalpha():
                    letters[word] = _letters(word)
            self._counted[first] = len(words)
        return letters


def form_of(term: str, word: str) -> str:
    """The form of a stem that `word` is nearest to: of `invoic`, `invoice` for `invoce`."""
    forms = [form for suffix in _SUFFIXES if (form := term + suffix) == term or stem(form) == term]
    return min(forms, key=lambda form: (_distance(word, form, len(word)), len(form)))


def _swapped(word: str, known: Container[str]) -> list[str]:
    """Those of `known` that `word` is with two neighbouring letters swapped: `send` for `sned`."""
    forms = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)]
    terms = [term for form in forms if form != word for term in (form, stem(form)) if term in known]
    return list(dict.fromkeys(terms))


def _term(word: str, form: str, known: Container[str]) -> str | None:
    """The term of `form`, which is `word` with a suffix, if `known` has it."""
    if form in known:
        return form
    term = IRREGULAR.get(word, word) if form == word else word if form.isascii() and stem(form) == word else None
    return term if term is not None and term in known else None


def _letters(word: str) -> int:
    """A bitset: one bit for each letter that occurs, another for each that is repeated."""
    bits = 0
    for letter in word:
        bit = 1 << (ord(letter) & 31)
        bits |= bit << 32 if bits & bit else bit
    return bits


def _distance(left: str, right: str, most: int) -> int:
    """The edit distance with transpositions (optimal string alignment), cut off at `most + 1`."""
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


_ONCE = (1 << 32) - 1  # the bits of letters that occur, without those of repeated ones
_SUFFIX_LETTERS = [(suffix, len(suffix), _letters(suffix)) for suffix in _SUFFIXES]
