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

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count

from ..words import HAN, KATAKANA, Term, beginning, run_term
from .database import POSITIONS, IndexReader

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
LEADING_HEADINGS = re.compile(r"\A(?:\s*#{1,6}[ \t].*(?:\n|\Z))+\s*")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage and its score."""

    passage: int
    score: float
    complete: bool
    """Whether it has every word of the query."""


def ranked(reader: IndexReader, terms: Sequence[Term]) -> Iterator[Ranked]:
    """Passages, best first: those with every word, then lazily those with some."""
    question = resolved(reader, terms)
    if not question.words:
        return
    near: list[int] = []
    complete: list[Ranked] = []
    if question.is_known:
        near = _candidates(reader, " AND ".join(word.expression for word in question.words))
        complete = [one for one, _ in _scored(reader, question, near, question.words, complete=True)]
        yield from sorted(complete, key=lambda one: (-one.score, one.passage))
    if question.has_parts:
        yield from _with_some(reader, question, near, complete)


def _with_some(
    reader: IndexReader, question: IndexQuery, near: Sequence[int], complete: Sequence[Ranked]
) -> Iterator[Ranked]:
    """Passages that lack words, best first: a group is scored when the results at hand are worse than it can be.

    `near` are further candidates, `complete` the passages with every word.
    """
    best = question.weight if complete else 0.0
    seen = {one.passage for one in complete}
    at_hand: list[tuple[float, int, float]] = []  # heaps: the best result and the best group first
    number = count()
    waiting = [
        (-_highest_score(question, group), next(number), group)
        for group in (PassageGroup(question.words, near), *groups(reader, question))
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
        for one, weight_of_one in _scored(reader, question, new, group.words, complete=False):
            best = max(best, weight_of_one)
            heappush(at_hand, (-one.score, one.passage, weight_of_one))
    for score, passage, weight_of_one in sorted(at_hand):
        if weight_of_one >= _OF_THE_BEST * best:
            yield Ranked(passage, -score, complete=False)


def _highest_score(question: IndexQuery, group: PassageGroup) -> float:
    """The highest score that a passage of `group` can have."""
    reached = group.weight / question.weight
    if question.pairs:
        reached += _TOGETHER * (question.share_of_pairs(group.words) - reached)
    return _EVERY_WORD * reached * len(group.words) / question.asked


def _scored(
    reader: IndexReader,
    question: IndexQuery,
    passages: Collection[int],
    words: Sequence[QueryWord],
    *,
    complete: bool,
) -> list[tuple[Ranked, float]]:
    """`passages` with their scores by `words`, and the idf of those they have.

    Without those that have only a few parts of compounds; if `complete`, without those that have no more than parts.
    """
    scored: list[tuple[Ranked, float]] = []
    for passage, title, heading, body in reader.texts(passages):
        text = LEADING_HEADINGS.sub("", body)  # headings are counted in their own field
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


TITLE, HEADING = 4, 2
"""Weights of the fields."""
_WEIGHTS = (float(TITLE), float(HEADING), 1.0)

# If there are more candidates, FTS5 preselects the best.
_MOST_CANDIDATES = 200
_BEST_OF_MANY = 60
_ENOUGH = 40
_ENOUGH_DOCUMENTS, _BEST_OF_FEW_DOCUMENTS = 20, 1_000
# A word in more passages gives results by itself only if there are no others.
_RARE = 500


def _candidates(reader: IndexReader, expression: str) -> list[int]:
    """The passages that match, or the best if there are many."""
    found = reader.matching(expression, _MOST_CANDIDATES + 1)
    if len(found) <= _MOST_CANDIDATES:
        return found
    best = reader.matching(expression, _BEST_OF_MANY, weights=_WEIGHTS)
    if len({passage // POSITIONS for passage in best}) < _ENOUGH_DOCUMENTS:  # all of one long document
        best = reader.matching(expression, _BEST_OF_FEW_DOCUMENTS, weights=_WEIGHTS)
    return best


@dataclass(frozen=True, slots=True)
class PassageGroup:
    """Passages that lack words of a query, by the words that they can have."""

    words: Sequence[QueryWord]
    passages: Collection[int] = ()
    search: Callable[[], list[PassageGroup]] | None = None
    """Finds the passages, in smaller groups; None if `passages` has them."""
    is_last_resort: bool = False
    """Whether they are results only if there are no others."""

    @property
    def weight(self) -> float:
        """The sum of the idf of the words."""
        return sum(word.idf for word in self.words)


def groups(reader: IndexReader, question: IndexQuery) -> list[PassageGroup]:
    """Groups that together have every passage with a word of `question`: no word is required.

    For each word there are the passages with it and a more frequent one, and those with it alone. A word that more than
    half of all passages have says nothing by itself.
    """
    words = question.words
    rests = [words[at:] for at in range(len(words) - 1)]
    together = [PassageGroup(rest, search=partial(_with_another, reader, rest)) for rest in rests]
    alone = [
        PassageGroup(
            [word],
            search=partial(_with, reader, word),
            is_last_resort=word.passages > _RARE,
        )
        for word in words
        if word.passages <= _RARE or 2 * word.passages <= question.passages
    ]
    return together + alone


def _with(reader: IndexReader, word: QueryWord) -> list[PassageGroup]:
    return [PassageGroup([word], _candidates(reader, word.loose))]


def _with_another(reader: IndexReader, words: Sequence[QueryWord]) -> list[PassageGroup]:
    """Passages with the first of `words` and another, by the words that they have."""
    first, *others = words
    had: dict[int, int] = {}  # a bit for each of the others
    for at, other in enumerate(others):
        found = reader.matching(f"{first.loose} AND {other.loose}", _MOST_CANDIDATES + 1)
        if len(found) > _MOST_CANDIDATES:
            return [PassageGroup(words, _best_with_another(reader, words))]
        for passage in found:
            had[passage] = had.get(passage, 0) | 1 << at
    by_words: dict[int, list[int]] = {}
    for passage, bits in had.items():
        by_words.setdefault(bits, []).append(passage)
    return [
        PassageGroup([first, *(other for at, other in enumerate(others) if bits >> at & 1)], passages)
        for bits, passages in by_words.items()
    ]


def _best_with_another(reader: IndexReader, words: Sequence[QueryWord]) -> set[int]:
    """The best of many: those that lack only one word, or if there are few of these, those that FTS5 prefers."""
    first, *others = (word.loose for word in words)
    left_out = (others[:at] + others[at + 1 :] for at in range(len(others)) if len(others) > 1)
    best = {one for kept in left_out for one in _candidates(reader, " AND ".join([first, *kept]))}
    if len(best) < _ENOUGH:
        best.update(_candidates(reader, f"{first} AND ({' OR '.join(others)})"))
    return best


_MOST_WORDS = 12
_LONGEST_PART = 8
# 経費の精算, 経費を毎月精算 and 経費事前精算 match 経費精算.
# Parts in two clauses (確定し、申告) or in a list (確定と申告) do not.
_BETWEEN_PARTS = 4
_JOINED_BY = rf"(?:[のをにがはでへな][^\W_]{{0,{_BETWEEN_PARTS - 1}}}|[{HAN}{KATAKANA}]{{0,{_BETWEEN_PARTS}}})??"

# Between two words: an ending and a stop word or two, or in a script without spaces an ending and a particle.
_BETWEEN_WORDS, _BETWEEN_LETTERS = 12, 4


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One word of a query that occurs in the index, whole or by its parts."""

    expression: str
    """FTS5 expression for the whole word; empty if no passage has it. For a compound, its parts close together."""
    loose: str
    """FTS5 expression for the word or any of its parts."""
    passages: int
    """Upper bound of the number of passages that have it."""
    idf: float
    count: Callable[[str], int]
    """Counts the whole word in a lower-case text."""
    letters: str = ""
    """The letters that `count` counts; empty for a compound."""
    parts: tuple[tuple[str, float], ...] = ()
    """The parts of a compound that does not occur as one word, each with its share of the letters."""

    def is_in(self, *texts: str) -> bool:
        """Whether one of `texts`, which match `expression`, has the whole word."""
        return not self.parts or any(self.count(text) for text in texts)

    def share_of_parts(self, *texts: str) -> float:
        """The total share of the parts that occur in one of `texts`."""
        return sum(share for letters, share in self.parts if any(letters in text for text in texts))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two words that follow each other in a query, stop words aside."""

    first: str
    second: str
    between: int
    """How many letters may stand between them in a text."""
    weight: float

    def is_in(self, text: str) -> bool:
        """Whether the two follow each other in `text`, in the same order."""
        at = text.find(self.first)
        while at >= 0:
            end = at + len(self.first)
            if text.find(self.second, end, end + self.between + len(self.second)) >= 0:
                return True
            at = text.find(self.first, end)
        return False


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """The words of a query that occur in the index, with their weights."""

    words: list[QueryWord]
    """Rarest first."""
    asked: int
    """Number of words in the query, including those that do not occur in the index."""
    weight: float
    """The sum of their idf."""
    pairs: list[Pair]
    """The words that follow each other."""
    weight_of_pairs: float
    passages: int
    """Number of passages in the index."""
    average_length: float
    """Of a passage, in letters."""

    def share_of_pairs(self, words: Collection[QueryWord]) -> float:
        """The share of `pairs`, by weight, that a passage with `words` can have."""
        letters = {word.letters for word in words}
        can = (pair.weight for pair in self.pairs if pair.first in letters and pair.second in letters)
        return sum(can) / self.weight_of_pairs

    def share_of_pairs_in(self, letters: Collection[str], *texts: str) -> float:
        """The share of `pairs`, by weight, in one of `texts`, which have the words with `letters`."""
        found = 0.0
        for pair in self.pairs:
            if pair.first in letters and pair.second in letters:
                for text in texts:
                    if pair.is_in(text):
                        found += pair.weight
                        break
        return found / self.weight_of_pairs

    @property
    def is_known(self) -> bool:
        """Whether every word occurs in the index."""
        return len(self.words) == self.asked and all(word.expression for word in self.words)

    @property
    def has_parts(self) -> bool:
        """Whether a passage can match the query in part."""
        return self.asked > 1 or any(word.parts for word in self.words)


def resolved(reader: IndexReader, terms: Sequence[Term]) -> IndexQuery:
    """`terms` looked up in the index."""
    _, passages, letters = reader.totals()

    def idf(number: int) -> float:
        return math.log(1 + (passages - number + 0.5) / (number + 0.5))

    words: list[QueryWord] = []
    pairs: list[Pair] = []
    before: QueryWord | None = None
    unknown = 0
    for term in terms:
        number = reader.count(term.expression)
        if number:
            start = beginning(term)
            word = QueryWord(term.expression, term.expression, number, idf(number), _counting(start), start)
        else:
            word = _compound(reader, term, idf)
        if word is None:
            unknown += 1
        else:
            words.append(word)
            if before and before.letters and word.letters:
                pairs.append(_pair(before, word, is_run=term.is_run))
        before = word
    words = sorted(words, key=lambda word: word.passages)[:_MOST_WORDS]
    # A word that no passage has may be a name or another way to say it: it does not outweigh a known one.
    least = min((word.idf for word in words if word.expression), default=idf(1))
    words = [word if word.expression else replace(word, idf=min(word.idf, least)) for word in words]
    weight = sum(word.idf for word in words) + unknown * least
    return IndexQuery(
        words,
        len(words) + unknown,
        weight,
        pairs,
        sum(pair.weight for pair in pairs),
        passages,
        letters / max(1, passages),
    )


def _pair(first: QueryWord, second: QueryWord, *, is_run: bool) -> Pair:
    between = _BETWEEN_LETTERS if is_run else _BETWEEN_WORDS
    return Pair(first.letters, second.letters, between, min(first.idf, second.idf))


def _compound(reader: IndexReader, term: Term, idf: Callable[[int], float]) -> QueryWord | None:
    """A run of letters that no passage has, split greedily into the longest words that occur in the index.

    A compound may occur in parts: 経費精算 as 経費の精算. Parts that are close together count as the whole word.
    """
    letters, parts, at, passages = term.letters, dict[str, str](), 0, 0
    while term.is_run and at < len(letters) - 1 and len(parts) < _MOST_WORDS:
        for end in range(min(len(letters), at + _LONGEST_PART), at + 1, -1):
            part = run_term(letters[at:end])
            if number := reader.count(part.expression):
                parts[part.letters.lower()] = part.expression
                at, passages = end, passages + number
                break
        else:
            at += 1
    if not parts:
        return None
    whole, near = "", 0
    if len(parts) > 1 and sum(map(len, parts)) == len(letters):
        whole = f"NEAR({' '.join(parts.values())}, {_BETWEEN_PARTS + 1})"
        near = reader.count(whole)
    loose = f"({' OR '.join(parts.values())})"
    pattern = re.compile(_JOINED_BY.join(map(re.escape, parts)))
    return QueryWord(
        expression=whole if near else "",
        loose=loose,
        passages=passages,
        idf=idf(max(near, 1)),
        count=lambda text: len(pattern.findall(text)) if near else 0,
        parts=tuple((part, len(part) / len(letters)) for part in parts),
    )


def _counting(letters: str) -> Callable[[str], int]:
    return lambda text: text.count(letters)
