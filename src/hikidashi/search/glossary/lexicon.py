"""Words and their English meanings, looked up in running text."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from .inflection import bases, separable

__all__ = ["Found", "Lexicon", "scan", "scan_words"]

_KATAKANA = re.compile("[\u30a0-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_SPACED = re.compile("[^\\W\u0e00-\U0010ffff]")  # letters of scripts with spaces between words: Latin, Greek, Arabic, …
_KO_PARTICLES = frozenset(
    """은 는 이 가 을 를 에 의 도 와 과 로 으로 에서 에게 한테 께 만 까지 부터 이나 나 랑 이랑 하고 처럼 보다 마다
    들 들을 들이 들은 에는 에서는 에도 으로는 로는 이라는 라는 이야 야 입니다 이에요 예요 이랑은 에게서""".split()
)
# Finals that an ending leaves on the last syllable of a stem: 보낸, 보낼, 보냅니다, 보냈어 all have 보내.
_KO_FINALS = (4, 8, 17, 20)
_PARTICLES = frozenset("up down off out over in on away back through along around together".split())
_GAP = 4  # words between a verb and its particle: `hand the old ticket over`
_LINKS = ("", "s", "es", "n", "en", "e", "er")  # between the parts of a German compound
_PART = 4  # letters of the shortest part of a compound
_HEAD = 5  # letters of a last part that may stand for a compound whose first part is not known


@dataclass(frozen=True, slots=True)
class Found:
    """A word of a glossary in a text."""

    word: str
    """As the text has it."""
    english: tuple[str, ...]
    """What it means; empty for a stop word."""
    places: tuple[int, ...] = ()
    """Which words of the text it is, in scripts with spaces."""


class Lexicon:
    """Words of one language and their meanings, with alternatives divided by `|`."""

    def __init__(self, meanings: dict[str, str], language: str = "") -> None:
        self.language = language
        self.meanings = meanings

    def __len__(self) -> int:
        return len(self.meanings)

    def english(self, word: str) -> tuple[str, ...]:
        """What `word` means; empty where it is not known."""
        found = self.meanings.get(word)
        return () if found is None else tuple(part for part in map(str.strip, found.split("|")) if part)

    @cached_property
    def lengths(self) -> dict[str, list[int]]:
        """For each first letter, how long the words are that begin with it, longest first."""
        found: dict[str, list[int]] = {}
        for first, length in sorted(set(zip(map(itemgetter(0), self.meanings), map(len, self.meanings), strict=True))):
            found.setdefault(first, []).insert(0, length)
        return found

    @cached_property
    def phrases(self) -> dict[str, int]:
        """For each first word of phrases, how many words the longest phrase has."""
        phrases = [word for word in self.meanings if " " in word]
        longest = max((phrase.count(" ") + 1 for phrase in phrases), default=0)
        return dict.fromkeys((phrase.partition(" ")[0] for phrase in phrases), longest)

    def meaning_at(self, text: str, at: int, size: int) -> tuple[str, ...]:
        """What the `size` letters from `at` mean; empty where they are no word of this language."""
        word = text[at : at + size]
        found = self.english(word)
        if not found and size > 1 and self.language == "ko":
            found = self.english(_without_final(word))
        return found

    def base_of(self, word: str) -> str | None:
        """The form of `word` that is known."""
        return next((base for base in bases(word, self.language) if base in self.meanings), None)

    def parts_of(self, word: str, *, is_noun: bool = False) -> tuple[str, ...]:
        """The known words that a German compound is made of: `rechnungsversand` is `rechnung` and `versand`.

        The last part of a noun stands for it where the first is not known: `lieblingslied` is a `lied`.
        """
        if self.language != "de" or len(word) < 2 * _PART:
            return ()
        head: tuple[str, ...] = ()
        for at in range(_PART, len(word) - _PART + 1):
            last = self.base_of(word[at:])
            if last is None or " " in last:
                continue
            first = self._first_part(word[:at])
            if first:
                return (*first, last)
            if is_noun and not head and len(word) - at >= _HEAD:
                head = (last,)
        return head

    def _first_part(self, word: str) -> tuple[str, ...]:
        for link in _LINKS:
            part = word.removesuffix(link) if link else word
            if len(part) >= _PART - 1 and part in self.meanings:
                return (part,)
        return self.parts_of(word) if len(word) >= 3 * _PART else ()


def _without_final(word: str) -> str:
    syllable = ord(word[-1]) - 0xAC00
    if not 0 <= syllable < 11_172 or syllable % 28 not in _KO_FINALS:
        return word
    return word[:-1] + chr(0xAC00 + syllable - syllable % 28)


def scan(text: str, lexicons: Sequence[Lexicon], silent: frozenset[str] = frozenset()) -> Iterator[Found]:
    """The words of `lexicons` in folded `text` from left to right; `silent` words without a meaning.

    Of words that start at one place the longest counts. A katakana word starts where a run of katakana does, or
    after another word: ライン is no part of オンライン; a Korean word likewise. In scripts with spaces a word stands alone:
    art is no part of start.
    """
    at = 0
    free = 0
    longest_silent = max(map(len, silent), default=0)
    while at < len(text):
        size, english = _longest(text, at, lexicons, at == free)
        quiet = next((n for n in range(longest_silent, size, -1) if _is_silent(text, at, n, silent, at == free)), 0)
        if quiet:
            size, english = quiet, ()
        if size:
            yield Found(text[at : at + size], english)
            at = free = at + size
        else:
            at += 1


def _is_silent(text: str, at: int, size: int, silent: frozenset[str], free: bool) -> bool:
    """Whether a stop word of `size` letters is at a place; in Korean it ends a word, or is one: 할 is none in 할머니."""
    if text[at : at + size] not in silent:
        return False
    return free and not _joined(text, at, _HANGUL) or size > 1 or not _joined(text, at + size, _HANGUL)


def _longest(text: str, at: int, lexicons: Sequence[Lexicon], free: bool) -> tuple[int, tuple[str, ...]]:
    """The length and the meanings of the longest word that starts at a place."""
    best = 0
    english: tuple[str, ...] = ()
    for lexicon in lexicons:
        for size in lexicon.lengths.get(text[at], ()):
            if size < best:
                break
            found = lexicon.meaning_at(text, at, size)
            if found and _may_stand(text, at, size, free, lexicon.language):
                english = found if size > best else tuple(dict.fromkeys(english + found))
                best = size
                break
    return best, english


def _may_stand(text: str, at: int, size: int, free: bool, language: str) -> bool:
    if not free and _joined(text, at, _KATAKANA):
        return False
    if language == "ko":
        if not free and _joined(text, at, _HANGUL):
            return False
        if size == 1 and _joined(text, at + 1, _HANGUL):
            end = at + 1
            while end < len(text) and _HANGUL.match(text, end):
                end += 1
            return text[at + 1 : end] in _KO_PARTICLES
    return not _joined(text, at, _SPACED) and not _joined(text, at + size, _SPACED)


def _joined(text: str, at: int, letters: re.Pattern[str]) -> bool:
    """Whether there are such letters on both sides of a place."""
    return at > 0 and letters.match(text, at - 1) is not None and letters.match(text, at) is not None


def scan_words(words: Sequence[str], lexicon: Lexicon, capital: Container[int] = ()) -> Iterator[Found]:
    """The words and phrases of `lexicon` among the folded `words` of a text, longest first, whatever their form.

    Args:
        words: The words in plain lower-case letters.
        lexicon: What to look for.
        capital: Which words began with a capital letter.
    """
    used: set[int] = set()
    for at, word in enumerate(words):
        if at in used:
            continue
        found = _phrase(words, at, lexicon) or _split_verb(words, at, lexicon, used)
        if found is None and len(word) > 1:
            found = _word(word, at, lexicon, is_noun=at in capital)
        if found is not None:
            used.update(found.places)
            yield found


def _word(word: str, at: int, lexicon: Lexicon, *, is_noun: bool) -> Found | None:
    base = lexicon.base_of(word)
    parts = (base,) if base is not None else lexicon.parts_of(word, is_noun=is_noun)
    english = tuple(dict.fromkeys(meaning for part in parts for meaning in lexicon.english(part)))
    return Found(word, english, (at,)) if english else None


def _phrase(words: Sequence[str], at: int, lexicon: Lexicon) -> Found | None:
    """The longest phrase that starts at a place; its first or its last word may be inflected."""
    for first in bases(words[at], lexicon.language):
        for size in range(min(lexicon.phrases.get(first, 0), len(words) - at), 1, -1):
            middle = words[at + 1 : at + size - 1]
            for last in bases(words[at + size - 1], lexicon.language):
                english = lexicon.english(" ".join((first, *middle, last)))
                if english:
                    return Found(" ".join(words[at : at + size]), english, tuple(range(at, at + size)))
    return None


def _split_verb(words: Sequence[str], at: int, lexicon: Lexicon, used: set[int]) -> Found | None:
    """A verb whose particle stands apart: `hand it over`, `lade die Datei hoch`."""
    german = lexicon.language == "de"
    if not german and (lexicon.language != "en" or not any(base in lexicon.phrases for base in bases(words[at], "en"))):
        return None
    end = len(words) if german else min(len(words), at + 2 + _GAP)
    for place in range(end - 1, at, -1) if german else range(at + 2, end):
        particle = words[place]
        if place in used or not (separable(particle) if german else particle in _PARTICLES):
            continue
        if german and words[place - 1] == "wieder" and place - 1 > at:
            particle = "wieder" + particle
        for base in bases(words[at], lexicon.language):
            english = lexicon.english(particle + base if german else f"{base} {particle}")
            if english:
                shown = f"{words[at]} {particle}" if place == at + 1 else f"{words[at]} … {particle}"
                return Found(shown, english, (at, place))
    return None
