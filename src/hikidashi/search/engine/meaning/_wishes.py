"""A tool for each wish: of a question with several, the tools near to one must not take all places of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["Fused", "wish_by_wish"]

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
