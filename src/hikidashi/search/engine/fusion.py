"""Two rankings become one."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["fused"]


def fused(words: Mapping[int, float], meaning: Mapping[int, float], share: float) -> dict[int, float]:
    """Scores from 0 to 1 for the tools of `meaning`: by `share` theirs, the rest by `words`, each stretched to that.

    A tool without a score for words has 0 of it. Stretched scores keep how far apart tools are, which ranks alone
    lose: measured, this beats reciprocal rank fusion.
    """
    highest = max(words.values(), default=0.0) or 1.0
    low, high = min(meaning.values(), default=0.0), max(meaning.values(), default=0.0)
    span = (high - low) or 1.0
    return {
        number: (1 - share) * words.get(number, 0.0) / highest + share * (similarity - low) / span
        for number, similarity in meaning.items()
    }
