"""How glossaries read a question: its language, translations, synonyms and stop words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..text.analyzer import fold
from ._inflection import bases
from ._language import languages_of
from ._lexicon import Found
from ._spaced import scan_single_words, scan_words
from ._statement import is_clear_request, is_statement
from ._unspaced import scan
from .files import everyday_words, is_stop_word, lexicon, plain_letters, stop_lexicon
from .own import Glossary

__all__ = ["Understanding", "understand"]

_KANA = re.compile("[\u3041-\u309f\u30a1-\u30fa\u30fd-\u30ff]")
_HAN = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_TOKEN = re.compile("[0-9A-Za-z\u00c0-\u024f]+")
_DIGIT = re.compile("[0-9]")


@dataclass(slots=True)
class Understanding:
    """Language, translations, synonyms and stop words of a question."""

    translations: list[tuple[str, tuple[str, ...]]] = field(default_factory=list[tuple[str, tuple[str, ...]]])
    """Words in other languages, and those of the user's own glossary, with their English meanings."""
    everyday: list[Found] = field(default_factory=list[Found])
    """English words and phrases that have synonyms."""
    words: list[str] = field(default_factory=list[str])
    """The words of the question in plain Latin letters; `everyday` has positions in this list."""
    stop_words: set[str] = field(default_factory=set[str])
    """The stop words of the question's language."""
    explained: set[str] = field(default_factory=set[str])
    """Words in Latin letters that are translated."""
    foreign: bool = False
    """Whether the question is in a language other than English that is written in Latin letters."""
    is_statement: bool | None = None
    """Whether it is a statement in German, Spanish, French or Korean; None for other languages."""
    is_clear_request: bool | None = None
    """Whether it asks for something in so many words, in the same languages."""
    everyday_words: set[str] = field(default_factory=set[str])
    """Words of everyday talk in another language than English, in plain letters: no values, unlike unknown words."""
    nouns_have_capitals: bool = False
    """Whether common nouns are capitalised, as in German."""


def understand(
    text: str,
    is_known: Callable[[str], bool],
    own: Glossary | None = None,
    *,
    bundled: bool = True,
    is_short: bool = True,
    is_misspelled: Callable[[str], bool] = lambda word: False,
) -> Understanding:
    """How the glossaries read `text`.

    Args:
        text: A question.
        is_known: Whether some tool has a word.
        own: A glossary of the user's.
        bundled: Whether to use the glossaries and stop words that come with hikidashi.
        is_short: Whether to look for synonyms of all English words and phrases; in a long question, only for words that
            no tool has.
        is_misspelled: Whether a word is a misspelling of one that some tool has.
    """
    found = Understanding()
    folded = fold(text)
    if own is not None:
        for word, english in own.found_in(folded):
            found.translations.append((word, english))
            found.explained.update(plain_letters(word).split())
    if bundled:
        if not text.isascii():
            _read_unspaced(folded, found)
        _read_latin(text, found, is_known, is_misspelled, is_short=is_short)
    return found


def _read_unspaced(folded: str, found: Understanding) -> None:
    """Read other scripts than Latin. Han without kana is Chinese if it has Chinese stop words, else either."""
    languages: list[str] = []
    words: list[Found] = []
    if _KANA.search(folded):
        languages = ["ja"]
    elif _HAN.search(folded):
        words = list(scan(folded, [lexicon("zh")], [stop_lexicon("zh")]))
        languages = ["zh"] if any(not word.english for word in words) else ["zh", "ja"]
    if _HANGUL.search(folded):
        languages.append("ko")
        found.is_statement = is_statement(folded, (), lexicon("ko"))
        found.is_clear_request = is_clear_request(folded, (), lexicon("ko"))
    if languages and languages != ["zh"]:
        words = list(scan(folded, [*map(lexicon, languages)], [*map(stop_lexicon, languages)]))
    for language in languages:
        found.everyday_words.update(word for word in everyday_words(language) if word in folded)
    found.translations += [(word.word, word.english) for word in words if word.english]
    found.stop_words.update(word.word for word in words if not word.english)


def _read_latin(
    text: str,
    found: Understanding,
    is_known: Callable[[str], bool],
    is_misspelled: Callable[[str], bool],
    *,
    is_short: bool,
) -> None:
    tokens = _TOKEN.findall(text if text.isascii() else unicodedata.normalize("NFC", text))
    spelled = [token for token in tokens if not _DIGIT.search(token)]  # `pm` in `8pm` is no word
    words = found.words = [plain_letters(word) for word in spelled]
    if not words:
        return
    capital = {place for place, word in enumerate(spelled) if word[0].isupper()}
    for language in languages_of(words, spelled, is_known, is_misspelled):
        found.foreign = True
        found.nouns_have_capitals |= language == "de"
        found.is_statement = found.is_statement or is_statement(text, words, lexicon(language))
        found.is_clear_request = found.is_clear_request or is_clear_request(text, words, lexicon(language))
        stops = {place for place, word in enumerate(words) if is_stop_word(word, spelled[place], language)}
        for hit in scan_words(words, lexicon(language), capital):
            if not stops.issuperset(hit.places):
                found.translations.append((hit.word, hit.english))
                found.explained.update(words[place] for place in hit.places)
        explained = {words[place] for place in range(len(words)) if place not in stops} & found.explained
        found.stop_words.update(words[place] for place in stops if words[place] not in explained)
        found.everyday_words.update(_everyday(words, language))
    if not found.foreign:
        unknown = [place for place, word in enumerate(words) if not is_short and not is_known(word)]
        every = scan_words(words, lexicon("en")) if is_short else scan_single_words(words, lexicon("en"), unknown)
        found.everyday = [hit for hit in every if not _is_name(hit, spelled)]


def _is_name(hit: Found, spelled: Sequence[str]) -> bool:
    """Whether the match is capitalised and not the first word, as `Bill` or `Mark`."""
    return len(hit.places) == 1 and hit.places[0] > 0 and spelled[hit.places[0]].istitle()


def _everyday(words: Sequence[str], language: str) -> set[str]:
    known = everyday_words(language)
    return {word for word in words if word in known or not known.isdisjoint(bases(word, language))}
