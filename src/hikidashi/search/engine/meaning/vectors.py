"""The embeddings of tools as a matrix, cached on disk, and their similarity to that of a question. Needs numpy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from importlib import import_module
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any, cast

from ....common.unicode import well_formed
from ....errors import MissingExtra, ToolSearchError
from ..embeddings import Embedder, text_of
from ..entry import Entry
from .vector_cache import VectorCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = ["EmbeddingIndex"]

_BYTES = 4  # of a float32


class EmbeddingIndex:
    """The embeddings of tools: a matrix with one row per number."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._numpy = _numpy()
        self._disk = VectorCache(embedder.id, embedder.cache) if embedder.id else None
        self._version = -1
        self._keys: dict[int, bytes] = {}
        self._matrix: Matrix | None = None
        self._used = 0
        self._kept: dict[bytes, Matrix] = {}
        self._columns: int | None = None

    def vector(self, text: str) -> Matrix:
        """The normalised vector of a question."""
        return self._embedded([text])[0]

    def vectors(self, texts: Sequence[str]) -> Matrix:
        """The normalised vectors of `texts`; only texts that are not cached are embedded."""
        if self._columns is None:
            self.vector("tool")  # to know how long a vector is, and so which of those on disk are whole
        keys = [blake2b(well_formed(text).encode(), digest_size=16).digest() for text in texts]
        known = self._vectors(dict(zip(keys, texts, strict=True)))
        return self._numpy.stack([known[key] for key in keys])

    def update(self, version: int, numbers: Collection[int], entry: Callable[[int], Entry]) -> None:
        """Have vectors for exactly these tools; only texts that are not cached are embedded."""
        if version == self._version:
            return
        if self._columns is None:
            self.vector("tool")  # to know how long a vector is, and so which of those on disk are whole
        gone = self._keys.keys() - set(numbers)
        for number in gone:
            del self._keys[number]
        new = {number: text_of(entry(number)) for number in numbers if number not in self._keys}
        if new:
            keys = {
                number: blake2b(well_formed(text).encode(), digest_size=16).digest() for number, text in new.items()
            }
            vectors = self._vectors({key: new[number] for number, key in keys.items()})
            matrix = self._grown(max(new) + 1, len(next(iter(vectors.values()))))
            for number, key in keys.items():
                matrix[number] = vectors[key]
            self._keys |= keys
            self._kept = {}
            self._used = max(self._used, max(new) + 1)
        self._version = version

    def renumbered(self) -> None:
        """Forget the numbers of the tools, which have changed, but keep the vectors."""
        if self._matrix is not None:
            self._kept = {key: self._matrix[number].copy() for number, key in self._keys.items()}
        self._keys, self._matrix, self._used, self._version = {}, None, 0, -1

    def similar(self, vector: Matrix, limit: int, others: Iterable[int]) -> dict[int, float]:
        """The `limit` tools nearest to a vector, nearest first, and then `others`, with their cosine similarity.

        `update` must have been called with at least one tool.
        """
        assert self._matrix is not None
        # Not `@`: BLAS would start threads for it, which on a busy machine takes 8 ms instead of .5.
        similarities: Matrix = self._numpy.einsum("ij,j->i", self._matrix[: self._used], vector)
        # Rows of removed tools may be among the nearest: take as many more as there are.
        few = min(limit + len(similarities) - len(self._keys), len(similarities))
        places = self._numpy.argpartition(-similarities, few - 1)[:few]
        nearest = places[self._numpy.argsort(-similarities[places], kind="stable")]
        best = [place for place in nearest.tolist() if place in self._keys][:limit]
        best += set(others).difference(best)
        return dict(zip(best, similarities[best].tolist(), strict=True))

    def _grown(self, rows: int, columns: int) -> Matrix:
        """The matrix with room for `rows`; at least doubled when it grows, so that adding tools one by one is fast."""
        numpy, known = self._numpy, self._matrix
        if known is None or len(known) < rows:
            grown = numpy.zeros((max(rows, 2 * len(known) if known is not None else 0), columns), numpy.float32)
            if known is not None:
                grown[: len(known)] = known
            self._matrix = grown
        return cast("Matrix", self._matrix)

    def _vectors(self, texts: dict[bytes, str]) -> dict[bytes, Matrix]:
        """The vectors of texts by key: from memory, from disk, or newly embedded."""
        numpy = self._numpy
        found = {key: self._kept[key] for key in texts if key in self._kept}
        if self._disk:
            stored = self._disk.read((key for key in texts if key not in found), _BYTES * (self._columns or 0))
            found |= {key: numpy.frombuffer(vector, numpy.float32) for key, vector in stored.items()}
        unknown = {key: text for key, text in texts.items() if key not in found}
        if unknown:
            new = dict(zip(unknown, self._embedded(list(unknown.values())), strict=True))
            if self._disk:
                self._disk.write({key: vector.tobytes() for key, vector in new.items()})
            found |= new
        return found

    def _embedded(self, texts: list[str]) -> Matrix:
        numpy = self._numpy
        given: Any = self.embedder.embed([well_formed(text) for text in texts])
        try:
            vectors = cast("Matrix", numpy.asarray(given, dtype=numpy.float32))
        except (TypeError, ValueError) as error:  # a coroutine, a generator, vectors of several lengths
            if iscoroutine(given):
                given.close()
            raise _unusable(f"a {type(given).__name__} that is not an array of numbers", texts) from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.size:
            raise _unusable(f"an array of shape {vectors.shape}", texts)
        if self._columns not in (None, vectors.shape[1]):
            raise _unusable(f"vectors of {vectors.shape[1]} numbers, after some of {self._columns},", texts)
        self._columns = vectors.shape[1]
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        if not numpy.isfinite(lengths).all():
            raise _unusable("a vector with NaN or infinity in it,", texts)
        return vectors / numpy.where(lengths > 0, lengths, 1)


def _unusable(what: str, texts: list[str]) -> ToolSearchError:
    return ToolSearchError(
        "unavailable",
        f"The embedding function gave {what} when called with a list of {len(texts)}. "
        "Return one vector per text, all of one length: lists of numbers or an array, not a coroutine.",
    )


def _numpy() -> Any:
    try:
        return import_module("numpy")
    except ImportError as error:
        raise MissingExtra("numpy", "semantic") from error
