"""A glossary of one language in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from ._inflection import bases

__all__ = ["Found", "Lexicon"]

# Final consonants that endings add to the last syllable of a stem: 보낸, 보낼, 보냅니다, 보냈어 all have 보내.
_KO_FINALS = (4, 8, 17, 20)
_LINKS = ("", "s", "es", "n", "en", "e", "er")  # linking elements of German compounds
_PART = 4  # letters of the shortest part of a compound
_HEAD = 4  # letters of the shortest head that may stand for a compound with an unknown first part


@dataclass(frozen=True, slots=True)
class Found:
    """A match of a glossary word in a text."""

    word: str
    """The word as it is in the text."""
    english: tuple[str, ...]
    """Its translations or synonyms; empty for a stop word."""
    places: tuple[int, ...] = ()
    """The positions of its words in the text, for scripts with spaces."""


class Lexicon:
    """Words of one language and their English meanings, with alternatives divided by `|`."""

    def __init__(self, meanings: dict[str, str], language: str = "") -> None:
        self.language = language
        self.meanings = meanings

    def __len__(self) -> int:
        return len(self.meanings)

    def english(self, word: str) -> tuple[str, ...]:
        """The meanings of `word`; empty if it is unknown."""
        found = self.meanings.get(word)
        return () if found is None else tuple(part for part in map(str.strip, found.split("|")) if part)

    @cached_property
    def lengths(self) -> dict[str, list[int]]:
        """The lengths of the words by first letter, longest first."""
        found: dict[str, list[int]] = {}
        for first, length in sorted(set(zip(map(itemgetter(0), self.meanings), map(len, self.meanings), strict=True))):
            found.setdefault(first, []).insert(0, length)
        return found

    @cached_property
    def phrases(self) -> dict[str, int]:
        """For each first word of a phrase, the number of words in the longest phrase."""
        phrases = [word for word in self.meanings if " " in word]
        longest = max((phrase.count(" ") + 1 for phrase in phrases), default=0)
        return dict.fromkeys((phrase.partition(" ")[0] for phrase in phrases), longest)

    def meaning_at(self, text: str, at: int, size: int) -> tuple[str, ...]:
        """The meanings of the `size` letters from `at`; empty if they are no word of this language."""
        word = text[at : at + size]
        found = self.english(word)
        if not found and size > 1 and self.language == "ko":
            found = self.english(_without_final(word))
        return found

    def base_of(self, word: str) -> str | None:
        """The base form of `word` that is known; None if there is none."""
        return next((base for base in bases(word, self.language) if base in self.meanings), None)

    def parts_of(self, word: str, *, is_noun: bool = False) -> tuple[str, ...]:
        """The known parts of a German compound: `rechnungsversand` is `rechnung` and `versand`.

        If the first part of a noun is unknown, its head alone: `lieblingslied` is a `lied`.
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
