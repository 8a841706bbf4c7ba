"""The bundled glossary and stopword files of a language, and what may be wrong with them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from importlib.resources import files

from hikidashi.search.engine.analyzer import fold
from hikidashi.search.engine.glossary import Glossary

_ENGLISH = re.compile(r"[a-z0-9.+#-]+(?: [a-z0-9.+#-]+)*")
_EDGE = re.compile(r"^\s|\s$|\s{2}")


@cache
def source(path: str) -> str:
    return files("hikidashi.search.engine").joinpath("glossaries", path).read_text(encoding="utf-8")


@cache
def entries(path: str) -> list[str]:
    """The lines of a file that are neither empty nor comments."""
    return [line for line in source(path).split("\n") if line and not line.startswith("#")]


@cache
def english_of(language: str) -> dict[str, list[str]]:
    """What each folded word of a language means."""
    rows = (line.split("\t") for line in entries(f"{language}.tsv"))
    return {fold(word): english.split("|") for word, english in rows}


def size(language: str) -> int:
    return len(Glossary.read(source(f"{language}.tsv"), f"{language}.tsv"))


def twice(path: str) -> list[str]:
    """Words that stand more than once, once width, case and diacritics are evened out."""
    words = Counter(fold(line.partition("\t")[0]) for line in entries(path))
    return [word for word, times in words.items() if times > 1]


def malformed(language: str) -> list[str]:
    """Lines that are not a composed lower-case word, a tab, and one to four different English alternatives."""

    def is_wrong(line: str) -> bool:
        word, _, rest = line.partition("\t")
        english = rest.split("|")
        return (
            word != unicodedata.normalize("NFC", word).lower()
            or _EDGE.search(word) is not None
            or not all(map(_ENGLISH.fullmatch, english))
            or not 1 <= len(english) <= 4
            or len(set(english)) < len(english)
        )

    return [line for line in entries(f"{language}.tsv") if is_wrong(line)]


def stopwords(language: str) -> list[str]:
    return [fold(line) for line in entries(f"stopwords/{language}.txt")]


def malformed_stopwords(language: str) -> list[str]:
    return [
        line
        for line in entries(f"stopwords/{language}.txt")
        if line != unicodedata.normalize("NFC", line).lower() or _EDGE.search(line) or "\t" in line
    ]


def without_meaning(language: str, expected: str) -> list[str]:
    """Those of the lines `word = english` whose word does not have that English among its meanings."""
    known = english_of(language)
    pairs = (line.split(" = ") for line in expected.strip().splitlines())
    return [f"{word}: {known.get(fold(word))}" for word, english in pairs if english not in known.get(fold(word), [])]


def without_shared_meaning(language: str, forms: str) -> list[str]:
    """Those of the words in `forms` that mean nothing in common with the first."""
    first, *others = (word.strip() for word in forms.split(","))
    known = english_of(language)
    return [form for form in others if not {*known[fold(first)]} & {*known.get(fold(form), [])}]
