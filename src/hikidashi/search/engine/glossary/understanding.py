"""What the words of a question mean in the words of tools: its language, translations, stop words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..analyzer import fold
from ._language import languages_of
from ._lexicon import Found
from ._spaced import scan_single_words, scan_words
from ._telling import is_told
from ._unspaced import scan
from .files import even, is_stop_word, lexicon, stop_lexicon
from .own import Glossary

__all__ = ["Understanding", "understand"]

_KANA = re.compile("[\u3041-\u309f\u30a1-\u30fa\u30fd-\u30ff]")
_HAN = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_LATIN_WORD = re.compile("[A-Za-z\u00c0-\u024f]+")


@dataclass(slots=True)
class Understanding:
    """What glossaries say about a question."""

    translations: list[tuple[str, tuple[str, ...]]] = field(default_factory=list[tuple[str, tuple[str, ...]]])
    """Words of other languages, and those of the user's own glossary, with what they mean in English."""
    everyday: list[Found] = field(default_factory=list[Found])
    """Everyday English, with the words that tools use for it."""
    words: list[str] = field(default_factory=list[str])
    """The Latin words of the question in plain letters, which `everyday` counts from 0."""
    silent: set[str] = field(default_factory=set[str])
    """Stop words of the question's language: not to be searched."""
    explained: set[str] = field(default_factory=set[str])
    """Latin words that a translation explains."""
    foreign: bool = False
    """Whether the question is in a language other than English that is written in Latin letters."""
    is_told: bool | None = None
    """Whether it tells something in German, Spanish, French or Korean, rather than asks for it; None for the others."""
    nouns_have_capitals: bool = False
    """Whether a capital letter does not make a word a name, as in German."""


def understand(
    text: str,
    is_known: Callable[[str], bool],
    own: Glossary | None = None,
    *,
    bundled: bool = True,
    is_short: bool = True,
    is_misspelled: Callable[[str], bool] = lambda word: False,
) -> Understanding:
    """What the glossaries know about `text`.

    Args:
        text: A question.
        is_known: Whether some tool has a word.
        own: A glossary of the user's.
        bundled: Whether to use the glossaries and stop words that come with hikidashi.
        is_short: Whether to explain English words and phrases that tools may have; a long question says itself what
            it means, and only words that no tool has are explained.
        is_misspelled: Whether some tool has a word that is spelled nearly the same.
    """
    found = Understanding()
    folded = fold(text)
    if own is not None:
        for word, english in own.found_in(folded):
            found.translations.append((word, english))
            found.explained.update(even(word).split())
    if bundled:
        if not text.isascii():
            _read_unspaced(folded, found)
        _read_latin(text, found, is_known, is_misspelled, is_short=is_short)
    return found


def _read_unspaced(folded: str, found: Understanding) -> None:
    """Read what is not in Latin letters. Han letters without kana may be Chinese or Japanese, unless grammar tells."""
    languages: list[str] = []
    words: list[Found] = []
    if _KANA.search(folded):
        languages = ["ja"]
    elif _HAN.search(folded):
        words = list(scan(folded, [lexicon("zh")], [stop_lexicon("zh")]))
        languages = ["zh"] if any(not word.english for word in words) else ["zh", "ja"]
    if _HANGUL.search(folded):
        languages.append("ko")
        found.is_told = is_told(folded, (), lexicon("ko"))
    if languages and languages != ["zh"]:
        words = list(scan(folded, [*map(lexicon, languages)], [*map(stop_lexicon, languages)]))
    found.translations += [(word.word, word.english) for word in words if word.english]
    found.silent.update(word.word for word in words if not word.english)


def _read_latin(
    text: str,
    found: Understanding,
    is_known: Callable[[str], bool],
    is_misspelled: Callable[[str], bool],
    *,
    is_short: bool,
) -> None:
    spelled = _LATIN_WORD.findall(text if text.isascii() else unicodedata.normalize("NFC", text))
    words = found.words = [even(word) for word in spelled]
    if not words:
        return
    capital = {place for place, word in enumerate(spelled) if word[0].isupper()}
    for language in languages_of(words, spelled, is_known, is_misspelled):
        found.foreign = True
        found.nouns_have_capitals |= language == "de"
        found.is_told = found.is_told or is_told(text, words, lexicon(language))
        silent = {place for place, word in enumerate(words) if is_stop_word(word, spelled[place], language)}
        for hit in scan_words(words, lexicon(language), capital):
            if not silent.issuperset(hit.places):
                found.translations.append((hit.word, hit.english))
                found.explained.update(words[place] for place in hit.places)
        found.silent.update(words[place] for place in silent)
    if found.foreign:
        found.silent -= found.explained
    else:
        unknown = [place for place, word in enumerate(words) if not is_short and not is_known(word)]
        every = scan_words(words, lexicon("en")) if is_short else scan_single_words(words, lexicon("en"), unknown)
        found.everyday = [hit for hit in every if not _is_name(hit, spelled)]


def _is_name(hit: Found, spelled: Sequence[str]) -> bool:
    """Whether what was found is `Bill` or `Mark`, and not at the beginning of the question."""
    return len(hit.places) == 1 and hit.places[0] > 0 and spelled[hit.places[0]].istitle()
