"""Language detection for questions in Latin letters.

Each word is a vote for the languages that have it. A word that English has too is half a vote for either, so that
`chat`, `plan` and `die` decide nothing; a possible name is half a vote. A tie is English.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from ..text.stopwords import FUNCTION, REQUEST, WEAK
from ._inflection import bases
from .files import LATIN, homographs, is_stop_word, lexicon, stop_words

__all__ = ["languages_of"]

_OFTEN = FUNCTION | REQUEST


def languages_of(
    words: Sequence[str],
    spelled: Sequence[str],
    is_known: Callable[[str], bool],
    is_misspelled: Callable[[str], bool] = lambda word: False,
) -> list[str]:
    """The languages other than English with the most votes; none for an English question.

    Args:
        words: The words in plain lower-case letters.
        spelled: The same words as written.
        is_known: Whether some tool has a word.
        is_misspelled: Whether a word is a misspelling of one that some tool has.
    """
    grammar = _grammar()
    surely_english = 0
    undecided = 0
    for word, written in zip(words, spelled, strict=True):
        if word in _OFTEN and word not in grammar:
            surely_english += 1
        elif not written.isascii() or not _is_english(word):
            undecided += 1
    if undecided <= surely_english:  # no other language can win
        return []
    # Stop words decide most questions, without reading the glossaries of the other languages.
    languages = [language for language in LATIN if not stop_words(language).isdisjoint(words)] or LATIN
    votes = dict.fromkeys(languages, 0.0)
    english = float(surely_english)
    for place, (word, written) in enumerate(zip(words, spelled, strict=True)):
        if word in _OFTEN and word not in grammar:
            continue
        may_be_name = place > 0 and written[0].isupper()
        having = [
            language
            for language in languages
            if is_stop_word(word, written, language) or (len(word) > 1 and _has(language, word, exactly=may_be_name))
        ]
        is_english = written.isascii() and (_is_english(word) or (not having and is_known(word)))
        english += 0.5 * is_english
        for language in having:
            votes[language] += 0.5 if is_english or may_be_name else 1.0
    most = max(votes.values())
    if most > english and languages is LATIN:  # without stop words, it may be misspelled English: `shedule payent`
        listed = [word for word in words if any(word in lexicon(language).meanings for language in languages)]
        english += sum(is_misspelled(word) for word in words if word not in listed)
    return [language for language, count in votes.items() if count == most > english]


def _has(language: str, word: str, *, exactly: bool) -> bool:
    glossary = lexicon(language)
    if exactly:
        return word in glossary.meanings
    return glossary.base_of(word) is not None or len(glossary.parts_of(word)) > 1


@cache
def _grammar() -> frozenset[str]:
    """The stop words of all languages."""
    return frozenset[str]().union(*map(stop_words, LATIN))


@lru_cache(16_384)
def _is_english(word: str) -> bool:
    if word in _OFTEN or word in WEAK:
        return True
    english = _english_words()
    return len(word) > 1 and any(base in english for base in bases(word, "en"))


@cache
def _english_words() -> frozenset[str]:
    """All words in the English glossary, and English words that other languages have too."""
    meanings = lexicon("en").meanings
    words = {*" ".join(meanings).split(), *" ".join(meanings.values()).replace("|", " ").split()}
    return frozenset(words) | homographs()
