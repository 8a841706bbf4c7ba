"""Confidence of a search: whether its best hit covers enough of the question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from .analyzer import is_everyday, is_inflection, is_request, is_weak, share_of_word, stem, whole_words
from .index import Index
from .query import Query

__all__ = ["NEAREST", "OF_BEST", "Judgement", "TermsOf", "judged"]

NEAREST = 3  # hits shown when the search is confident of none: enough to recognise the right one

# Thresholds on coverage, the share of the question that the best hit has, with words weighted by idf. In a large
# catalogue some tool has any word: a hit with one word of the question must cover half of it, and one that covers less
# than half must score a quarter of an average word, which a chance word in an example does not. In a small catalogue
# most words are missing, which says little. Everywhere, a hit by weak words, corrected spellings or less than half a
# word alone must cover two thirds.
_QUARTER = 1 / 4
_HALF = 1 / 2
_TWO_THIRDS = 2 / 3
_LARGE = 2_000
# A synonym counts for most of its word, but is weak evidence: two of them are worth half a word.
_HINTED = 0.7
_SURE_HINT = 1 / 4
# A statement shares a word with some tool by chance, but seldom two, and so does what has everyday words of another
# language that no tool has, unless it is clearly a request; a word of more tools than these is no evidence. In
# a small catalogue, every word is in a large share of the tools.
_MORE_THAN_ONE = 3 / 2
_COMMON = 1 / 5
_SMALL = 100
OF_BEST = 1 / 4
"""Hits that score less than this share of the best match only words of any question."""
# Hits below half of the best have a part of the question: they are marked, unless near in meaning. Those that are far
# in meaning are left out. Of 1,044 public questions that leaves out no right tool (recall@5 +.33 on one set of five);
# by words alone it would cost up to 4.5 points, so there they are only marked.
_PART = 1 / 2
_FAR = 0.75
# A word in so few tools is as likely an example in an argument description as a purpose.
_EXAMPLE = 5

_HIDDEN = 50  # further hits to look at when the best ones match weak words alone

_NEXT = 5  # hits of which one may have the topic in its name

_SHOWN = 4  # words listed in a reason

TermsOf = Callable[[int], Collection[str]]
"""The terms in the name of a tool."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The hits of a search, and why they may be wrong."""

    hits: list[tuple[int, float]]
    """All of them, best first."""
    doubt: str = ""
    """Why none of them may be what was asked for; empty if the search is confident."""
    by_meaning: Mapping[int, float] = field(default_factory=dict[int, float])
    """The share of meaning in the score of each hit, where there is any."""
    is_by_meaning: bool = False
    """Whether the search is confident of them by meaning alone."""
    nearness: Mapping[int, float] = field(default_factory=dict[int, float])
    """How near each hit is in meaning, as a share of what makes a tool be about the question."""
    read: str = ""
    """What the model has read of the question; empty if it was ranked by words alone."""
    nearest: tuple[int, float] | None = None
    """The tool that is nearest in meaning, a hit or not, and how near it is."""

    @property
    def shown(self) -> list[tuple[int, float]]:
        """The hits to show: few if the search is not confident, and none that scores far below the best."""
        hits = self.hits[:NEAREST] if self.doubt else self.hits
        return [hit for hit in hits if hit[1] >= OF_BEST * hits[0][1] and not self._is_far_part(*hit)]

    def doubt_of(self, number: int, score: float) -> str:
        """Why this hit may not be what was asked for; empty if the search is confident of it."""
        is_part = not self.doubt and score < _PART * self.hits[0][1] and self.nearness.get(number, 0.0) < 1
        return "Only a part of the question matches, and another tool matches far better." if is_part else self.doubt

    def _is_far_part(self, number: int, score: float) -> bool:
        return bool(self.doubt_of(number, score)) and not self.doubt and self.nearness.get(number, 1.0) < _FAR

    def preferring(self, named: list[int]) -> Judgement:
        """The same with the tools that the question names first; the search is confident of these."""
        if not named:
            return self
        best = self.hits[0][1] if self.hits else 0.0
        others = [] if self.doubt else [hit for hit in self.hits if hit[0] not in named]
        by_meaning = {number: share for number, share in self.by_meaning.items() if number not in named}
        hits = [(number, best + 1.0) for number in named] + others
        return replace(self, hits=hits, doubt="", by_meaning=by_meaning, is_by_meaning=False)


