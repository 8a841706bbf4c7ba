"""ToolMatch: a tool that a search found, and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .entry import Entry

__all__ = ["Reasons", "ToolMatch", "whole_words"]

_TRIGRAMS = re.compile("[\u0e00-\u109f\u1780-\u17ff]+")  # Thai, Lao, Tibetan, Myanmar, Khmer
Reasons = Callable[[Entry], dict[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class ToolMatch:
    """A tool that a search found."""

    name: str
    score: float
    """The score: comparable within one search, not between searches."""
    entry: Entry = field(repr=False)
    reasons: Reasons = field(repr=False, compare=False)
    doubt: str = ""
    """Why this may not be what was asked for; empty if the search is confident."""
    by_meaning: float = 0.0
    """The share of the score that is from meaning; the rest, `by_words`, is from words, a pattern or the name."""
    nearness: float | None = None
    """How near the tool is to the question in meaning: from 1 on it is about the question; None if only words count."""

    @property
    def confident(self) -> bool:
        """Whether the tool is about the question; if not, it is only the nearest there is, or has a part of it."""
        return not self.doubt

    @property
    def by_words(self) -> float:
        """The share of the score that is from words: 1 in a search by words alone, by pattern or by name."""
        return 1.0 - self.by_meaning

    @property
    def tool(self) -> Any:
        """The tool as the catalogue was given it; after `ToolCatalog.load`, an Anthropic tool dict."""
        return self.entry.tool

    @property
    def why(self) -> dict[str, tuple[str, ...]]:
        """The words that matched, per field: `{"name": ("send",), "description": ("メール→mail",)}`."""
        return {field: whole_words(words) for field, words in self.reasons(self.entry).items()}


def whole_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """`words` with overlapping n-grams joined: 請求 and 求書 are 請求書."""
    whole: list[str] = []
    for word in words:
        before = whole[-1] if whole else ""
        piece = len(word) == 2 or (len(word) == 3 and _TRIGRAMS.fullmatch(word) is not None)
        if piece and not word.isascii() and "→" not in before and before.endswith(word[:-1]):
            whole[-1] += word[-1]
        else:
            whole.append(word)
    return tuple(whole)
