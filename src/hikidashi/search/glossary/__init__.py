"""Words of other languages and the English words that tools are described in.

One file per language, `<language>.tsv`: a word, a tab, English words for it (alternatives divided by `|`);
`#` starts a comment, further columns are notes. A file is read when a query first has letters of its script.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from ...errors import ToolSearchError
from ..text import fold

__all__ = ["Glossary", "bundled"]

# The letters that make a query one for this language's file. A further language is one more file and one more row.
_SCRIPTS = {"ja": re.compile("[\u3005\u3041-\u309f\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")}
_KATAKANA = re.compile("[\u30a0-\u30ff]")


class Glossary:
    """Words found in running text, longest first, and what they mean in English."""

    def __init__(self, meanings: Mapping[str, Iterable[str]]) -> None:
        self._meanings = {fold(word): tuple(english) for word, english in meanings.items()}
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
            ToolSearchError: a line has no tab.
        """
        meanings: dict[str, tuple[str, ...]] = {}
        for number, line in enumerate(source.splitlines(), 1):
            if not line or line[0] == "#":
                continue
            word, tab, rest = line.partition("\t")
            if not tab or not word:
                raise ToolSearchError(
                    "invalid_tool_input",
                    f"Line {number} of {name} is {line!r}: write a word, a tab, and English words divided by `|`.",
                )
            english = rest.partition("\t")[0]
            known = meanings.get(word, ())
            meanings[word] = (*known, *(part for part in map(str.strip, english.split("|")) if part))
        return cls(meanings)

    @classmethod
    def of(cls, source: Mapping[str, str | Iterable[str]] | str | Path) -> Glossary:
        """The glossary of a mapping from words to English, or of a file."""
        if isinstance(source, Mapping):
            return cls({word: [text] if isinstance(text, str) else text for word, text in source.items()})
        return cls.read(Path(source).read_text(encoding="utf-8"), str(source))

    def found_in(self, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The glossary words in folded `text` from left to right, with their meanings.

        Of words that start at one place the longest counts. A katakana word starts where a run of katakana
        does, or after another word: ライン is no part of オンライン.
        """
        at = 0
        free = 0
        while at < len(text):
            for size in self._lengths.get(text[at], ()):
                word = text[at : at + size]
                english = self._meanings.get(word)
                if english is not None and (at == free or not _inside_katakana(text, at)):
                    yield word, english
                    at = free = at + size
                    break
            else:
                at += 1


def _inside_katakana(text: str, at: int) -> bool:
    return _KATAKANA.match(text, at) is not None and at > 0 and _KATAKANA.match(text, at - 1) is not None


def bundled(text: str) -> Iterator[Glossary]:
    """The glossaries that come with hikidashi for the scripts in `text`."""
    for language, script in _SCRIPTS.items():
        if script.search(text):
            yield _load(language)


@cache
def _load(language: str) -> Glossary:
    file = Path(__file__).with_name(f"{language}.tsv")
    return Glossary.read(file.read_text(encoding="utf-8"), file.name)
