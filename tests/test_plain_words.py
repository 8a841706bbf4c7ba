"""Docstrings, comments and messages use the standard terms of the field: a short list of what they avoid."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "hikidashi"
AVOIDED = re.compile(
    r"\b(whoever|somebody|nobody|by hand|anew|in the manner of|the way of|(?:is|are|was|were) told|heard of"
    r"|its last words|where nothing is written|is no (?:JSON|dict|function|object|path))\b",
    re.IGNORECASE,
)
# From Python 3.12 on, the text of an f-string is a token of its own.
PROSE = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
# Data: words of everyday language, and the patterns that recognise statements.
DATA = ("search/engine/analyzer.py", "search/engine/statement.py")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in PROSE:
                yield token.start[0], token.string


def sources() -> list[Path]:
    files = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
    return [path for name, path in files.items() if name not in DATA]


@pytest.mark.parametrize("folder", sorted({path.relative_to(SOURCE).parts[0] for path in sources()}))
def test_prose_has_no_private_metaphors(folder: str) -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {match[0]!r}"
        for path in sources()
        if path.relative_to(SOURCE).parts[0] == folder
        for line, text in prose(path)
        for match in AVOIDED.finditer(" ".join(text.split()))
    ]
    assert found == []


def test_the_list_finds_what_it_should() -> None:
    assert AVOIDED.findall("Whoever is told: its last words. A schema is no JSON.") == [
        "Whoever",
        "is told",
        "its last words",
        "is no JSON",
    ]
