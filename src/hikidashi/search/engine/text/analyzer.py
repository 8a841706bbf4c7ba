"""The analyzer: text in any language to index terms.

Characters are folded (width, case, diacritics), identifiers split at `_`, `-`, `.`, case and digits, English words
stemmed, stop words dropped. Scripts without spaces between words are indexed as character n-grams.
"""

from __future__ import annotations

import re
import unicodedata
from operator import add

from .stem import stem
from .stopwords import EVERYDAY, FUNCTION, FUNCTION_BIGRAMS, REQUEST, WEAK

__all__ = [
    "Analyzer",
    "fold",
    "is_everyday",
    "is_han",
    "is_inflection",
    "is_request",
    "is_weak",
    "name_key",
    "share_of_word",
    "spelling",
    "visible",
]

_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
# Thai, Lao, Tibetan, Myanmar, Khmer: no spaces between words, and vowel signs that `\w` does not match.
_UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
# Combining marks: Hebrew, Arabic, the scripts of India.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"
_SPACED = rf"(?:[^\W_{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}{_UNSPACED}]|[{_MARKS}])"

# Translation tables for ASCII. This one replaces all but letters, digits and the separators in names by a space.
_SPACES = "".join(letter if letter.isalnum() or letter in "-_." else " " for letter in map(chr, range(128)))
# This one replaces the separators too.
_SEPARATED = "".join(letter if letter.isalnum() else " " for letter in map(chr, range(128)))
# And this one also lowers the case.
_LETTERS = "".join(letter.lower() if letter.isalnum() else " " for letter in map(chr, range(128)))
_ANY = rf"[\w{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}{_UNSPACED}{_MARKS}]+"
_ANY_RUN = re.compile(rf"{_ANY}(?:[-.]+{_ANY})*")
_SCRIPT = re.compile(
    rf"(?P<han>[{_HAN}]+)|(?P<hira>[{_HIRAGANA}]+)|(?P<kata>[{_KATAKANA}]+)|(?P<hangul>[{_HANGUL}]+)"
    rf"|(?P<unspaced>[{_UNSPACED}]+)|(?P<word>{_SPACED}+(?:[-_.]+{_SPACED}+)*)"
)
_INFLECTION = re.compile(f"[{_HIRAGANA}]+")
_HAN_RUN = re.compile(f"[{_HAN}]+")
# Han and punctuation alone, as nearly all Chinese text. Combining marks are not punctuation.
_HAN_ALONE = re.compile(rf"(?:[{_HAN}]|[^\w{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}{_UNSPACED}{_MARKS}])*")
_SEPARATORS = re.compile(r"[-_.]+")
_ASCII_PIECE = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")  # `URLs`, `HTML`, `Page`, `2`
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_MAX_PARTS = 3
# The share of a word that one n-gram is: words have about two Han characters, and three or four katakana bigrams.
# Hiragana is mostly inflection.
_SHARE = {"han": 1 / 2, "hira": 1 / 4, "kata": 1 / 3, "hangul": 1 / 2, "unspaced": 1 / 4}
_REMEMBERED = 200_000  # tokens: bounds the memory


