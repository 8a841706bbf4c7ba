"""`ToolMatch`: a tool that a search found and why; `Explanation`: also what it left out, and how it read the query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from .analyzer import Analyzer, is_inflection, is_weak, whole_words
from .entry import Entry
from .gate import NEAREST, OF_BEST, Judgement
from .index import Index
from .query import Query

__all__ = ["HELD_BACK", "Explanation", "ToolMatch", "explained", "matches_of"]

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


HELD_BACK = 5  # further hits that are explained

EntryOf = Callable[[int], Entry]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a search found and why."""

    matches: list[ToolMatch]
    """What `ToolCatalog.search` returns."""
    held_back: list[ToolMatch] = field(default_factory=list[ToolMatch])
    """The next best tools; the `doubt` of each says why it was not shown."""
    words: dict[str, str] = field(default_factory=dict[str, str])
    """The words searched for, `送信→send` for a translation or a corrected spelling, and how many tools have each."""
    read: str = ""
    """What the encoder has read: English, without literal values. Empty if the question was ranked by words alone."""
    nearest: tuple[str, float] | None = None
    """The tool nearest in meaning, found or not, and its `ToolMatch.nearness`; None if only words count."""


def matches_of(judgement: Judgement, query: Query, limit: int, entry: EntryOf) -> list[ToolMatch]:
    """The tools to show, best first."""
    return [_match(entry(number), score, query, judgement, number) for number, score in judgement.shown[:limit]]


def explained(judgement: Judgement, query: Query, limit: int, entry: EntryOf, index: Index) -> Explanation:
    """The matches, the next best hits and why they are not shown, and the words searched for."""
    shown = judgement.shown
    kept = {number for number, _ in shown[:limit]}
    held_back = [
        replace(
            _match(entry(number), score, query, judgement, number),
            doubt=_why_not(place, score, judgement, (number, score) in shown, limit),
        )
        for place, (number, score) in enumerate(judgement.hits[: limit + HELD_BACK])
        if number not in kept
    ]
    nearest = None if judgement.nearest is None else (entry(judgement.nearest[0]).name, judgement.nearest[1])
    return Explanation(
        matches_of(judgement, query, limit, entry),
        held_back,
        _words(query, index, entry),
        read=judgement.read,
        nearest=nearest,
    )


def _match(entry: Entry, score: float, query: Query, judgement: Judgement, number: int) -> ToolMatch:
    return ToolMatch(
        name=entry.name,
        score=score,
        entry=entry,
        reasons=query.words_in,
        doubt=judgement.doubt_of(number, score),
        by_meaning=judgement.by_meaning.get(number, 0.0),
        nearness=judgement.nearness.get(number),
    )


def _why_not(place: int, score: float, judgement: Judgement, is_shown: bool, limit: int) -> str:
    if is_shown:
        return f"More tools match than the {limit} that were asked for."
    if judgement.doubt and place >= NEAREST:
        return f"The search is not confident of any tool, so only the nearest {NEAREST} are shown. {judgement.doubt}"
    if score >= OF_BEST * judgement.hits[0][1]:
        return "Only a part of the question matches, and the tool is far in meaning."
    return "Its score is less than a quarter of the best."


def _words(query: Query, index: Index, entry: EntryOf) -> dict[str, str]:
    words: dict[str, str] = {}
    for term in query.weights:
        if is_inflection(term):
            continue
        number = index.tools_with(term)
        state = f"in {number:,} tool{'' if number == 1 else 's'}"
        if is_weak(term):
            state += ", but too common to be evidence"
        elif term in query.optional and term not in query.synonyms:
            state += ", read as a value: a tool need not have it"
        is_guess = term in query.respelled or term in query.synonyms
        words[query.shown(term, _text_with(term, entry(index.first_with(term))) if is_guess else "")] = state
    for word in query.missing:
        if not is_inflection(word):
            words[word] = "in no tool"
    return words


def _text_with(term: str, entry: Entry) -> str:
    """The token of a tool that has `term`."""
    analyzer = Analyzer()
    texts = (text for _, texts in entry.texts() for text in texts)
    return next((piece for text in texts for found, piece in analyzer.sources(text).items() if found == term), "")
