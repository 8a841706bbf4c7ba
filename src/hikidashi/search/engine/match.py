"""`ToolMatch`: a tool that a search found and why; `Explanation`: also what it left out, and how it read the query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from .analyzer import Analyzer, is_inflection, whole_words
from .entry import Entry
from .index import Index
from .question import Question
from .ranking import NEAREST, Hit, Ranking

Reasons = Callable[[Entry], dict[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class ToolMatch:
    """A tool that a search found."""

    name: str
    score: float
    """The similarity in meaning plus a share for words, from 0 to about 1.25; one that the question names has more."""
    entry: Entry = field(repr=False)
    reasons: Reasons = field(repr=False, compare=False)
    doubt: str = ""
    """Why this may not be what was asked for; empty if the search is confident."""
    by_meaning: float = 0.0
    """The share of the score that is from meaning; the rest, `by_words`, is from words, a pattern or the name."""
    nearness: float | None = None
    """How near the tool is to the question in meaning: from 1 on it is about the question; None if only words count."""
    probability: float = 1.0
    """The probability that the first match of a search is right, the same for all of its matches."""

    @property
    def confident(self) -> bool:
        """Whether there is a tool for the question; if not, this is only one of the nearest."""
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
        """The words that matched, per field: `{"name": ("send",), "description": ("mial→mail",)}`."""
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
    """The words searched for, `mial→mail` for a corrected spelling, and how many tools have each."""
    read: str = ""
    """What the encoder has read: the question without literal values. Empty if it was ranked by words alone."""
    nearest: tuple[str, float] | None = None
    """The tool nearest in meaning, and its `ToolMatch.nearness`; None if only words count."""


def matches_of(ranking: Ranking, question: Question, limit: int, entry: EntryOf) -> list[ToolMatch]:
    """The tools to show, best first."""
    return [_match(entry(hit.number), hit, question, ranking) for hit in ranking.shown[:limit]]


def explained(ranking: Ranking, question: Question, limit: int, entry: EntryOf, index: Index) -> Explanation:
    """The matches, the next best hits and why they are not shown, and the words searched for."""
    matches = matches_of(ranking, question, limit, entry)
    rest = ranking.hits[len(matches) : limit + HELD_BACK]
    near = [hit for hit in ranking.hits if hit.nearness is not None]
    nearest = max(near, key=lambda hit: hit.nearness or 0.0, default=None)
    return Explanation(
        matches,
        [
            replace(_match(entry(hit.number), hit, question, ranking), doubt=_why_not(ranking, hit, place, limit))
            for place, hit in enumerate(rest, len(matches))
        ],
        _words(question, index, entry),
        read=question.text if near else "",
        nearest=None if nearest is None else (entry(nearest.number).name, nearest.nearness or 0.0),
    )


def _match(entry: Entry, hit: Hit, question: Question, ranking: Ranking) -> ToolMatch:
    return ToolMatch(
        name=entry.name,
        score=hit.score,
        entry=entry,
        reasons=question.words_in,
        doubt=ranking.doubt,
        by_meaning=hit.by_meaning / hit.score if hit.score else 0.0,
        nearness=hit.nearness,
        probability=ranking.probability,
    )


def _why_not(ranking: Ranking, hit: Hit, place: int, limit: int) -> str:
    if ranking.doubt and place >= NEAREST:
        return f"The search is not confident of any tool, so only the nearest {NEAREST} are shown. {ranking.doubt}"
    if hit in ranking.shown:
        return f"More tools match than the {limit} that were asked for."
    return "Its score is less than half of the best."


def _words(question: Question, index: Index, entry: EntryOf) -> dict[str, str]:
    words: dict[str, str] = {}
    for term in question.weights:
        if is_inflection(term):
            continue
        number = index.tools_with(term)
        state = f"in {number:,} tool{'' if number == 1 else 's'}"
        if term in question.values:
            state += ", read as a value: a tool need not have it"
        there = _text_with(term, entry(index.first_with(term))) if term in question.guesses else ""
        words[question.shown(term, there)] = state
    for word in question.missing:
        if not is_inflection(word):
            words[word] = "in no tool"
    return words


def _text_with(term: str, entry: Entry) -> str:
    """The token of a tool that has `term`."""
    analyzer = Analyzer()
    texts = (text for _, texts in entry.texts() for text in texts)
    return next((piece for text in texts for found, piece in analyzer.sources(text).items() if found == term), "")
