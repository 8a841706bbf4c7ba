"""Other words for the words of a question: synonyms of everyday English, and the user's own glossary.

Questions in other languages than those of the tools are understood by the encoder. A glossary is for what no encoder
can know, the words of one company, and `synonyms.tsv` for searches by words: those without an encoder, and those asked
before the tools are embedded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ToolSearchError
from .analyzer import fold, is_unspaced, spaced_words, stem

_LINE = "write a word, a tab, and English words divided by `|`"

_KATAKANA = re.compile("[\u30a1-\u30ff]")


class Found(NamedTuple):
    """A word or phrase of a text that a glossary has."""

    word: str
    """As it is in the text."""
    others: tuple[str, ...]
    """The words that tools may have for it."""


class Glossary:
    """Words and phrases, and the words that tools have for them; the longest match in a text wins.

    Words in scripts with spaces match in any inflected English form, others wherever they stand.
    """

    def __init__(self, meanings: Mapping[str, Iterable[str]]) -> None:
        self._phrases: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._unspaced: dict[str, tuple[str, ...]] = {}
        for word, others in meanings.items():
            folded = fold(word).strip()
            if is_unspaced(folded):
                self._unspaced[folded] = tuple(others)
            elif key := _stems(spaced_words(folded)):
                self._phrases[key] = self._phrases.get(key, ()) + tuple(others)  # `book` and `books` are one
        self._longest = max(map(len, self._phrases), default=0)
        longest_first = sorted(self._unspaced, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def __len__(self) -> int:
        return len(self._phrases) + len(self._unspaced)

    @classmethod
    def read(cls, source: str, name: str = "glossary") -> Glossary:
        """The glossary in tab-separated lines.

        Raises:
            ToolSearchError: a line has no word, or no English for it.
        """
        meanings: dict[str, tuple[str, ...]] = {}
        for number, line in enumerate(source.splitlines(), 1):
            if not line.strip() or line[0] == "#":
                continue
            word, _, rest = line.partition("\t")
            others = tuple(part for part in map(str.strip, rest.partition("\t")[0].split("|")) if part)
            if not word.strip() or not others:
                raise ToolSearchError("invalid_tool_input", f"Line {number} of {name} is {line!r}: {_LINE}.")
            meanings[word] = meanings.get(word, ()) + others
        return cls(meanings)

    @classmethod
    def of(cls, source: Mapping[str, str | Iterable[str]] | str | Path) -> Glossary:
        """The glossary in a mapping from words to English, or in a file.

        Raises:
            ToolSearchError: the file cannot be read, or what was given is no glossary.
        """
        if isinstance(source, Mapping):
            return cls({_texts(word)[0]: _texts(others) for word, others in source.items()})
        try:
            content = Path(source).read_text(encoding="utf-8-sig")
        except (OSError, TypeError, ValueError) as error:
            raise ToolSearchError(
                "unavailable", f"The glossary {str(source)!r} cannot be read ({error}). Name a text file in UTF-8."
            ) from error
        return cls.read(content, str(source))

    def found_in(self, text: str) -> Iterator[Found]:
        """The words and phrases of the glossary in `text`, from left to right in each kind of script."""
        folded = fold(text)
        words = spaced_words(folded)
        stems = _stems(words)
        at = 0
        while at < len(words):
            size = self._size_at(stems, at)
            if size:
                yield Found(" ".join(words[at : at + size]), self._phrases[stems[at : at + size]])
            at += size or 1
        start = end = 0
        while match := self._pattern.search(folded, start):
            # A katakana word begins where a run of katakana does, or after another word: not ライン in オンライン.
            is_inside = (
                match.start() != end and _KATAKANA.match(folded, match.start() - 1) and _KATAKANA.match(match[0])
            )
            start = match.start() + 1 if is_inside else match.end()
            if not is_inside:
                end = start
                yield Found(match[0], self._unspaced[match[0]])

    def _size_at(self, stems: tuple[str, ...], at: int) -> int:
        """The number of words of the longest phrase at `at`; 0 if there is none."""
        sizes = range(min(self._longest, len(stems) - at), 0, -1)
        return next((size for size in sizes if stems[at : at + size] in self._phrases), 0)


@cache
def synonyms() -> Glossary:
    """Words and phrases of everyday English, and the words of tool names and descriptions for them."""
    path = Path(__file__).with_name("synonyms.tsv")
    return Glossary.read(path.read_text(encoding="utf-8"), path.name)


def _stems(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(stem, words))


def _texts(given: Any) -> list[str]:
    """One text, or several."""
    texts: list[Any] = [given] if isinstance(given, str) or not isinstance(given, Iterable) else [*given]
    for text in texts:
        if not isinstance(text, str):
            raise ToolSearchError("invalid_tool_input", f"The glossary has {text!r} where text should be: write text.")
    return texts
