"""The glossaries and stop words that come with hikidashi, read when a question first needs them.

`<language>.tsv`: a word, a tab, English words for it (alternatives divided by `|`). `stopwords/<language>.txt`: stop
words. `everyday/<language>.txt`: words of everyday talk. `#` starts a comment. The files are checked by
tests, not when read, which takes a few milliseconds each.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

from ..text.stopwords import FUNCTION
from ._lexicon import Lexicon

__all__ = [
    "LATIN",
    "everyday_words",
    "homographs",
    "is_grammar",
    "is_stop_word",
    "lexicon",
    "plain_letters",
    "stop_lexicon",
    "stop_words",
]

LATIN = ("de", "es", "fr")
"""The languages in Latin letters that have a glossary, besides English."""

_HERE = Path(__file__).parent
_LETTERS = (("ß", "ss"), ("œ", "oe"), ("Œ", "oe"), ("æ", "ae"), ("ø", "o"))


def plain_letters(text: str) -> str:
    """Latin `text` in plain lower-case letters: `Arrière-plan` is `arriere plan`, `Größe` is `grosse`."""
    if not text.isascii():
        for letter, plain in _LETTERS:
            text = text.replace(letter, plain)
        text = text.replace("’", " ").replace("‑", " ").replace("ʼ", " ")
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return text.replace("-", " ").replace("'", " ").lower()


@cache
def lexicon(language: str) -> Lexicon:
    """The glossary of a language; empty if there is none."""
    fields = _content(_HERE / f"{language}.tsv", language).replace("\n", "\t").split("\t")
    return Lexicon(dict(zip(fields[::2], fields[1::2], strict=False)), language)


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language."""
    return _words(_HERE / "stopwords" / f"{language}.txt", language)


@cache
def stop_lexicon(language: str) -> Lexicon:
    """The stop words of a language, for text without spaces."""
    return Lexicon(dict.fromkeys(stop_words(language), ""), language)


def is_stop_word(word: str, written: str, language: str) -> bool:
    """Whether `word`, in plain letters, is a stop word; accents must agree if they are written: not `ändere`."""
    return word in stop_words(language) and (written.isascii() or written.lower() in _accented(language))


def is_grammar(text: str) -> bool:
    """Whether `text` is a stop word of some language in Latin letters."""
    word = plain_letters(text.strip())
    return word in FUNCTION or any(word in stop_words(language) for language in LATIN)


@cache
def _accented(language: str) -> frozenset[str]:
    text = (_HERE / "stopwords" / f"{language}.txt").read_text(encoding="utf-8")
    return frozenset(line.strip(" '’") for line in text.lower().split("\n"))


@cache
def everyday_words(language: str) -> frozenset[str]:
    """The words of everyday talk that no tool is about."""
    return frozenset(_content(_HERE / "everyday" / f"{language}.txt", language).split())


@cache
def homographs() -> frozenset[str]:
    """English words that other languages have too, and that do not tell them apart."""
    return _words(_HERE / "homographs.txt", "en")


def _words(file: Path, language: str) -> frozenset[str]:
    return frozenset(word for word in map(str.strip, _content(file, language).split("\n")) if word)


def _content(file: Path, language: str) -> str:
    """The lines of a file that are neither empty nor comments; several times faster than line by line."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    first, *others = ("\n" + text).split("\n#")
    text = "\n".join((first, *(after.partition("\n")[2] for after in others)))
    while "\n\n" in text:
        text = text.replace("\n\n", "\n")
    return _plain(text.strip("\n")) if language == "en" or language in LATIN else text.strip("\n")


def _plain(text: str) -> str:
    """The same as `plain_letters`, several times faster, for long texts in Latin-1."""
    for letter, plain in (*_LETTERS, ("’", " ")):
        if letter in text:
            text = text.replace(letter, plain)
    return text.encode("latin-1").translate(_LATIN_1).decode("ascii")


_LATIN_1 = bytes(ord((plain_letters(chr(code)) or " ")[0]) for code in range(256))
