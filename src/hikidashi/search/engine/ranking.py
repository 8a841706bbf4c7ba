"""One score for each tool from words and meaning, and how sure the search is of the best one.

The score of a tool is its similarity to the question plus its score by words, as a share of what a tool with every word
of the question would get. Both are absolute: a chance word does not count for more because no other tool has any.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from math import exp, log

from .analyzer import is_inflection, whole_words
from .index import Index
from .question import Question

NEAREST = 3  # hits shown when the search is confident of none: enough to recognise the right one

_CANDIDATES = 50  # hits of each kind that are scored: more do not change the first ten
# The weight of words beside a similarity: with .2 the public sets in English lose 1.4 points in the mean, and with .4
# questions in other languages lose half a point.
_WORDS = 0.3
# Of a tool with every word: what a tool must have at least for its words to count in full. Without it a chance word
# counts as much as a whole question.
_ENOUGH = 0.3
# Hits that score less than this share of the best are not shown.
_OF_BEST = 1 / 2
_SUREST = 0.02  # no question counts as surely a request, or surely talk
_LISTED = 4  # words in a reason


@dataclass(frozen=True, slots=True)
class _Judge:
    """A logistic regression on the evidence for the best tool."""

    constant: float
    rare: float
    """Per word that matches, as rare as one that no other tool has."""
    share: float = 0.0
    """For the share of the question that matches."""
    meaning: float = 0.0
    """For the similarity of the nearest tool, as a share of the floor of the encoder."""
    request: float = 0.0
    """For the logarithm of the odds that the question asks for something."""
    gap: float = 0.0
    """For the distance to the second score."""

    def logit(self, near: float, request: float, rare: float, share: float, gap: float) -> float:
        by_words = self.rare * rare + self.share * share
        return self.constant + self.meaning * near + self.request * request + by_words + self.gap * gap


# Fitted on the public sets and on talk, each set with the same weight and left out in turn: `make bench` prints how
# well they do. Whether there is a tool for the question, and whether the first one is right.
_SERVED = _Judge(meaning=10.0, request=1.3, rare=1.6, share=0.5, constant=-11.6)
_RIGHT = _Judge(meaning=3.3, request=0.26, rare=0.3, gap=11.4, constant=-5.9)
_SERVED_BY_WORDS = _Judge(request=0.5, rare=4.5, share=5.0, constant=-3.9)
_RIGHT_BY_WORDS = _Judge(rare=1.1, share=3.0, gap=1.2, constant=-2.3)
# What words must give more where no tool is near: names and terms that no encoder knows are found so. With 1, wishes
# that no tool serves are answered with confidence twice as often.
_WITHOUT_MEANING = 2.0
# Below, nothing is shown where no word matches: one question of a hundred that a tool serves is there, and a third of
# the talk.
_NOTHING = -3.3


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an encoder has made of a question."""

    nearest: Callable[[int, Collection[int]], dict[int, float]]
    """The nearest tools, as many as given, and then the given others, with their similarity from 0 to 1."""
    floor: float
    """The similarity from which a tool is about a question."""
    request: float | None = None
    """The probability that it asks for something, rather than tells; None if the encoder does not say."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool, and how its score was made."""

    number: int
    score: float
    by_meaning: float = 0.0
    """The part of the score that is similarity."""
    nearness: float | None = None
    """The similarity as a share of the floor of the encoder; None if only words count."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The tools for a question, best first, and how sure it is."""

    hits: list[Hit] = field(default_factory=list[Hit])
    doubt: str = ""
    """Why none of them may be what was asked for; empty if the search is confident."""
    probability: float = 0.0
    """The probability that the first one is right."""
    is_by_meaning: bool = False
    """Whether it is the similarity that the search is confident by."""
    least: float = 0.0
    """The score below which hits are not shown."""

    @property
    def shown(self) -> list[Hit]:
        """The hits to show: few if the search is not confident, and none that scores far below the best."""
        hits = self.hits[:NEAREST] if self.doubt else self.hits
        return [hit for hit in hits if hit.score >= self.least]

    def preferring(self, named: list[int]) -> Ranking:
        """The same with the tools that the question names first; the search is confident of these."""
        if not named:
            return self
        best = self.hits[0].score if self.hits else 0.0
        known = {hit.number: hit for hit in self.hits}
        first = [replace(known.get(number, Hit(number, 0.0)), score=best + 1.0, by_meaning=0.0) for number in named]
        rest = [] if self.doubt else [hit for hit in self.hits if hit.number not in named]
        return Ranking(first + rest, probability=1.0, least=self.least)


