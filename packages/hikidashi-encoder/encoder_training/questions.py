"""Questions in the forms in which the search gives them to the encoder."""

from __future__ import annotations

import re
import unicodedata

from hikidashi.search.engine.analyzer import FUNCTION, REQUEST
from hikidashi.search.engine.query import without_literals

__all__ = ["as_keywords", "as_read"]

_WORD = re.compile(r"[\w'-]+")


def as_read(question: str) -> str:
    """An English question as the search gives it to the encoder: literal values are named by their kind."""
    return without_literals(unicodedata.normalize("NFKC", question))


def as_keywords(question: str, *, is_verb_last: bool) -> str:
    """A question without small words, as a glossary translates one of another language; empty if too little is left.

    Args:
        question: An English question.
        is_verb_last: Whether the order of the words is turned round, as that of Japanese and Korean nearly is.
    """
    found = _WORD.findall(as_read(question).lower())
    words = [word for word in found if word.partition("'")[0] not in FUNCTION | REQUEST]
    if is_verb_last:
        words.reverse()
    return " ".join(words) if len(words) > 1 else ""