def judged(index: Index, query: Query, limit: int, name_terms: TermsOf) -> Judgement:
    """The best hits for a question, and whether the search is confident of them.

    No hits if no tool has a word of the question that says what it is about.
    """
    hits = index.top(query.weights, limit)
    if not hits:
        return Judgement([])
    best = _Coverage.of(index, *hits[0], query)
    if best.is_enough(index, query, name_terms) or _is_topic_of_next(index, hits, query, name_terms):
        return Judgement(hits)
    evident = {term: weight for term, weight in query.weights.items() if not _is_weak_evidence(term, query)}
    if not any(index.has(hits[0][0], term) for term in evident):
        # Weak words ranked this hit first, and may hide a better one. They still help to rank hits with other words.
        hits = [hit for hit in index.top(query.weights, limit + _HIDDEN) if any(index.has(hit[0], t) for t in evident)]
        hits = hits[:limit] or index.top(evident or {term: query.weights[term] for term in query.respelled}, limit)
        if not hits:
            return Judgement([])
        best = _Coverage.of(index, *hits[0], query)
        if evident and best.is_enough(index, query, name_terms):
            return Judgement(hits)
    return Judgement(hits, best.doubt(query))


def _is_topic_of_next(index: Index, hits: list[tuple[int, float]], query: Query, name_terms: TermsOf) -> bool:
    """Whether a hit close to the best one has in its name what the best one has elsewhere, in two words for it."""
    if query.is_statement or not query.translations:
        return False
    close = [hit for hit in hits[1:_NEXT] if hit[1] >= _HALF * hits[0][1]]
    return any(_Coverage.of(index, *hit, query).is_topic(index, query, name_terms) for hit in close)


