"""A question becomes weighted index terms, and keeps the words they stand for."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field

from .entry import Entry
from .glossary import Glossary, bundled
from .text import Analyzer, fold, is_request, spelling

__all__ = ["Query", "read_query"]

# A translation may be the wrong one of several, and a guess at spelling may be wrong: either counts, but a word
# that stands there as it was asked for counts more.
_TRANSLATED = 0.7
_RESPELLED = 0.7


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

    def words_in(self, entry: Entry) -> dict[str, tuple[str, ...]]:
        """Which words of the question are in which field of a tool; `送信→send` for one that was translated."""
        analyzer = Analyzer()
        reasons: dict[str, tuple[str, ...]] = {}
        for name, texts in entry.texts():
            there: dict[str, str] = {}
            for text in texts:
                there.update(analyzer.sources(text))
            words = [self._shown(term, there[term]) for term in self.weights if term in there]
            if words:
                reasons[name] = tuple(dict.fromkeys(words))
        return reasons

    def _shown(self, term: str, there: str) -> str:
        if term in self.translations:
            return f"{self.sources[term]}→{self.translations[term]}"
        if term in self.respelled:
            return f"{self.sources[term]}→{spelling(term, there)}"
        return spelling(term, self.sources[term])


def read_query(
    text: str,
    analyzer: Analyzer,
    known: Container[str],
    nearest: Callable[[str], Iterable[str]],
    own: Glossary | None = None,
) -> Query:
    """The terms of `text`, each once; phrases of politeness are dropped unless there is nothing else."""
    sources = analyzer.sources(text)
    asked = [term for term in sources if not is_request(term)] or list(sources)
    query = Query()
    first = next(iter(sources.values()), "")  # a capital letter there does not make it a name
    for term in asked:
        source = sources[term]
        if term in known:
            query.weights[term] = 1.0
            query.sources[term] = source
            continue
        is_value = source[0].isupper() or source[0].isdigit()
        word = spelling(term, source)
        respelled = (source is first or not is_value) and _respell(query, term, word, nearest)
        if not respelled and not is_value:
            query.missing.append(word)
    for word, english in _translations(text, own):
        for meaning in english:
            for term, piece in analyzer.sources(meaning).items():
                if term in known and term not in query.weights:
                    query.weights[term] = _TRANSLATED
                    query.sources[term] = word
                    query.translations[term] = spelling(term, piece)
    if query.translations:  # what was understood in English need not be there in its own letters
        query.missing = [word for word in query.missing if word.isascii()]
    return query


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
