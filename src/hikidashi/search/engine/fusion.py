"""Fusion of the lexical and the semantic ranking, and what a model reads of a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from .analyzer import Analyzer, is_everyday, is_request, is_weak, share_of_word, spelling, stem
from .gate import OF_BEST, Judgement, TermsOf, judged
from .index import Index
from .query import Query, without_literals

__all__ = ["MEANING", "Fused", "Reading", "fused", "hybrid", "reading_of", "wish_by_wish"]

MEANING = 0.55
"""The weight of the semantic ranking in a score; the lexical one has the rest.

One number, chosen on sets of questions of which each was left out in turn: `packages/hikidashi-encoder`.
"""
_CANDIDATES = 50  # hits of each ranking that are fused: more do not change the first ten
# Of the floor: words are no evidence where the best tool by words is far, and no other nearer than this. Of 190 short
# requests in three catalogues that holds back two, and two more with .75 in place of .5.
_FAR = 0.4
_NEARLY = 0.5
# Of the floor: for a clear request that shares words or synonyms with a tool, this is near. Of 213 requests in everyday
# words the search is confident of 190 then, and of 24 of 60 that no tool serves; with .75 of 194 and 28.
_NEAR = 0.9
_UNDERSTOOD = 0.5  # more than this share of a question must have been read for its similarity to be evidence


_NONE: Mapping[int, float] = MappingProxyType({})


def fused(
    words: Mapping[int, float], meaning: Mapping[int, float], share: float, unread: Mapping[int, float] = _NONE
) -> dict[int, Fused]:
    """Weighted sum of two normalised rankings, for the tools of `meaning`.

    `meaning` is min-max-normalised and weighted by `share`; `words` is divided by its maximum, with 0 for tools that it
    lacks, its minimum. Measured, this beats reciprocal rank fusion, which ignores the distances between scores.

    Args:
        words: The scores by words.
        meaning: The similarities.
        share: The weight of meaning, from 0 to 1.
        unread: By what share of it, from 0 to 1, tools are ranked by words in place of meaning; 0 for others.
    """
    highest = max(words.values(), default=0.0) or 1.0
    low, high = min(meaning.values(), default=0.0), max(meaning.values(), default=0.0)
    found: dict[int, Fused] = {}
    for number, similarity in meaning.items():
        matched = words.get(number, 0.0)
        weight = share * (1 - unread.get(number, 0.0))
        near = weight * ((similarity - low) / (high - low) if high > low else 1.0)
        found[number] = Fused((1 - weight) * matched / highest + near, near)
    return found


def hybrid(
    index: Index,
    asked: Query,
    name_terms: TermsOf,
    similar: Callable[[int, Sequence[int]], dict[int, list[float]]],
    *,
    floor: float,
    reading: Reading,
) -> Judgement:
    """The hits of both rankings, fused, and whether the search is confident of them.

    It is if the lexical gate is confident of the best hit by words, which comes first where no tool is near in meaning,
    or if one is and the question is neither a statement nor of everyday words alone. Where what was read says the
    contrary, words are not enough: for a statement, if no tool is near; for what is not clearly a request, if the
    best by words is far and no other is nearer.

    Args:
        index: The lexical index.
        asked: The question.
        name_terms: The terms in the name of a tool.
        similar: The nearest tools, as many as given, and then the given others, with their similarity to the question
            and to each of its clauses.
        floor: The similarity from which a tool is about the question.
        reading: What the model has read of the question.
    """
    words = judged(index, asked, _CANDIDATES, name_terms)
    near = similar(_CANDIDATES, [number for number, _ in words.hits])
    similarities = {number: max(one) for number, one in near.items()}
    nearest_tool, nearest = max(similarities.items(), key=itemgetter(1))
    is_asked = asked.is_clear_request and not asked.is_statement and bool(words.hits)
    is_near = (
        nearest >= (_NEAR * floor if is_asked else floor)
        and reading.share > _UNDERSTOOD
        and not _is_everyday(asked, reading)
    )
    if not words.hits and not is_near:
        return replace(words, read=reading.text, nearest=(nearest_tool, _nearness(nearest, floor)))
    # Tools that are found by meaning may have words of the question too, if not enough for the best fifty.
    scores = index.scores(asked.weights, similarities)
    unread = {number: _unread_in(number, index, reading) for number in similarities} if reading.unread else {}
    every = fused(scores, similarities, MEANING * reading.share, unread)
    is_sure = bool(words.hits) and not words.doubt
    if is_sure:
        is_sure = not _is_denied(asked, reading, nearest, similarities[words.hits[0][0]], floor)
    if not is_sure and not is_near:  # no evidence: the tools with most of the words are the nearest
        by_words = OF_BEST * max(scores.values())
        every = {number: one for number, one in every.items() if scores[number] >= by_words > 0}
    both = wish_by_wish(every, near, min(similarities.values()))
    order = list(both)
    if is_sure and not is_near:
        best = words.hits[0][0]
        order = [best, *(number for number in order if number != best)]
        both = {number: _at_most(both[best].score, one) for number, one in both.items()}
    hits = [(number, both[number].score) for number in order]
    doubt = "" if is_sure or (is_near and not asked.is_statement) else _doubt(words, is_near=is_near)
    shares = {number: one.by_meaning / one.score for number, one in both.items() if one.score}
    return Judgement(
        hits,
        doubt,
        shares,
        is_by_meaning=not is_sure and not doubt,
        nearness={number: _nearness(similarities[number], floor) for number in both},
        read=reading.text,
        nearest=(nearest_tool, _nearness(nearest, floor)),
    )


def _nearness(similarity: float, floor: float) -> float:
    return similarity / floor if floor > 0 else 1.0


def _at_most(most: float, one: Fused) -> Fused:
    """A score with so much less from meaning that it is no higher than `most`."""
    if one.score <= most:
        return one
    return Fused(most, max(0.0, one.by_meaning - (one.score - most)))


def _unread_in(number: int, index: Index, reading: Reading) -> float:
    """The share of the words in a script that the model does not read which a tool has: it is described in them."""
    return sum(share for term, share in reading.unread.items() if index.has(number, term))


def _is_everyday(asked: Query, reading: Reading) -> bool:
    """Whether the model has read only words that people also say to each other: `do you love me?`.

    A clear request may be of generic words alone: `start the build`.
    """
    if reading.is_translated:
        terms = Analyzer().terms
        said = {term for word, english in reading.translations if is_everyday(word) for term in terms(english)}
        words = [word for word in terms(reading.text) if is_weak(word) or word not in said]
    else:
        own = [term for term in asked.weights if term not in asked.synonyms]
        words = [term if is_weak(term) else asked.word_of(term) for term in own]
        words += map(stem, asked.missing)
    others = [word for word in words if not is_everyday(word) and not is_request(word)]
    return not others or (all(map(is_weak, others)) and not asked.is_clear_request)


def _is_denied(asked: Query, reading: Reading, nearest: float, named: float, floor: float) -> bool:
    """Whether the meaning of a question, as far as it was read, says that no tool is about it.

    Args:
        asked: The question.
        reading: What the model has read of it.
        nearest: The similarity of the nearest tool.
        named: That of the best tool by words.
        floor: The similarity from which a tool is about the question.
    """
    if asked.is_statement:
        return nearest < floor
    if asked.is_clear_request or reading.is_translated or reading.share < 1:
        return False
    return named < _FAR * floor and nearest < _NEARLY * floor


def _doubt(words: Judgement, *, is_near: bool) -> str:
    if not words.hits:
        return "No word of the question matches, and it reads like talk rather than a request."
    if not words.doubt:
        return "Words of the question match, but no tool is near in meaning."
    if is_near:
        return words.doubt
    return f"{words.doubt.removesuffix('.')}, and no tool is near in meaning."


_CONSONANTS = re.compile(r"[b-df-hj-np-tv-xz]{5,}", re.IGNORECASE)  # shorter ones are abbreviations: `html`
_LATIN_END = "\u0250"
_MOSTLY = 2  # letters in Latin script per letter in another, in an English question with a name in it


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a question for a model, and how much of the question it has."""

    text: str
    share: float = 1.0
    """From 0 to 1; less than 1 if words of the question are misspelled, or in no glossary, or no words."""
    is_translated: bool = False
    """Whether it is a question in another language, of which it has only the words that a glossary has."""
    translations: tuple[tuple[str, str], ...] = ()
    """Those words, with the English for each."""
    unread: Mapping[str, float] = field(default_factory=dict[str, float])
    """The terms in another script that tools have as they are, and the share of the question in it that each is."""


