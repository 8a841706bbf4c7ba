"""The glossaries and stop words that come with hikidashi, read when a question first needs them.

`<language>.tsv`: a word, a tab, English words for it (alternatives divided by `|`). `stopwords/<language>.txt`: words
that say nothing about a tool. `#` starts a comment. The tests check the files, so that reading them need not: a
few milliseconds each.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

from .lexicon import Lexicon

__all__ = ["LATIN", "even", "lexicon", "stop_words"]

LATIN = ("de", "es", "fr")
"""The languages, beside English, that are written in Latin letters and have a glossary."""

_HERE = Path(__file__).parent
_LETTERS = (("ß", "ss"), ("œ", "oe"), ("Œ", "oe"), ("æ", "ae"), ("ø", "o"))


def even(text: str) -> str:
    """Latin `text` in plain lower-case letters: `Arrière-plan` is `arriere plan`, `Größe` is `grosse`."""
    if not text.isascii():
        for letter, plain in _LETTERS:
            text = text.replace(letter, plain)
        text = text.replace("’", " ").replace("‑", " ").replace("ʼ", " ")
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return text.replace("-", " ").replace("'", " ").lower()


@cache
def lexicon(language: str) -> Lexicon:
    """The glossary of a language; an empty one where there is none."""
    lines = _lines(_HERE / f"{language}.tsv", language)
    return Lexicon(dict([line.partition("\t")[::2] for line in lines]), language)


@cache
def stop_words(language: str) -> frozenset[str]:
    """The words of a language that are not searched for."""
    return frozenset(word.strip() for word in _lines(_HERE / "stopwords" / f"{language}.txt", language))


def _lines(file: Path, language: str) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    if language == "en" or language in LATIN:
        text = even(text)
    return [line for line in text.split("\n") if line and line[0] != "#"]
