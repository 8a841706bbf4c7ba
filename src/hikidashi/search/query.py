"""A question becomes weighted index terms, each with the words it stands for."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass

from .glossary import Glossary, bundled
from .text import fold, is_request, spelled_terms

__all__ = ["QueryTerm", "query_terms"]

# A translation may be the wrong one of several, and a guess at spelling may be wrong: either counts, but a word
# that stands there as it was asked for counts more.
_TRANSLATED = 0.7
_RESPELLED = 0.7


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One term to look up."""

    term: str
    weight: float
    shown: str
    """The word as the query has it: `messages`, `送信→send`, `calender→calendar`."""


def query_terms(
    text: str,
    known: Container[str],
    nearest: Callable[[str], Iterable[str]],
    own: Glossary | None = None,
) -> tuple[list[QueryTerm], list[str]]:
    """The terms of `text` to look up, and the words of it that no tool has in any form.

    Each term comes once; phrases of politeness are dropped unless there is nothing else.
    """
    spelled = dict[str, str]()
    for shown, term in spelled_terms(text):
        spelled.setdefault(term, shown)
    asked = {term: shown for term, shown in spelled.items() if not is_request(term)} or spelled
    found: dict[str, QueryTerm] = {}
    missing: list[str] = []
    for term, shown in asked.items():
        if term in known:
            found[term] = QueryTerm(term, 1.0, shown)
            continue
        guesses = list(nearest(shown)) or list(nearest(term))
        for guess in guesses:
            found.setdefault(guess, QueryTerm(guess, _RESPELLED / len(guesses) ** 0.5, f"{shown}→{guess}"))
        if not guesses:
            missing.append(shown)
    for word, english in _translations(text, own):
        for meaning in english:
            for _, term in spelled_terms(meaning):
                if term in known and term not in found:
                    found[term] = QueryTerm(term, _TRANSLATED, f"{word}→{meaning}")
    return list(found.values()), missing


def _translations(text: str, own: Glossary | None) -> Iterable[tuple[str, tuple[str, ...]]]:
    folded = fold(text)
    if own is not None:
        yield from own.found_in(folded)
    if not folded.isascii():
        for glossary in bundled(folded):
            yield from glossary.found_in(folded)