def reading_of(text: str, asked: Query, *, multilingual: bool) -> Reading | None:
    """What a model reads of a question; None if that is nothing.

    A model that is not multilingual reads, of a question in another language than English, the English terms that the
    glossaries have for its words, and those words that tools have as they are, such as names.

    Args:
        text: The question.
        asked: The same as the search by words reads it.
        multilingual: Whether the model reads all languages.
    """
    plain = without_literals(text)
    if multilingual:
        return Reading(plain)
    letters = [letter for letter in plain if letter.isalpha()]
    others = sum(letter >= _LATIN_END for letter in letters)
    if not asked.understanding.foreign and len(letters) - others >= _MOSTLY * others:
        words = "".join(" " if letter.isalpha() and letter >= _LATIN_END else letter for letter in plain)
        unread = len({asked.sources[term] for term in asked.respelled}) + sum(map(_is_no_word, asked.missing))
        share = 1 - unread / max(len(set(plain.casefold().split())), 1)
        return Reading(_with_own_words(" ".join(words.split()), asked), share) if share > 0 else None
    translated = _translated(asked)
    if not translated:
        return None
    guesses = asked.translations.keys() | asked.respelled | asked.synonyms.keys()
    there = [term for term in asked.weights if term not in guesses]
    own = [term for term in there if term.isascii()]
    words = {word for word, _ in translated}
    spelled = [spelling(term, asked.sources[term]) for term in own]
    kept = dict.fromkeys(word for word in spelled if word not in words)
    unknown = sum(share_of_word(word) for word in asked.missing if word not in words) + len(set(spelled)) - len(kept)
    known = len(translated) + len(kept)
    share = known / (known + unknown)
    english = " ".join([*(english for _, english in translated), *kept])
    unread = _shares([term for term in there if not term.isascii()], asked)
    return Reading(english, share, is_translated=True, translations=tuple(translated), unread=unread)


