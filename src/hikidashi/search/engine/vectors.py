"""Vectors: normalised, checked, rounded to half precision, cached on disk; the nearest to a question. Needs numpy."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any, cast

from ...common.unicode import well_formed
from ...errors import MissingExtra, ToolSearchError
from .embeddings import Embedder
from .question import clauses_of
from .vector_cache import VectorCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = ["Matrix", "StoredVectors", "VectorIndex", "Vectorizer", "key_of"]

# On disk, little-endian half precision: half the size of float32, and no similarity changes by more than .0005. In
# memory float32, since products of half precision numbers take many times as long.
_STORED = "<f2"
BYTES = 2
_ROUNDING = 0.01  # half precision changes the length of a vector by less


class Vectorizer:
    """The vectors of an `Embedder`.

    A vector is the same whether it is new or was read from disk, so that answers do not depend on the cache.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.numpy = _numpy()
        self._disk = VectorCache(embedder.id, embedder.cache) if embedder.id else None
        self._columns: int | None = None

    @property
    def size(self) -> int:
        """The number of bytes of a stored vector."""
        if self._columns is None:
            self._embedded(self.embedder.embed, ["tool"])  # to know which stored vectors are whole
        return BYTES * cast("int", self._columns)

    def question(self, text: str) -> Matrix:
        """The normalised vectors of a question and of its clauses, one row each."""
        return self._embedded(self.embedder.question or self.embedder.embed, [text, *clauses_of(text)])

    def cached(self, keys: Iterable[bytes]) -> dict[bytes, Matrix]:
        """The vectors on disk, by key."""
        return {} if self._disk is None else self.unpacked(self._disk.read(keys, self.size))

    def embed(self, texts: Mapping[bytes, str]) -> dict[bytes, Matrix]:
        """New vectors by key, which are also written to disk."""
        if not texts:
            return {}
        rounded: Any = self._embedded(self.embedder.embed, list(texts.values())).astype(_STORED)
        if self._disk is not None:
            self._disk.write({key: row.tobytes() for key, row in zip(texts, rounded, strict=True)})
        return dict(zip(texts, rounded.astype(self.numpy.float32), strict=True))

    def vectors(self, texts: Sequence[str]) -> Matrix:
        """The vectors of `texts`, one row each; only texts that are not cached are embedded."""
        keys = list(map(key_of, texts))
        known = self.cached(set(keys))
        known |= self.embed({key: text for key, text in zip(keys, texts, strict=True) if key not in known})
        return self.numpy.stack([known[key] for key in keys])

    def packed(self, vectors: Matrix) -> bytes:
        """Vectors in the form that is stored."""
        return vectors.astype(_STORED).tobytes()

    def unpacked(self, stored: Mapping[Any, bytes]) -> dict[Any, Matrix]:
        """Stored vectors by key, without those that are damaged: of another size, not finite, or not normalised."""
        if not stored:
            return {}
        numpy, size = self.numpy, self.size
        whole = {key: vector for key, vector in stored.items() if len(vector) == size}
        rows = numpy.frombuffer(b"".join(whole.values()), _STORED).astype(numpy.float32).reshape(-1, size // BYTES)
        sound = (numpy.abs(numpy.linalg.norm(rows, axis=1) - 1) < _ROUNDING).tolist()  # false for NaN and infinity
        return {key: row for key, row, is_sound in zip(whole, rows, sound, strict=True) if is_sound}

    def _embedded(self, embed: Callable[[list[str]], Any], texts: list[str]) -> Matrix:
        numpy = self.numpy
        given: Any = embed([well_formed(text) for text in texts])
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
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        if not numpy.isfinite(lengths).all():
            raise _unusable("a vector with NaN or infinity in it,", texts)
        self._columns = vectors.shape[1]
        return vectors / numpy.where(lengths > 0, lengths, 1)


def key_of(text: str) -> bytes:
    """The key of a text's vector."""
    return blake2b(well_formed(text).encode(), digest_size=16).digest()


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
        raise MissingExtra("numpy") from error


# Of the gap between the best similarity of a clause and the best of all: what a clause is raised by, so that of two
# wishes the one that is put less clearly finds its tool too. 0 and 1 find .7 points less on the sets with such tasks.
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

    def similar(self, vectors: Matrix, limit: int, others: Iterable[int]) -> dict[int, float]:
        """The `limit` tools nearest to any of the vectors, nearest first, and then `others`, with their similarity.

        There must be at least one tool, and `others` must be among the tools.
        """
        assert self._matrix is not None
        numpy, used = self._numpy, self._used
        # Not `@`: BLAS would start threads for it, which on a busy machine takes 8 ms instead of .5.
        rows = self._matrix[:used]
        of_each = [numpy.einsum("ij,j->i", rows, vector) for vector in vectors]
        best = max(float(one.max()) for one in of_each)
        similarities: Matrix = numpy.max([one + _RAISED * (best - float(one.max())) for one in of_each], axis=0)
        # Rows of removed tools may be among the nearest: take as many more as there are.
        few = min(limit + used - len(self.numbers), used)
        places = numpy.argpartition(-similarities, few - 1)[:few]
        nearest = places[numpy.lexsort((places, -similarities[places]))]
        found = [place for place in nearest.tolist() if place in self.numbers][:limit]
        found += sorted(set(others).difference(found))
        return dict(zip(found, similarities[found].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Vectors of tools by number, in the form in which `Vectorizer` stores them."""

    model: str
    """The `Embedder.id` of the model."""
    rows: dict[int, bytes]

    def to_bytes(self) -> bytes:
        """A line of JSON with the model and the numbers, then the vectors, all of one length."""
        head = json.dumps({"model": self.model, "numbers": list(self.rows)}, separators=(",", ":"))
        return b"".join((head.encode(), b"\n", *self.rows.values()))

    @classmethod
    def from_bytes(cls, content: bytes) -> StoredVectors:
        """What `to_bytes` made."""
        head, _, body = content.partition(b"\n")
        described = json.loads(head)
        numbers: list[int] = described["numbers"]
        size = len(body) // len(numbers) if numbers else 0
        rows = {number: body[place * size : (place + 1) * size] for place, number in enumerate(numbers)}
        return cls(described["model"], rows)

    def only(self, numbers: Collection[int]) -> StoredVectors:
        """The vectors of the tools among `numbers`."""
        return StoredVectors(self.model, {number: self.rows[number] for number in numbers if number in self.rows})

    def renumbered(self, order: Sequence[int]) -> StoredVectors:
        """The tool at each place of `order`, its number so far, gets that place as its number."""
        rows = {place: self.rows[number] for place, number in enumerate(order) if number in self.rows}
        return StoredVectors(self.model, rows)