@dataclass(slots=True)
class _Coverage:
    """Coverage of a question by a tool, per word of the question, however many terms a word became.

    Optional terms that the tool does not have are left out.
    """

    doc: int
    score: float
    asked: dict[str, float] = field(default_factory=dict[str, float])
    """The weight of each word that some tool has."""
    found: dict[str, float] = field(default_factory=dict[str, float])
    """The weight of each word that this tool has."""
    hinted: dict[str, float] = field(default_factory=dict[str, float])
    """The weight of each word of which this tool only has a synonym."""
    terms: list[str] = field(default_factory=list[str])
    """The terms that this tool has."""
    lacking: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The terms that only other tools have, by word."""
    sure: float = 0.0
    """How many words this tool has that are hardly there by chance."""
    is_guessed: bool = False
    """Whether this tool has several corrected spellings, so that they confirm each other."""

    @classmethod
    def of(cls, index: Index, doc: int, score: float, query: Query) -> _Coverage:
        coverage = cls(doc, score)
        guessed: set[str] = set()
        sure: dict[str, float] = {}
        translated: set[str] = set()
        asked, found = coverage.asked, coverage.found
        for term, weight in query.weights.items():
            is_found = index.has(doc, term)
            word = query.word_of(term)
            if term in query.synonyms:
                if is_found:
                    coverage.terms.append(term)
                    coverage.hinted[word] = _HINTED * index.idf(word)
                continue
            if not is_found and term in query.optional:
                continue
            weighted = weight * share_of_word(term) * index.idf(term)
            asked[word] = max(weighted, asked.get(word, 0.0))
            if is_found:
                coverage.terms.append(term)
                translated.update([word] if term in query.translations else [])
                found[word] = max(weighted, found.get(word, 0.0))
                if not _is_weak_evidence(term, query) and not (query.is_statement and _is_common(term, index)):
                    # Two meanings of one word are one word, and so are a word and its translation.
                    so_far = sure.get(word, 0.0)
                    share = so_far + share_of_word(term)
                    is_one = term in query.translations or (word in query.glossed and share > 1)
                    sure[word] = 1.0 if is_one else share
                if term in query.respelled and not is_weak(term):
                    guessed.add(word)
            else:
                coverage.lacking.setdefault(word, []).append(term)
        for word in translated:  # its other meanings need not be there
            asked[word] = found[word]
        coverage.sure = sum(sure.values()) + _SURE_HINT * sum(not is_weak(word) for word in coverage.hinted)
        if len(guessed) > 1:
            coverage.sure += len(guessed)
            coverage.is_guessed = True
        return coverage

    def is_enough(self, index: Index, query: Query, name_terms: TermsOf) -> bool:
        """Whether the tool is about the question."""
        if not self.hinted and all(is_everyday(word) or is_request(word) for word in self.found):
            return False
        missing = sum(map(share_of_word, query.missing))
        total = sum(self.asked.values()) + missing * index.idf_at(0)
        coverage = sum((self.hinted | self.found).values()) / total if total else 0.0
        is_told = query.is_statement or (query.has_talk and not query.is_clear_request)
        if is_told and self.sure < _MORE_THAN_ONE:
            return False
        if self.sure < _HALF and coverage < _TWO_THIRDS:
            return False
        if coverage >= _HALF:
            return True
        if not query.is_statement and self.is_topic(index, query, name_terms):
            return True
        strictness = min(1.0, index.count / _LARGE)
        if len(self.found) <= 1 and coverage < _HALF * strictness:
            return False
        return self.score >= _QUARTER * strictness * total / ((len(self.asked) + missing) or 1)

    def is_topic(self, index: Index, query: Query, name_terms: TermsOf) -> bool:
        """Whether the name of the tool has what is asked for, and the rest of the question are values.

        A word that no tool has is read as a value. All values together count no more than the word in the name.
        """
        named = name_terms(self.doc)
        evident = [term for term in self.terms if term in named and self._is_evidence(term, query)]
        evident = [term for term in evident if query.word_of(term) in self.found]
        topic = max((self.found[query.word_of(term)] for term in evident), default=0.0)
        if not topic:
            return False
        unknown, everyday = _parted(query)
        values = sum(map(share_of_word, unknown)) * index.idf_at(0)
        needed = sum(map(share_of_word, everyday)) * index.idf_at(0)
        for word, terms in self.lacking.items():
            if word in self.found or word in self.hinted:
                continue
            if all(term in query.respelled or _may_be_example(term, index, query) for term in terms):
                values += self.asked[word]
            else:
                needed += self.asked[word]
        found = sum(self.found.values())
        return found >= needed + min(values, topic)

    def _is_evidence(self, term: str, query: Query) -> bool:
        return not _is_weak_evidence(term, query) or (self.is_guessed and term in query.respelled and not is_weak(term))

    def doubt(self, query: Query) -> str:
        """A sentence that says why the tool may not be what was asked for."""
        terms = [term for term in self.terms if not is_inflection(term)]
        matched = [query.shown(term) for term in terms if term not in query.synonyms]
        lacking = [word for word in query.missing if not is_inflection(word)]
        reason = f"Only {_listed(matched)} of the question matches"
        if not matched:
            reason = f"Only what {_listed(map(query.shown, terms))} may mean matches"
        if query.is_statement:
            reason += ", which reads like a statement rather than a request"
        elif lacking:
            reason += f": no tool has {_listed(lacking)}"
        return reason + "."


def _parted(query: Query) -> tuple[list[str], list[str]]:
    """The words that no tool has: those that may be values, and everyday words; generic verbs of tools are neither."""
    unknown: list[str] = []
    everyday: list[str] = []
    for word in query.missing:
        if query.is_everyday(word):
            everyday.append(word)
        elif not is_weak(stem(word)):
            unknown.append(word)
    return unknown, everyday


def _is_common(term: str, index: Index) -> bool:
    return index.tools_with(term) > _COMMON * max(index.count, _SMALL)


def _may_be_example(term: str, index: Index, query: Query) -> bool:
    return index.tools_with(term) <= _EXAMPLE and not is_weak(term)


def _is_weak_evidence(term: str, query: Query) -> bool:
    """Whether question and tool may share `term` by chance."""
    if is_weak(term) or is_inflection(term) or term in query.respelled:
        return True
    word = query.word_of(term)
    return is_weak(word) or (word is term and len(term) == 1 and share_of_word(term) < 1)


def _listed(words: Iterable[str]) -> str:
    every = list(dict.fromkeys(whole_words(tuple(words))))
    shown = [repr(word) for word in every[:_SHOWN]]
    return ", ".join(shown) + (" …" if len(every) > _SHOWN else "")