def _is_no_word(word: str) -> bool:
    """Whether `word` has no vowel: of `pgsqc`, a model reads pieces that are near to anything."""
    return _CONSONANTS.fullmatch(word) is not None


def _with_own_words(text: str, asked: Query) -> str:
    """An English question with the words of the user's own glossary in English, and what it has in other scripts."""
    for word, english in _translated(asked):
        text, found = re.subn(rf"(?<!\w){re.escape(word)}(?!\w)", lambda _, put=english: put, text, flags=re.IGNORECASE)
        text = text if found else f"{text} {english}"
    return text


def _shares(terms: list[str], asked: Query) -> dict[str, float]:
    """The share of each of `terms` among them and the words in other scripts that no tool has."""
    parts = {term: share_of_word(term) for term in terms}
    missing = sum(share_of_word(word) for word in asked.missing if not word.isascii())
    return {term: part / (sum(parts.values()) + missing) for term, part in parts.items()}


def _translated(asked: Query) -> list[tuple[str, str]]:
    """The words that a glossary has, and the English for each: what tools have of it, or its first meaning."""
    there: dict[str, list[str]] = {}
    for term, english in asked.translations.items():
        there.setdefault(asked.sources[term], []).append(english)
    found = asked.understanding.translations
    return [(word, " ".join(there.get(word) or english[:1])) for word, english in found]


# Similarity that a clause loses once a tool was found for it. Chosen with the untuned base of the encoder: .03 to .08
# gain on four of five public sets, and on tasks written later that take tools of several servers.
_FOUND = 0.05


class Fused(NamedTuple):
    """The score of a tool, from 0 to 1, and the part of it that is from meaning."""

    score: float
    by_meaning: float


def wish_by_wish(scores: Mapping[int, Fused], near: Mapping[int, Sequence[float]], low: float) -> dict[int, Fused]:
    """The scores, best first, where each clause counts for less once the tool that is best for it has its place.

    Args:
        scores: The score of each tool.
        near: The similarity of each tool to the question as a whole, and to each of its clauses.
        low: The similarity from which meaning adds to a score.
    """
    rest, found = dict(scores), dict[int, Fused]()
    has_tool: set[int] = set()
    while rest:
        order = sorted(rest, key=lambda number: (-rest[number].score, number))
        for number in order:
            found[number] = rest.pop(number)
            clause = _nearest(near[number])
            # The first is the whole question; a single clause is nearly that.
            if clause and clause not in has_tool and len(near[number]) > 2:
                has_tool.add(clause)
                rest = {other: _lowered(scores[other], near[other], has_tool, low) for other in rest}
                break
    return found


def _nearest(similarities: Sequence[float]) -> int:
    return max(range(len(similarities)), key=similarities.__getitem__)


def _lowered(one: Fused, similarities: Sequence[float], has_tool: set[int], low: float) -> Fused:
    """The score of a tool if the clauses that have a tool count for less."""
    highest = max(similarities)
    if highest <= low:
        return one
    left = max(value - _FOUND * (clause in has_tool) for clause, value in enumerate(similarities))
    lost = one.by_meaning * min(1.0, (highest - left) / (highest - low))
    return Fused(one.score - lost, one.by_meaning - lost)
