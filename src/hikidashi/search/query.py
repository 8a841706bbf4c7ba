"""A question becomes weighted index terms, and keeps the words they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field

from .entry import Entry
from .glossary import Glossary, bundled
from .stem import stem
from .text import Analyzer, fold, is_request, is_weak, spelling
from .variants import RELATED
from .wording import is_told

__all__ = ["Query", "read_query"]

# A translation may be the wrong one of several, and a guess at spelling may be wrong: either counts, but a word
# that stands there as it was asked for counts more. A word that means nearly the same is a hint.
_TRANSLATED = 0.7
_RESPELLED = 0.7
_RELATED = 0.3
# The name of a file is what to do it with, and has words that tell of its content.
_IN_FILE_NAME = 0.3
_SHORT = 10  # terms: a longer question says itself what it means, and hints would only blur it

_VALUE = re.compile(r"\d|[^\W_][._][^\W_]")  # numbers, dates, identifiers, addresses, names of files
_FILE = re.compile(
    r"\.(?:avi|bak|csv|docx?|eml|gif|gz|html?|ics|jpe?g|json|log|md|mov|mp[34]|pdf|png|pptx?|srt|svg|tar|tgz|tsv|txt"
    r"|vtt|wav|webp|xlsx?|xml|ya?ml|zip)$",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(r"\S+" + _FILE.pattern.removesuffix("$") + r"(?!\w)", re.IGNORECASE)

_RELATIVES = {stem(word): tuple(map(stem, others)) for word, others in RELATED.items()}


@dataclass(slots=True)
class Query:
    """What to look up."""

    weights: dict[str, float] = field(default_factory=dict[str, float])
    """The terms that some tool has, and how much each counts."""
    missing: list[str] = field(default_factory=list[str])
    """The words that no tool has in any form. Names and numbers are left out: they are values rather than wishes."""
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """The piece of the question that each term comes from."""
    translations: dict[str, str] = field(default_factory=dict[str, str])
    """For terms that come from a glossary: the English word looked up."""
    respelled: set[str] = field(default_factory=set[str])
    """The terms that are guesses at what a misspelled word should be."""
    relatives: dict[str, str] = field(default_factory=dict[str, str])
    """For terms that mean nearly what a word of the question does: the term of that word."""
    optional: set[str] = field(default_factory=set[str])
    """The terms that a tool may well lack: relatives, and names and numbers, which are what to do it with."""

    glossed: list[str] = field(default_factory=list[str])
    """The words that a glossary explains, and that some tool has in English."""

    is_told: bool = False
    """Whether it is worded as something told rather than asked for."""

    def word_of(self, term: str) -> str:
        """The word of the question that `term` stands for, alone or with others."""
        if term in self.translations or term in self.respelled:
            return self.sources[term]
        if term in self.relatives:
            return self.relatives[term]
        return next((word for word in self.glossed if term in word), term)

    @property
    def unknown(self) -> float:
        """How much of the question is in words that no tool has, from 0 to 1."""
        known = len(self.weights.keys() - self.optional - self.respelled)
        return len(self.missing) / ((len(self.missing) + known) or 1)

    def words_in(self, entry: Entry) -> dict[str, tuple[str, ...]]:
        """Which words of the question are in which field of a tool; `送信→send` for one that was translated."""
        analyzer = Analyzer()
        reasons: dict[str, tuple[str, ...]] = {}
        for name, texts in entry.texts():
            there: dict[str, str] = {}
            for text in texts:
                there.update(analyzer.sources(text))
            words = [self.shown(term, there[term]) for term in self.weights if term in there]
            if words:
                reasons[name] = tuple(dict.fromkeys(words))
        return reasons

    def shown(self, term: str, there: str = "") -> str:
        """The word of the question that `term` comes from, and what it became; `there` is how a tool writes it."""
        if term in self.translations:
            return f"{self.sources[term]}→{self.translations[term]}"
        if term in self.respelled:
            return f"{self.sources[term]}→{spelling(term, there)}" if there else self.sources[term]
        if term in self.relatives:
            return f"{spelling(self.relatives[term], self.sources[term])}→{spelling(term, there)}"
        return spelling(term, self.sources[term])


def read_query(
    text: str,
    analyzer: Analyzer,
    known: Container[str],
    nearest: Callable[[str], Iterable[str]],
    *,
    rarity: Callable[[str], float],
    own: Glossary | None = None,
) -> Query:
    """The terms of `text`, each once; phrases of politeness are dropped unless there is nothing else."""
    sources = analyzer.sources(text)
    asked = [term for term in sources if not is_request(term)] or list(sources)
    query = Query(is_told=is_told(text))
    wishes: dict[str, list[str]] = {}
    first = next(iter(sources.values()), "")  # a capital letter there does not make it a name
    for term in asked:
        source = sources[term]
        is_file = _FILE.search(source) is not None
        is_value = source[0].isupper() or _VALUE.search(source) is not None
        if term in known:
            query.weights[term] = _IN_FILE_NAME if is_file else 1.0
            query.sources[term] = source
            if is_value and (source is not first or is_file):
                query.optional.add(term)
                continue
        relatives = _RELATIVES.get(term)
        if relatives is not None and (term not in known or len(asked) <= _SHORT):
            wishes[term] = [other for other in relatives if other in known]
        if term in known or wishes.get(term):
            continue
        word = spelling(term, source)
        may_be_typo = (source is first or not is_value) and not is_weak(term)  # nobody means `newer` by `never`
        respelled = may_be_typo and _respell(query, term, word, nearest)
        if not respelled and not is_value:
            query.missing.append(word)
    unexplained = ""
    nowhere: list[str] = []
    for word, english in _translations(_FILE_NAME.sub(" ", text), own):
        unexplained = (unexplained or fold(text)).replace(word, " ")
        meanings = [found for meaning in english for found in analyzer.sources(meaning).items() if found[0] in known]
        if meanings:
            query.glossed.append(word)
        elif not any(term in known for term in analyzer.terms(word)):
            nowhere.append(word)
        for term, piece in meanings:
            if term not in query.weights:
                query.weights[term] = _TRANSLATED
                query.sources[term] = word
                query.translations[term] = spelling(term, piece)
    if unexplained:  # what is explained need not be there in its own letters
        rest = set(analyzer.terms(unexplained))
        query.missing = [word for word in query.missing if word.isascii() or word in rest] + nowhere
    for term, others in wishes.items():
        _relate(query, term, sources[term], others, rarity)
    return query


def _relate(query: Query, term: str, source: str, others: list[str], rarity: Callable[[str], float]) -> None:
    """Look up `others`, which mean nearly what `term` does; none may count more than that would."""
    for other in others:
        if other not in query.weights:
            query.weights[other] = _RELATED * min(1.0, rarity(term) / rarity(other))
            query.sources[other] = source
            query.relatives[other] = term
            query.optional.add(other)


def _respell(query: Query, term: str, word: str, nearest: Callable[[str], Iterable[str]]) -> bool:
    """Look up the words that `word` may be a misspelling of; False where there are none."""
    guesses = list(nearest(word)) or (list(nearest(term)) if term != word else [])
    for guess in guesses:
        if guess not in query.weights:
            query.weights[guess] = _RESPELLED / len(guesses) ** 0.5
            query.sources[guess] = word
            query.respelled.add(guess)
    return bool(guesses)


def _translations(text: str, own: Glossary | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    if own is None and text.isascii():
        return
    folded = fold(text)
    if own is not None:
        yield from own.found_in(folded)
    for glossary in bundled(folded):
        yield from glossary.found_in(folded)
