"""Snippets: the part of a passage that best matches a query."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from .words import Term, spelled

__all__ = ["best_sentence", "snippet"]

_LENGTH = 300
_SPACES = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"[。！？]|[.!?](?=\s|$)")
# Headings, heading underlines and code fences, which are not part of sentences.
_MARKUP = re.compile(r"^ {0,3}#{1,6}[ \t].*$|^[ \t]*([=\-~^`:'\"*+#])\1{2,}[ \t]*\w*$", re.MULTILINE)


def snippet(text: str, terms: Sequence[Term], *, length: int = _LENGTH) -> str:
    """About `length` characters of `text` with the most distinct `terms`, on one line."""
    flat = _flat(text)
    if len(flat) <= length:
        return flat
    start = _best_start(flat, terms, length)
    start, end = _whole_words(flat, start, min(len(flat), start + length))
    return ("… " if start else "") + flat[start:end].strip() + (" …" if end < len(flat) else "")


def best_sentence(text: str, terms: Sequence[Term]) -> str | None:
    """The first sentence of `text` with the most distinct `terms`; None if none has any."""
    patterns = [spelled(term) for term in terms]
    flat = _flat(_MARKUP.sub(" ", text))
    best, most, start = None, 0, 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(flat)), len(flat)]:
        inside = sum(1 for pattern in patterns if pattern.search(flat, start, end))
        if inside > most:
            best, most = flat[start:end].strip(), inside
        start = end
    return best


def _flat(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def _best_start(text: str, terms: Sequence[Term], length: int) -> int:
    """The start of the first window of `length` characters with the most distinct `terms`."""
    found = sorted(
        (match.start(), number) for number, term in enumerate(terms) for match in spelled(term).finditer(text)
    )
    starts = [start for start, _ in found]
    best, most = 0, 0
    for at, start in enumerate(starts):
        inside = len({number for _, number in found[at : bisect_left(starts, start + length)]})
        if inside > most:
            best, most = start, inside
    lead = length // 5  # some context before the match
    return max(0, min(best - lead, len(text) - length))


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    if start and (space := text.find(" ", start, start + 20)) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", end - 20, end)) > start:
        end = space
    return start, end