def rank(question: Question, index: Index, limit: int, meaning: Meaning | None) -> Ranking:
    """The best tools for a question; none if none has a word of it or is near in meaning."""
    by_words = index.top(question.weights, max(limit, _CANDIDATES))
    similar = {} if meaning is None else meaning.nearest(max(limit, _CANDIDATES), [number for number, _ in by_words])
    words = index.scores(question.weights, similar) if meaning is not None else dict(by_words)
    ideal = question.ideal(index)
    full = max(max(words.values(), default=0.0), _ENOUGH * ideal)
    hits: list[Hit] = []
    for number, score in words.items():
        share = score / full if full else 0.0
        if meaning is None:
            hits.append(Hit(number, share))
        else:
            near = max(0.0, similar[number])
            hits.append(Hit(number, near + _WORDS * share, near, near / meaning.floor))
    hits.sort(key=lambda hit: (-hit.score, hit.number))
    if not hits:
        return Ranking()
    return _judged(Ranking(hits), question, index, words[hits[0].number], meaning)


def _judged(ranking: Ranking, question: Question, index: Index, words: float, meaning: Meaning | None) -> Ranking:
    """`ranking` with how sure it is, given the score of its first hit by `words`."""
    first = ranking.hits[0]
    ideal = question.ideal(index)
    near = max(hit.nearness or 0.0 for hit in ranking.hits)
    rare = words / (index.idf_at(0) * index.saturation)
    share = min(1.0, words / ideal) if ideal else 0.0
    gap = first.score - (ranking.hits[1].score if len(ranking.hits) > 1 else 0.0)
    right = _RIGHT_BY_WORDS if meaning is None else _RIGHT
    evidence = near, _odds(meaning), rare, share, gap
    by_words = _SERVED_BY_WORDS.logit(*evidence)
    served = by_words if meaning is None else max(_SERVED.logit(*evidence), by_words - _WITHOUT_MEANING)
    if served < _NOTHING and not question.weights:
        return Ranking()
    return Ranking(
        ranking.hits,
        "" if served >= 0 else _doubt(question, index, first.number, meaning),
        min(_probability(right.logit(*evidence)), _probability(served)),  # none is right where there is none
        is_by_meaning=served >= 0 > by_words,
        least=_OF_BEST * first.score,
    )


def _probability(logit: float) -> float:
    return 1 / (1 + exp(-logit))


def _odds(meaning: Meaning | None) -> float:
    """The logarithm of the odds that a question asks for something; 0 if the encoder does not say."""
    if meaning is None or meaning.request is None:
        return 0.0
    probable = min(max(meaning.request, _SUREST), 1 - _SUREST)
    return log(probable / (1 - probable))


def _doubt(question: Question, index: Index, best: int, meaning: Meaning | None) -> str:
    """A sentence that says why the `best` tool may not be what was asked for."""
    if meaning is not None and meaning.request is not None and meaning.request < 1 / 2:
        return "The question reads like talk rather than a request."
    terms = [term for term in question.weights if index.has(best, term) and not is_inflection(term)]
    matched = {question.sources[term] for term in terms}
    missing = [word for word in question.missing if not is_inflection(word) and word not in matched]
    reason = f"Only {_listed(map(question.shown, terms))} of the question matches" if terms else "No word matches"
    if missing and terms:
        reason += f": no tool has {_listed(missing)}"
    return f"{reason}." if meaning is None else f"{reason}, and no tool is near enough in meaning."


def _listed(words: Iterable[str]) -> str:
    every = list(dict.fromkeys(whole_words(tuple(words))))
    shown = [repr(word) for word in every[:_LISTED]]
    return ", ".join(shown) + (" …" if len(every) > _LISTED else "")
