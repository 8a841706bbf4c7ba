"""The words of a text, in any language, as a search index holds them.

Letters are folded (width, case, diacritics), names split at `_`, `-`, `.`, case and digits, English words
stemmed. Scripts that put no spaces between words become overlapping pairs of letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from .stem import stem
from .stopwords import FUNCTION, FUNCTION_BIGRAMS, REQUEST

__all__ = ["Analyzer", "fold", "is_request", "name_key", "spelling"]

_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
# Thai, Lao, Tibetan, Myanmar, Khmer: no spaces between words, and vowel signs that `\w` leaves out.
_UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
# Marks that belong to the letter before them: Hebrew, Arabic, the scripts of India.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"
_SPACED = rf"(?:[^\W_{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}{_UNSPACED}]|[{_MARKS}])"

_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*")
_RUN = re.compile(
    rf"(?P<word>{_SPACED}+(?:[-_.]+{_SPACED}+)*)|(?P<han>[{_HAN}]+)|(?P<kata>[{_KATAKANA}]+)|(?P<hira>[{_HIRAGANA}]+)"
    rf"|(?P<hangul>[{_HANGUL}]+)|(?P<unspaced>[{_UNSPACED}]+)"
)
_SEPARATORS = re.compile(r"[-_.]+")
_ASCII_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_REMEMBERED = 200_000  # words; identifiers never end, memory does


class _Folds(dict[int, str]):
    """What each letter becomes; filled as letters are met."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        # Only alphabets whose marks are optional in practice: in Japanese or Hindi a mark makes another letter.
        if code < 0x0900 or 0x1E00 <= code < 0x2000:
            decomposed = unicodedata.normalize("NFD", letter)
            letter = "".join(part for part in decomposed if not unicodedata.combining(part))
        self[code] = folded = letter.casefold()
        return folded


_FOLDS = _Folds()


def fold(text: str) -> str:
    """`text` with width, case and diacritics evened out: `Ｃａｆé` and `CAFE` are both `cafe`."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).translate(_FOLDS)


def name_key(name: str) -> str:
    """What all spellings of a name share: `getUser`, `get-user` and `Get User` are `getuser`."""
    return "".join(letter for letter in fold(name) if letter.isalnum())


class Analyzer(dict[str, tuple[str, ...]]):
    """Texts become index terms; words are remembered, since tools and questions repeat each other's."""

    def terms(self, text: str) -> list[str]:
        """The terms of `text` in order, function words left out."""
        terms: list[str] = []
        if text.isascii():
            for word in _ASCII_WORD.findall(text):
                terms += self[word]
            return terms
        for run in _RUN.finditer(unicodedata.normalize("NFKC", text)):
            kind, letters = run.lastgroup, run.group()
            terms += self[letters] if kind == "word" else _unspaced_terms(kind, letters)
        return terms

    def sources(self, text: str) -> dict[str, str]:
        """The terms of `text` in order, each once, and the piece of text each comes from."""
        found: dict[str, str] = {}
        if text.isascii():
            for word in _ASCII_WORD.findall(text):
                for term in self[word]:
                    found.setdefault(term, word)
            return found
        for run in _RUN.finditer(unicodedata.normalize("NFKC", text)):
            kind, letters = run.lastgroup, run.group()
            if kind == "word":
                for term in self[letters]:
                    found.setdefault(term, letters)
            else:
                for term in _unspaced_terms(kind, letters):
                    found.setdefault(term, term)
        return found

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        self[word] = found = tuple(term for _, term in _word_terms(word))
        return found


def spelling(term: str, source: str) -> str:
    """How `source` spells `term`: in `getMessages`, `messag` is `messages`."""
    return next((piece for piece, known in _word_terms(source) if known == term), term)


def is_request(term: str) -> bool:
    """Whether `term` is how people ask, rather than what for."""
    return term in _REQUEST_STEMS


def _word_terms(word: str) -> list[tuple[str, str]]:
    """The parts of one unbroken piece of text and their terms, and the whole where it has several parts."""
    pieces = [fold(piece) for part in _SEPARATORS.split(word) for piece in _pieces(part)]
    terms = [(piece, stem(piece)) for piece in pieces if piece not in FUNCTION]
    if len(pieces) > 1:
        whole = "".join(pieces)
        terms.append((whole, whole))
    return terms


def _pieces(part: str) -> list[str]:
    """One part of a name, split at case and digits: `parseHTML2` is `parse`, `HTML`, `2`."""
    if not part.isascii():
        return [part]
    pieces = _ASCII_PIECE.findall(part)
    # `mp3`, `s3`, `h264`: a short word with its number means something only as a whole.
    if len(pieces) > 1 and sum(piece.isalpha() and len(piece) > 2 for piece in pieces) == 0:
        return [part]
    return pieces


def _unspaced_terms(kind: str | None, letters: str) -> Iterator[str]:
    if kind == "hira":
        letters = letters.casefold()
        yield from (pair for pair in _grams(letters, 2) if pair not in FUNCTION_BIGRAMS and len(pair) == 2)
    elif kind == "unspaced":
        yield from _grams(letters, 3)
    else:
        yield from _grams(letters, 2)


def _grams(letters: str, size: int) -> Iterator[str]:
    if len(letters) <= size:
        yield letters
    else:
        for at in range(len(letters) - size + 1):
            yield letters[at : at + size]


_REQUEST_STEMS = frozenset(stem(word) for word in REQUEST)
