"""Glossary words and phrases among the words of a text, whatever their form: English, German, Spanish, French."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from .inflection import bases, separable
from .lexicon import Found, Lexicon

__all__ = ["scan_words"]

_ADVERBS = "up down off out over in on away back through along around together"
_PARTICLES = frozenset(_ADVERBS.split())
_GAP = 4  # words between a verb and its particle: `hand the old ticket over`


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
