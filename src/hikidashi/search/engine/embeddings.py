"""Semantic search: embeddings of tools, cached on disk, and their cosine similarity to that of a question.

Needs numpy. The default model, of the extra `semantic`, is wordllama, whose wheel includes the weights: nothing is
downloaded.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import version
from inspect import iscoroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...common.unicode import well_formed
from ...errors import MissingExtra, ToolSearchError
from ._vector_cache import VectorCache
from .entry import Entry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = ["Embedder", "EmbeddingIndex", "default_embedder", "embedder_of"]

_FLOOR = 0.45  # of the default model: less similar texts have only their style in common
_MOST_LETTERS = 220  # characters of a description: its beginning says what the tool does, and models read 64 tokens
_MOST_ARGUMENTS = 12
_BETWEEN_WORDS = re.compile(r"[_\-./:\s]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
_BYTES = 4  # of a float32


@dataclass(frozen=True, kw_only=True, slots=True)
class Embedder:
    """A function from texts to vectors, and its properties."""

    embed: Callable[[list[str]], Any]
    """Texts to vectors of one length: lists of numbers or an array."""
    id: str = ""
    """Name and version of the model. Vectors are kept on disk under it; without one, in memory only."""
    multilingual: bool = False
    """Whether the model knows other scripts than Latin; if not, questions in those are searched by words alone."""
    floor: float = 0.3
    """The similarity from which a tool is about the question even if they share no word."""
    cache: Path | None = None
    """The file in which vectors are cached; None for one in the user's cache folder."""

    def reads(self, text: str) -> bool:
        """Whether the model can embed `text`: all letters are Latin, or the model is multilingual."""
        return self.multilingual or all(letter < "\u0250" for letter in text if letter.isalpha())


@cache
def default_embedder() -> Embedder:
    """The model of the extra `semantic`: wordllama, static vectors of 256 numbers, English.

    Raises:
        MissingExtra: wordllama is not installed.
        ToolSearchError: it cannot be loaded.
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        wordllama: Any = import_module("wordllama")
    except ImportError as error:
        raise MissingExtra("wordllama", "semantic") from error
    except RuntimeError as error:  # it needs a home folder, which may be missing in a container
        raise ToolSearchError("unavailable", f"wordllama cannot be loaded: {error} Set HOME to any folder.") from error
    finally:  # importing it configures the root logger
        root.handlers[:] = handlers
        root.setLevel(level)
    # By default it looks for the weights beside the package and then downloads them; they are inside the package.
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return Embedder(embed=model.embed, id=f"wordllama-{version('wordllama')}-256", floor=_FLOOR)


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


def text_of(entry: Entry) -> str:
    """The text that is embedded of a tool: name in words, aliases, first sentences, names of the arguments."""
    described = _beginning(" ".join(entry.description.split()))
    arguments = ", ".join(map(_in_words, entry.argument_names[:_MOST_ARGUMENTS]))
    return ". ".join(part for part in (_in_words(entry.name), *entry.aliases, described, arguments) if part)


def _in_words(name: str) -> str:
    """`issue_write` and `issueWrite` as `issue write`."""
    return " ".join(_BETWEEN_WORDS.sub(" ", name).split())


def _beginning(text: str) -> str:
    """The first sentences of a text, or its first words where no sentence ends soon enough."""
    if len(text) <= _MOST_LETTERS:
        return text.rstrip(".")
    start = text[: _MOST_LETTERS + 1]
    ends = [match.start() for match in _SENTENCE_END.finditer(start)]
    return start[: ends[-1]] if ends and ends[-1] >= _MOST_LETTERS // 3 else start.rpartition(" ")[0] or start


def _numpy() -> Any:
    try:
        return import_module("numpy")
    except ImportError as error:
        raise MissingExtra("numpy", "semantic") from error


def embedder_of(embed: Callable[[list[str]], Any] | Embedder | None) -> Embedder:
    """`embed` as an `Embedder`; the default one for None.

    Raises:
        MissingExtra: nothing was given, and the default is not installed.
        ToolSearchError: `embed` is not a function.
    """
    if embed is None:
        return default_embedder()
    embedder = embed if isinstance(embed, Embedder) else Embedder(embed=embed)
    if not callable(embedder.embed):
        raise ToolSearchError(
            "invalid_tool_input", f"`embed` is {embedder.embed!r}: pass a function from a list of texts to vectors."
        )
    return embedder
