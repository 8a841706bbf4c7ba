"""Which hits are worth showing: nothing relevant should give nothing, not junk."""

from __future__ import annotations

from collections.abc import Sequence

from .bm25 import Index
from .query import Query

__all__ = ["relevant"]


def relevant(index: Index, hits: Sequence[tuple[int, float]], query: Query) -> list[tuple[int, float]]:
    """The hits that have something to do with the query."""
    return list(hits)
