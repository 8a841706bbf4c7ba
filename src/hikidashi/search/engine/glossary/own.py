"""Users' own glossaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ....errors import ToolSearchError
from ..text.analyzer import fold
from ._lexicon import Lexicon
from ._unspaced import scan

__all__ = ["Glossary"]

_LINE = "write a word, a tab, and English words divided by `|`"


class Glossary:
    """Words and their English meanings; the longest match in a text wins."""

    def __init__(self, meanings: Mapping[str, Iterable[str]]) -> None:
        folded = {fold(word).strip(): "|".join(english) for word, english in meanings.items()}
        self._lexicon = Lexicon({word: english for word, english in folded.items() if word})

    def __len__(self) -> int:
        return len(self._lexicon)

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
            english = tuple(part for part in map(str.strip, rest.partition("\t")[0].split("|")) if part)
            if not word.strip() or not english:
                raise ToolSearchError("invalid_tool_input", f"Line {number} of {name} is {line!r}: {_LINE}.")
            meanings[word] = meanings.get(word, ()) + english
        return cls(meanings)

    @classmethod
    def of(cls, source: Mapping[str, str | Iterable[str]] | str | Path) -> Glossary:
        """The glossary in a mapping from words to English, or in a file.

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
        """The glossary words in folded `text` from left to right, with their meanings."""
        for found in scan(text, (self._lexicon,)):
            yield found.word, found.english


def _texts(given: Any) -> list[str]:
    """One text, or several."""
    texts: list[Any] = [given] if isinstance(given, str) or not isinstance(given, Iterable) else [*given]
    for text in texts:
        if not isinstance(text, str):
            raise ToolSearchError("invalid_tool_input", f"The glossary has {text!r} where text should be: write text.")
    return texts
