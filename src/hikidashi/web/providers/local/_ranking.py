"""Ranking of passages: FTS5 finds candidates, BM25F ranks them, with scores from 0 to 1.

A passage with every word of the query scores 0.5 or more, one with some of them less. Within each half the score is the
BM25F score divided by the highest that the words could reach; passages that lack words are reduced in proportion. No
single word is required. A passage is dropped if its words have less than half of the idf that those of the best have:
a passage with every word leaves no room for those with a few, but a weak result, shown by its score, is better than
none.

Words that follow each other in the query count more where they follow each other in the text, too (sequential
dependence model, Metzler and Croft 2005).

Titles and headings are weighted the same for every passage below them (b = 0), so that within a document the passage
with the most matches wins.

FTS5's own bm25() reads every posting list twice; scoring the few candidates here is several times faster. They are
scored in groups: those that can reach a lower score than the results at hand wait until more results are requested.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count

from ...text.words import Term
from ._candidates import HEADING, TITLE, Engine, Group, groups
from ._conditions import NO_CONDITION, Condition
from ._database import POSITIONS
from ._query import Query, QueryWord, resolved

__all__ = ["Ranked", "ranked"]

_EVERY_WORD = 0.5  # the lowest score of a passage that has all words of the query
_K1, _B = 1.2, 0.75
_LOWEST = 0.01  # a result is not shown as 0.00
# The words of a passage must have this share of the idf that the words of the best have.
_OF_THE_BEST = 0.5
# Without a whole word, the parts of compounds must have this share of the query's idf.
_OF_THE_QUERY = 0.5
# Weight of words that follow each other: that of both windows of the model.
_TOGETHER = 0.15
# Weight of all parts of a compound that do not occur together.
_WORTH_OF_PARTS = 0.5
# Lower bound of the length normalization, and the factor for a passage without text.
_SHORT = 0.25
_WORTH_OF_BARE = 0.6
_HEADINGS = re.compile(r"\A(?:\s*#{1,6}[ \t].*(?:\n|\Z))+\s*")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage and its score."""

    passage: int
    score: float
    complete: bool
    """Whether it has every word of the query."""


def ranked(
    connection: sqlite3.Connection, terms: Sequence[Term], condition: Condition = NO_CONDITION
) -> Iterator[Ranked]:
    """Passages, best first: those with every word, then lazily those with some."""
    question = resolved(connection, terms)
    if not question.words:
        return
    engine = Engine(connection, condition)
    near: list[int] = []
    complete: list[Ranked] = []
    if question.is_known:
        near = engine.candidates(" AND ".join(word.expression for word in question.words))
        complete = [one for one, _ in _scored(connection, question, near, question.words, complete=True)]
        yield from sorted(complete, key=_best_first)
    if question.has_parts:
        yield from _with_some(engine, question, near, complete)


def _with_some(engine: Engine, question: Query, near: Sequence[int], complete: Sequence[Ranked]) -> Iterator[Ranked]:
    """Passages that lack words, best first: a group is scored when the results at hand are worse than it can be.

    `near` are further candidates, `complete` the passages with every word.
    """
    best = question.weight if complete else 0.0
    seen = {one.passage for one in complete}
    at_hand: list[tuple[float, int, float]] = []  # heaps: the best result and the best group first
    number = count()
    waiting = [
        (-_highest_score(question, group), next(number), group)
        for group in (Group(question.words, near), *groups(engine, question))
    ]
    heapify(waiting)
    while waiting:
        highest, _, group = heappop(waiting)
        if group.weight < _OF_THE_BEST * best or (group.is_last_resort and seen):
            continue
        while at_hand and at_hand[0][0] <= highest:
            score, passage, weight_of_one = heappop(at_hand)
            if weight_of_one >= _OF_THE_BEST * best:
                yield Ranked(passage, -score, complete=False)
        if group.search:
            for found in group.search():
                heappush(waiting, (-_highest_score(question, found), next(number), found))
            continue
        new = set(group.passages) - seen
        seen |= new
        for one, weight_of_one in _scored(engine.connection, question, new, group.words, complete=False):
            best = max(best, weight_of_one)
            heappush(at_hand, (-one.score, one.passage, weight_of_one))
    for score, passage, weight_of_one in sorted(at_hand):
        if weight_of_one >= _OF_THE_BEST * best:
            yield Ranked(passage, -score, complete=False)


def _best_first(one: Ranked) -> tuple[float, int]:
    return -one.score, one.passage


def _highest_score(question: Query, group: Group) -> float:
    """The highest score that a passage of `group` can have."""
    reached = group.weight / question.weight
    if question.pairs:
        reached += _TOGETHER * (question.share_of_pairs(group.words) - reached)
    return _EVERY_WORD * reached * len(group.words) / question.asked


def _scored(
    connection: sqlite3.Connection,
    question: Query,
    passages: Collection[int],
    words: Sequence[QueryWord],
    *,
    complete: bool,
) -> list[tuple[Ranked, float]]:
    """`passages` with their scores by `words`, and the idf of those they have.

    Without those that have only a few parts of compounds; if `complete`, without those that have no more than parts.
    """
    scored: list[tuple[Ranked, float]] = []
    for passage, title, heading, body in _texts(connection, passages):
        text = _HEADINGS.sub("", body)  # headings are counted in their own field
        if complete and not all(word.is_in(title, heading, text) for word in words):
            continue
        length = 1 - _B + _B * max(len(text) / question.average_length, _SHORT)
        bm25 = present = weight = 0.0
        whole: list[str] = []
        for word in words:
            times = TITLE * word.count(title) + HEADING * word.count(heading) + word.count(text) / length
            share = 1.0
            if times:
                whole.append(word.letters)
            elif complete:  # FTS5's stemmer also matches forms that are spelled differently
                times = 1 / length
            elif word.parts:
                share = _WORTH_OF_PARTS * word.share_of_parts(title, heading, text)
                times = 1.0
            else:
                continue
            present += share
            weight += share * word.idf
            bm25 += share * word.idf * times / (times + _K1)
        if not complete and not whole and weight < _OF_THE_QUERY * question.weight:
            continue
        reached = bm25 / question.weight
        if question.pairs:
            together = question.share_of_pairs_in(whole, title, heading, text)
            reached += _TOGETHER * (together - reached)
        if not text or text.isspace():
            reached *= _WORTH_OF_BARE
        score = (
            _EVERY_WORD + (1 - _EVERY_WORD) * reached if complete else _EVERY_WORD * reached * present / question.asked
        )
        scored.append((Ranked(passage, max(score, _LOWEST), complete), weight))
    return scored


def _texts(connection: sqlite3.Connection, passages: Collection[int]) -> Iterator[tuple[int, str, str, str]]:
    """Id, title, headings and text of each passage in lower case, in one query."""
    rows = connection.execute(
        "SELECT passage.id, title, heading, about, body FROM passage JOIN document ON document.id = passage.id / ? "
        f"WHERE passage.id IN ({', '.join('?' * len(passages))})",
        (POSITIONS, *passages),
    )
    for passage, title, heading, about, body in rows:
        yield passage, title.lower(), f"{heading}\n{about}".lower(), body.lower()
