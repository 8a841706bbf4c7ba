"""Fusion of the lexical and the semantic ranking."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["fused"]


def fused(words: Mapping[int, float], meaning: Mapping[int, float], share: float) -> dict[int, float]:
    """Weighted sum of two normalised rankings, for the tools of `meaning`: scores from 0 to 1.

    `meaning` is min-max-normalised and weighted by `share`; `words` is divided by its maximum, with 0 for tools that it
    lacks. Measured, this beats reciprocal rank fusion, which ignores the distances between scores.
    """
    highest = max(words.values(), default=0.0) or 1.0
    low, high = min(meaning.values(), default=0.0), max(meaning.values(), default=0.0)
    span = (high - low) or 1.0
    return {
        number: (1 - share) * words.get(number, 0.0) / highest + share * (similarity - low) / span
        for number, similarity in meaning.items()
    }
