"""Two rankings become one."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["fused"]


def fused(words: Mapping[int, float], meaning: Mapping[int, float], share: float) -> dict[int, float]:
    """Scores from 0 to 1: those of `words` and, by `share`, those of `meaning`, each stretched to that range.

    A tool that only one ranking has counts in the other as its worst. Stretched scores keep how far apart tools
    are, which ranks alone lose: measured, this beats reciprocal rank fusion.
    """
    by_words, by_meaning = _stretched(words, 0.0), _stretched(meaning, min(meaning.values(), default=0.0))
    return {
        number: (1 - share) * by_words.get(number, 0.0) + share * by_meaning.get(number, 0.0)
        for number in words.keys() | meaning.keys()
    }


def _stretched(scores: Mapping[int, float], low: float) -> dict[int, float]:
    high = max(scores.values(), default=0.0)
    span = high - low
    return {number: (score - low) / span if span > 0 else 1.0 for number, score in scores.items()}
