"""Words of other languages and the English words that tools are described in.

One file per language, `<language>.tsv`: a word, a tab, English words for it (alternatives divided by `|`);
`#` starts a comment, further columns are notes. A file is read when a query first has letters of its script.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ...errors import ToolSearchError
from ..text import fold

__all__ = ["Glossary", "bundled"]

# The letters that make a query one for this language's file. A further language is one more file and one more row.
_SCRIPTS = {"ja": re.compile("[\u3005\u3041-\u309f\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")}
_KATAKANA = re.compile("[\u30a0-\u30ff]")
_SPACED = re.compile("[^\\W\u0e00-\U0010ffff]")  # letters of scripts with spaces between words: Latin, Greek, Arabic, …
_LINE = "write a word, a tab, and English words divided by `|`"


class Glossary:
    """Words found in running text, longest first, and what they mean in English."""

    def __init__(self, meanings: Mapping[str, Iterable[str]]) -> None:
        self._meanings = {fold(word).strip(): tuple(english) for word, english in meanings.items()}
        lengths: dict[str, set[int]] = {}
        for word in self._meanings:
            lengths.setdefault(word[:1], set()).add(len(word))
        self._lengths = {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}

    def __len__(self) -> int:
        return len(self._meanings)

    @classmethod
    def read(cls, source: str, name: str = "glossary") -> Glossary:
        """The glossary written in tab-separated lines.

        Raises:
            ToolSearchError: a line has no word, or no English for it.
        """
        meanings: dict[str, tuple[str, ...]] = {}
        for number, line in enumerate(source.splitlines(), 1):
            if not line.strip() or line[0] == "#":
                continue
            word, _, rest = line.partition("\t")
            english = tuple(part for part in map(str.strip, rest.partition("\t")[0].split("|")) if part)
            if not word.strip() or not english:
                raise ToolSearchError("invalid_tool_input", f"Line {number} of {name} is {line!r}: {_LINE}.")
            meanings[word] = meanings.get(word, ()) + english
        return cls(meanings)

    @classmethod
    def of(cls, source: Mapping[str, str | Iterable[str]] | str | Path) -> Glossary:
        """The glossary of a mapping from words to English, or of a file.

        Raises:
            ToolSearchError: the file cannot be read, or what was given is no glossary.
        """
        if isinstance(source, Mapping):
            return cls({_texts(word)[0]: _texts(english) for word, english in source.items()})
        try:
            content = Path(source).read_text(encoding="utf-8-sig")
        except (OSError, TypeError, ValueError) as error:
            raise ToolSearchError(
                "unavailable", f"The glossary {str(source)!r} cannot be read ({error}). Name a text file in UTF-8."
            ) from error
        return cls.read(content, str(source))

    def found_in(self, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The glossary words in folded `text` from left to right, with their meanings.

        Of words that start at one place the longest counts. A katakana word starts where a run of katakana
        does, or after another word: ライン is no part of オンライン. In scripts with spaces it stands alone: art is no
        part of start.
        """
        at = 0
        free = 0
        while at < len(text):
            for size in self._lengths.get(text[at], ()):
                word = text[at : at + size]
                english = self._meanings.get(word)
                if (
                    english is not None
                    and (at == free or not _joined(text, at, _KATAKANA))
                    and _is_whole(text, at, size)
                ):
                    yield word, english
                    at = free = at + size
                    break
            else:
                at += 1


def _joined(text: str, at: int, letters: re.Pattern[str]) -> bool:
    """Whether there are such letters on both sides of a place."""
    return at > 0 and letters.match(text, at - 1) is not None and letters.match(text, at) is not None


def _is_whole(text: str, at: int, size: int) -> bool:
    return not _joined(text, at, _SPACED) and not _joined(text, at + size, _SPACED)


def _texts(given: Any) -> list[str]:
    """One text, or several."""
    texts: list[Any] = [given] if isinstance(given, str) or not isinstance(given, Iterable) else [*given]
    for text in texts:
        if not isinstance(text, str):
            raise ToolSearchError("invalid_tool_input", f"The glossary has {text!r} where text should be: write text.")
    return texts


def bundled(text: str) -> Iterator[Glossary]:
    """The glossaries that come with hikidashi for the scripts in `text`."""
    for language, script in _SCRIPTS.items():
        if script.search(text):
            yield _load(language)


@cache
def _load(language: str) -> Glossary:
    file = Path(__file__).with_name(f"{language}.tsv")
    return Glossary.read(file.read_text(encoding="utf-8"), file.name)
