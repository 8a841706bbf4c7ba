"""Which hits are worth showing: nothing relevant should give nothing, not junk."""

from __future__ import annotations

from collections.abc import Sequence

from .bm25 import Index
from .query import QueryTerm

__all__ = ["relevant"]


def relevant(
    index: Index, hits: Sequence[tuple[int, float]], terms: Sequence[QueryTerm], missing: Sequence[str]
) -> list[tuple[int, float]]:
    return list(hits)
