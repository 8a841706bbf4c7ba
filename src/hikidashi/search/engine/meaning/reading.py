"""What a model reads of a question: English, without literal values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..query import Query
from ..text.analyzer import fold, share_of_word, spelling
from ..text.literals import without_literals

__all__ = ["Reading", "reading_of"]

_AROUND = re.compile(r"^\W+|\W+$")
_CONSONANTS = re.compile(r"[b-df-hj-np-tv-xz]{5,}", re.IGNORECASE)  # shorter ones are abbreviations: `html`
_LATIN_END = "\u0250"
_MOSTLY = 2  # letters in Latin script per letter in another, in an English question with a name in it


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a question for a model, and how much of the question it has."""

    text: str
    share: float = 1.0
    """From 0 to 1; less than 1 if words of the question are misspelled, or in no glossary, or no words."""
    is_translated: bool = False
    """Whether it is a question in another language, of which it has only the words that a glossary has."""
    translations: tuple[tuple[str, str], ...] = ()
    """Those words, with the English for each."""
    unread: Mapping[str, float] = field(default_factory=dict[str, float])
    """The terms in another script that tools have as they are, and the share of the question in it that each is."""


def reading_of(text: str, asked: Query, *, multilingual: bool) -> Reading | None:
    """What a model reads of a question; None if that is nothing.

    Nothing is read of a single word that tools have: it is looked up. Without a sentence around it, a sentence encoder
    would rank the tools that have it by chance, and add others.

    A model that is not multilingual reads, of a question in another language than English, the English terms that the
    glossaries have for its words, and those words that tools have as they are, such as names.

    Args:
        text: The question.
        asked: The same as the search by words reads it.
        multilingual: Whether the model reads all languages.
    """
    if _is_keyword(text, asked):
        return None
    plain = without_literals(text)
    if multilingual:
        return Reading(plain)
    letters = [letter for letter in plain if letter.isalpha()]
    others = sum(letter >= _LATIN_END for letter in letters)
    if not asked.understanding.foreign and len(letters) - others >= _MOSTLY * others:
        words = "".join(" " if letter.isalpha() and letter >= _LATIN_END else letter for letter in plain)
        unread = len({asked.sources[term] for term in asked.respelled}) + sum(map(_is_no_word, asked.missing))
        share = 1 - unread / max(len(set(plain.casefold().split())), 1)
        return Reading(_with_own_words(" ".join(words.split()), asked), share) if share > 0 else None
    translated = _translated(asked)
    if not translated:
        return None
    guesses = asked.translations.keys() | asked.respelled | asked.synonyms.keys()
    there = [term for term in asked.weights if term not in guesses]
    own = [term for term in there if term.isascii()]
    words = {word for word, _ in translated}
    spelled = [spelling(term, asked.sources[term]) for term in own]
    kept = dict.fromkeys(word for word in spelled if word not in words)
    unknown = sum(share_of_word(word) for word in asked.missing if word not in words) + len(set(spelled)) - len(kept)
    known = len(translated) + len(kept)
    share = known / (known + unknown)
    english = " ".join([*(english for _, english in translated), *kept])
    unread = _shares([term for term in there if not term.isascii()], asked)
    return Reading(english, share, is_translated=True, translations=tuple(translated), unread=unread)


def _is_no_word(word: str) -> bool:
    """Whether `word` has no vowel: of `pgsqc`, a model reads pieces that are near to anything."""
    return _CONSONANTS.fullmatch(word) is not None


def _is_keyword(text: str, asked: Query) -> bool:
    """Whether a question is one word, which some tool has as it is or in English."""
    own = {term: asked.sources[term] for term in asked.weights if term not in asked.synonyms}
    words = {word if term in asked.translations else spelling(term, word) for term, word in own.items()}
    return len(words) == 1 and not asked.respelled and fold(*words) == fold(_AROUND.sub("", text))


def _with_own_words(text: str, asked: Query) -> str:
    """An English question with the words of the user's own glossary in English, and what it has in other scripts."""
    for word, english in _translated(asked):
        text, found = re.subn(rf"(?<!\w){re.escape(word)}(?!\w)", lambda _, put=english: put, text, flags=re.IGNORECASE)
        text = text if found else f"{text} {english}"
    return text


def _shares(terms: list[str], asked: Query) -> dict[str, float]:
    """The share of each of `terms` among them and the words in other scripts that no tool has."""
    parts = {term: share_of_word(term) for term in terms}
    missing = sum(share_of_word(word) for word in asked.missing if not word.isascii())
    return {term: part / (sum(parts.values()) + missing) for term, part in parts.items()}


def _translated(asked: Query) -> list[tuple[str, str]]:
    """The words that a glossary has, and the English for each: what tools have of it, or its first meaning."""
    there: dict[str, list[str]] = {}
    for term, english in asked.translations.items():
        there.setdefault(asked.sources[term], []).append(english)
    found = asked.understanding.translations
    return [(word, " ".join(there.get(word) or english[:1])) for word, english in found]
