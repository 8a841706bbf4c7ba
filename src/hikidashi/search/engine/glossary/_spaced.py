"""Glossary words and phrases in English, German, Spanish and French text, in any inflected form."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from ._inflection import bases, separable
from ._lexicon import Found, Lexicon

__all__ = ["scan_single_words", "scan_words"]

_ADVERBS = "up down off out over in on away back through along around together"
_PARTICLES = frozenset(_ADVERBS.split())
# Separable prefixes that are prepositions too, and words that follow a prefix but not a preposition.
_ALSO_PREPOSITIONS = "ab an auf aus bei durch mit nach uber um unter vor zu"
_PREPOSITIONS = frozenset(_ALSO_PREPOSITIONS.split())
_NEXT = """
    aber am bevor bitte damit danach dann dass denn falls fur heute im in jetzt mal morgen oder sobald sofort sowie und
    weil wenn zum zur
"""
_AFTER_PREFIX = _PREPOSITIONS | frozenset(_NEXT.split())
_GAP = 4  # words between a verb and its particle: `hand the old ticket over`


def scan_words(words: Sequence[str], lexicon: Lexicon, capital: Container[int] = ()) -> Iterator[Found]:
    """The words and phrases of `lexicon` in a text, in any inflected form; the longest phrase wins.

    Args:
        words: The words in plain lower-case letters.
        lexicon: The glossary.
        capital: The positions of capitalised words.
    """
    used: set[int] = set()
    for at, word in enumerate(words):
        if at in used:
            continue
        found = _phrase(words, at, lexicon, used)
        if found is None and len(word) > 1:
            found = _word(word, at, lexicon, is_noun=at in capital)
        if found is not None:
            used.update(found.places)
            yield found


def scan_single_words(words: Sequence[str], lexicon: Lexicon, places: Iterable[int]) -> Iterator[Found]:
    """The words at `places` that `lexicon` has in some inflected form."""
    for at in places:
        found = _word(words[at], at, lexicon, is_noun=False)
        if found is not None:
            yield found


def _word(word: str, at: int, lexicon: Lexicon, *, is_noun: bool) -> Found | None:
    base = lexicon.base_of(word)
    parts = (base,) if base is not None else lexicon.parts_of(word, is_noun=is_noun)
    english = tuple(dict.fromkeys(meaning for part in parts for meaning in lexicon.english(part)))
    return Found(word, english, (at,)) if english else None


def _phrase(words: Sequence[str], at: int, lexicon: Lexicon, used: set[int]) -> Found | None:
    """The longest phrase that starts at `at`; its first and its last word may be inflected."""
    phrases = lexicon.phrases
    forms = bases(words[at], lexicon.language)
    starts = [form for form in forms if form in phrases]
    for first in starts:
        for size in range(min(phrases[first], len(words) - at), 1, -1):
            middle = words[at + 1 : at + size - 1]
            for last in bases(words[at + size - 1], lexicon.language):
                english = lexicon.english(" ".join((first, *middle, last)))
                if english:
                    return Found(" ".join(words[at : at + size]), english, tuple(range(at, at + size)))
    if lexicon.language == "de":
        return _german_verb(words, at, lexicon, used)
    return _english_verb(words, at, lexicon, starts) if starts and lexicon.language == "en" else None


def _english_verb(words: Sequence[str], at: int, lexicon: Lexicon, starts: Sequence[str]) -> Found | None:
    """A phrasal verb with words in between: `hand it over`."""
    for place in range(at + 2, min(len(words), at + 2 + _GAP)):
        if words[place] in _PARTICLES:
            for start in starts:
                english = lexicon.english(f"{start} {words[place]}")
                if english:
                    return Found(f"{words[at]} … {words[place]}", english, (at, place))
    return None


def _is_preposition(words: Sequence[str], place: int) -> bool:
    """Whether a word that may be a separable prefix has a noun after it: `mit` in `teile das Dokument mit Maria`."""
    return words[place] in _PREPOSITIONS and place + 1 < len(words) and words[place + 1] not in _AFTER_PREFIX


def _german_verb(words: Sequence[str], at: int, lexicon: Lexicon, used: set[int]) -> Found | None:
    """A verb with its separable prefix at the end of the clause: `lade die Datei hoch`."""
    for place in range(len(words) - 1, at, -1):
        if place in used or not separable(words[place]) or _is_preposition(words, place):
            continue
        prefix = "wieder" + words[place] if words[place - 1] == "wieder" and place - 1 > at else words[place]
        for base in bases(words[at], "de"):
            english = lexicon.english(prefix + base)
            if english:
                shown = f"{words[at]} {prefix}" if place == at + 1 else f"{words[at]} … {prefix}"
                return Found(shown, english, (at, place))
    return None
