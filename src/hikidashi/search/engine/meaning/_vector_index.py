"""The vectors of tools by number, and those nearest to a question. Needs numpy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = ["VectorIndex"]

# Of the gap between the best similarity of a clause and that of the question: what a clause is raised by, so that of
# two wishes the one that is put less clearly finds its tool too.
_RAISED = 0.5


class VectorIndex:
    """A matrix with one row per tool.

    Args:
        numpy: The module.
    """

    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy
        self._matrix: Matrix | None = None
        self.numbers: set[int] = set()
        """The tools that have a vector."""
        self._used = 0

    def insert(self, vectors: Mapping[int, Matrix]) -> None:
        """Add the vectors of tools, by number."""
        if not vectors:
            return
        rows = max(vectors) + 1
        known = self._matrix
        if known is None or len(known) < rows:
            # At least doubled when it grows, so that adding tools one by one is fast.
            room = max(rows, 2 * len(known) if known is not None else 0)
            grown = self._numpy.zeros((room, len(next(iter(vectors.values())))), self._numpy.float32)
            if known is not None:
                grown[: len(known)] = known
            self._matrix = known = cast("Matrix", grown)
        known[list(vectors)] = self._numpy.stack(list(vectors.values()))
        self.numbers |= vectors.keys()
        self._used = max(self._used, rows)

    def keep(self, numbers: Collection[int]) -> None:
        """Forget the tools that are not among `numbers`."""
        gone = self.numbers.difference(numbers)
        if gone and self._matrix is not None:
            self._matrix[list(gone)] = 0  # near to nothing
        self.numbers -= gone

    def rows(self, numbers: Sequence[int]) -> Matrix:
        """The vectors of tools, one row each."""
        assert self._matrix is not None
        return self._matrix[numbers]

    def renumbered(self, order: Sequence[int]) -> None:
        """Renumber the tools: the tool at each place of `order`, its number so far, gets that place as number."""
        there = {place: number for place, number in enumerate(order) if number in self.numbers}
        rows = {place: self._matrix[number] for place, number in there.items()} if self._matrix is not None else {}
        self._matrix, self.numbers, self._used = None, set(), 0
        self.insert(rows)

    def similar(self, vectors: Matrix, limit: int, others: Iterable[int]) -> dict[int, list[float]]:
        """The `limit` tools nearest to any of the vectors, nearest first, and then `others`.

        Each with its similarity to every vector. Of several vectors, each is raised by a part of what it lacks to the
        nearest. There must be at least one tool, and `others` must be among the tools.
        """
        assert self._matrix is not None
        numpy, used = self._numpy, self._used
        # Not `@`: BLAS would start threads for it, which on a busy machine takes 8 ms instead of .5.
        rows = self._matrix[:used]
        of_each = _raised([numpy.einsum("ij,j->i", rows, vector) for vector in vectors])
        similarities: Matrix = of_each[0] if len(of_each) == 1 else numpy.max(of_each, axis=0)
        # Rows of removed tools may be among the nearest: take as many more as there are.
        few = min(limit + used - len(self.numbers), used)
        places = numpy.argpartition(-similarities, few - 1)[:few]
        nearest = places[numpy.lexsort((places, -similarities[places]))]
        best = [place for place in nearest.tolist() if place in self.numbers][:limit]
        best += sorted(set(others).difference(best))
        return dict(zip(best, numpy.stack([one[best] for one in of_each], axis=1).tolist(), strict=True))


def _raised(of_each: list[Matrix]) -> list[Matrix]:
    """The similarities to several vectors, each raised by a part of what its best lacks to the best of all."""
    best = [float(one.max()) for one in of_each]
    return [one + _RAISED * (max(best) - its) for one, its in zip(of_each, best, strict=True)]