class _Folds(dict[int, str]):
    """A translation table for `fold`, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        # Only alphabets in which people leave diacritics out: in Japanese or Hindi they make another letter.
        if code < 0x0900 or 0x1E00 <= code < 0x2000:
            decomposed = unicodedata.normalize("NFD", letter)
            letter = "".join(part for part in decomposed if not unicodedata.combining(part))
        self[code] = folded = letter.casefold()
        return folded


_FOLDS = _Folds()
# Invisible characters that copied text may have: soft hyphens, zero-width spaces and joiners, direction marks,
# variation selectors, tags, byte order marks.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)


def visible(text: str) -> str:
    """`text` without invisible characters."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def fold(text: str) -> str:
    """`text` with width, case and diacritics normalised: `Ｃａｆé` and `CAFE` are both `cafe`."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", visible(text)).translate(_FOLDS)


def name_key(name: str) -> str:
    """A key for all spellings of a name: `getUser`, `get-user` and `Get User` have `getuser`."""
    if name.isascii():
        return "".join(name.translate(_LETTERS).split())
    return _NOT_ALPHANUMERIC.sub("", fold(name))


class Analyzer(dict[str, str]):
    """Text to index terms, with a cache of the terms of each ASCII token (what stands between two spaces).

    The terms of a token are cached as one string with spaces, which the garbage collector need not traverse.
    """

    def terms(self, text: str) -> list[str]:
        """The terms of `text` in order, without stop words."""
        return " ".join(map(self.__getitem__, visible(text).split())).split()

    def sources(self, text: str) -> dict[str, str]:
        """The distinct terms of `text` in order, and the first token each comes from."""
        found: dict[str, str] = {}
        for run in _runs(text):
            for term in self[run].split():
                found.setdefault(term, run)
        return found

    def __missing__(self, chunk: str) -> str:
        """The terms of a token."""
        if not chunk.isascii():  # not cached: without spaces, a token is a whole clause and seldom repeated
            return " ".join(_terms_of_any(chunk))
        if len(self) >= _REMEMBERED:
            self.clear()
        self[chunk] = found = " ".join(_ascii_terms(chunk))
        return found


def spelling(term: str, source: str) -> str:
    """How `source` spells `term`: in `getMessages`, `messag` is `messages`."""
    words = (part.group() for part in _SCRIPT.finditer(source) if part.lastgroup == "word")
    return next((piece for word in words for piece, known in _word_terms(word) if known == term), term)


def share_of_word(term: str) -> float:
    """The average share of a word that `term` is: 1, or less for n-grams."""
    if term.isascii():
        return 1.0
    script = _SCRIPT.match(term)
    return _SHARE.get(script.lastgroup or "", 1.0) if script else 1.0


def is_weak(term: str) -> bool:
    """Whether `term` is common in any text and any description."""
    return term in _WEAK_STEMS


def is_everyday(term: str) -> bool:
    """Whether `term` is common in everyday language, and neither in names of tools nor as a value."""
    return term in _EVERYDAY_STEMS


def is_han(term: str) -> bool:
    """Whether `term` is in Han characters."""
    return _HAN_RUN.fullmatch(term) is not None


def is_inflection(term: str) -> bool:
    """Whether `term` is in hiragana, which is mostly inflection."""
    return _INFLECTION.fullmatch(term) is not None


def is_request(term: str) -> bool:
    """Whether `term` is a polite phrase rather than a subject: `please`, `want`."""
    return term in _REQUEST_STEMS


def _runs(text: str) -> list[str]:
    """The tokens of `text`, without punctuation."""
    if text.isascii():
        return text.translate(_SPACES).split()  # several times faster than a pattern
    return _ANY_RUN.findall(unicodedata.normalize("NFKC", visible(text)))


def _terms_of_any(chunk: str) -> list[str]:
    """The terms of a token that may mix scripts."""
    chunk = unicodedata.normalize("NFKC", chunk)
    terms: list[str] = []
    if _HAN_ALONE.fullmatch(chunk):
        for letters in _HAN_RUN.findall(chunk):
            terms += _grams(letters, "han")
        return terms
    for part in _SCRIPT.finditer(chunk):
        kind, letters = part.lastgroup, part.group()
        terms += [term for _, term in _word_terms(letters)] if kind == "word" else _grams(letters, kind)
    return terms


def _ascii_terms(chunk: str) -> list[str]:
    """The terms of an ASCII token, with fast paths for plain words and for names of plain words."""
    if chunk.isalpha() and (chunk.islower() or chunk.istitle()):
        word = chunk.lower()
        return [] if word in FUNCTION else [stem(word)]
    terms: list[str] = []
    for word in chunk.translate(_SPACES).split():
        if word.islower():
            pieces = word.translate(_LETTERS).split()
            plain = "".join(pieces).isalpha()
        else:
            pieces = _ASCII_PIECE.findall(word)
            plain = len(min(pieces, key=len, default="")) > 2 and "".join(pieces).isalpha()
            pieces = [piece.lower() for piece in pieces]
        if not plain:  # digits or short pieces, some of which belong together
            terms += [term for _, term in _word_terms(word)]
            continue
        terms += [stem(piece) for piece in pieces if piece not in FUNCTION]
        if 1 < len(pieces) <= _MAX_PARTS:
            terms.append("".join(pieces))
    return terms


def _word_terms(word: str) -> list[tuple[str, str]]:
    """The parts of a word or name and their terms, and the whole if it has two or three parts."""
    if word.isascii():
        if word.isalpha() and (word.islower() or word.istitle()):  # nearly all words
            word = word.lower()
            return [] if word in FUNCTION else [(word, stem(word))]
        pieces = [piece.lower() for part in word.translate(_SEPARATED).split() for piece in _parts(part)]
    else:
        pieces = [folded for part in _SEPARATORS.split(word) if (folded := fold(part))]
    terms = [(piece, stem(piece)) for piece in pieces if piece not in FUNCTION]
    # `GitHub`, `e-mail`, `read_only` are words of their own; a longer name is not, and is found by its parts.
    if 1 < len(pieces) <= _MAX_PARTS:
        whole = "".join(pieces)
        terms.append((whole, whole))
    return terms


def _parts(part: str) -> list[str]:
    """A part of a name split at case and digits, unless all pieces are short: `mp3`, `iOS`."""
    pieces = _ASCII_PIECE.findall(part)
    if len(pieces) > 1 and all(len(piece) < 3 or piece.isdigit() for piece in pieces):
        return [part]
    return pieces


def _grams(letters: str, kind: str | None) -> list[str]:
    """Character bigrams, trigrams for scripts that write syllables with several characters; or a lone character."""
    if kind == "unspaced":
        return list(map("".join, zip(letters, letters[1:], letters[2:], strict=False))) or [letters]
    if kind == "hira":
        return [pair for pair in map(add, letters, letters[1:]) if pair not in FUNCTION_BIGRAMS]
    return list(map(add, letters, letters[1:])) or [letters]


_REQUEST_STEMS = frozenset(stem(word) for word in REQUEST)
_EVERYDAY_STEMS = frozenset(stem(word) for word in EVERYDAY)
_WEAK_STEMS = frozenset(stem(word) for word in WEAK)
