"""Texts to vectors: normalised, checked, rounded to half precision, and cached on disk. Needs numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from importlib import import_module
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any, cast

from ....common.unicode import well_formed
from ....errors import MissingExtra, ToolSearchError
from ..embeddings import Embedder
from ._clauses import clauses_of
from ._vector_cache import VectorCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = ["BYTES", "Vectorizer", "key_of"]

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
