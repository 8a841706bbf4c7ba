"""A sentence encoder that matches questions with tools, both in any of sixteen languages. It needs numpy alone.

from hikidashi_encoder import Encoder, text_of_tool

encoder = Encoder()
questions = encoder.questions(["火曜の会議を取り消して"])  # one normalised row of numbers per text
tools = encoder.tools([text_of_tool("delete_event", "Remove an event from the calendar.", ["event_id"])])
similarity = questions @ tools.T
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs] - it has none

from .network import Network, Tower
from .tokenizer import Tokenizer
from .tools import text_of_tool

__all__ = ["DIMENSIONS", "ID", "MOST_PIECES", "Encoder", "ModelError", "__version__", "text_of_tool"]

__version__ = "0.4.0"
DIMENSIONS = 512
MOST_PIECES = 64
"""Longer texts are truncated: a piece is a word or a part of one."""

_FOLDER = Path(__file__).parent / "model"
_PIECES, _EMBEDDINGS, _WEIGHTS = "pieces.txt", "embeddings.npy", "weights.npz"
_MOST_CHARACTERS = 2_000  # more than 64 pieces need: megabytes are not cut to be truncated
_AT_ONCE = 512  # pieces that pass through the network together: more do not fit into a processor's cache
_SAMPLED, _STRIDE = 4_096, 1 << 20

Loaded = TypeVar("Loaded")


class ModelError(RuntimeError):
    """A file of the model is missing or damaged."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"The model of hikidashi-encoder cannot be loaded: {self.path} {self.reason}. "
            "Run: pip install --force-reinstall hikidashi-encoder (in a checkout of hikidashi: make encoder)"
        )


class Encoder:
    """The model, loaded once; its methods may be called from several threads.

    Args:
        folder: The folder with another model that was made by `make encoder`; None for the one in this package.

    Raises:
        ModelError: A file of the model is missing or damaged.
    """

    def __init__(self, *, folder: Path | None = None) -> None:
        self._folder = _FOLDER if folder is None else Path(folder)
        self._blas: Any = cast("Any", ThreadpoolController()).select(user_api="blas")
        path = self._folder / _WEIGHTS
        weights = _read(path, _arrays)
        pieces = _read(self._folder / _PIECES, lambda path: path.read_text(encoding="utf-8").split("\n"))
        # Mapped, not read: a question needs a few of its rows.
        embeddings = _read(self._folder / _EMBEDDINGS, lambda path: np.load(path, mmap_mode="r"))
        for name, count in ((_PIECES, len(pieces)), (_EMBEDDINGS, len(embeddings))):
            if count != len(weights.get("scale", ())):
                raise ModelError(self._folder / name, f"is damaged: it is not for the same pieces as {_WEIGHTS}")
        try:
            self._tokenizer = Tokenizer(pieces, weights["pieces.score"].tolist())
            self._network = Network(embeddings, weights)
            self._request, self._request_bias = weights["request"], float(weights["request.bias"])
        except KeyError as error:
            raise ModelError(path, f"is another model: it has no {error}") from error

    @cached_property
    def name(self) -> str:
        """Name, version and digest of the model: vectors that are kept under it are of this model alone."""
        return _named(self._folder)

    def questions(self, texts: Iterable[str]) -> NDArray[np.float32]:
        """The normalised vector of each question, one row each.

        Texts of one call pass together, so the last digits of a vector depend on its company.

        Raises:
            TypeError: `texts` is a single text, has no order, or has something else than texts.
        """
        return self._vectors(_checked(texts), "question")

    def tools(self, texts: Iterable[str]) -> NDArray[np.float32]:
        """The normalised vector of each tool, one row each.

        Raises:
            TypeError: `texts` is a single text, has no order, or has something else than texts.
        """
        return self._vectors(_checked(texts), "tool")

    def is_request(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """How probably each of these questions asks for something that a tool could do, rather than being talk."""
        return np.asarray(1 / (1 + np.exp(-(vectors @ self._request + self._request_bias))), np.float32)

    def knows(self, word: str) -> bool:
        """Whether the vocabulary has `word` as a whole, as it has common words, unlike most misspellings."""
        return self._tokenizer.has(word)

    def _vectors(self, texts: list[str], tower: Tower) -> NDArray[np.float32]:
        # The matrices are small: on a busy machine, several threads of BLAS take 30 to 700 ms for what one does in 2.
        with self._blas.limit(limits=1):
            return self._in_one_thread(texts, tower)

    def _in_one_thread(self, texts: list[str], tower: Tower) -> NDArray[np.float32]:
        cut = [self._tokenizer.encode(_well_formed(text.lstrip()[:_MOST_CHARACTERS]), MOST_PIECES) for text in texts]
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        group: list[int] = []
        size = 0
        for place, pieces in enumerate(cut):
            if group and size + len(pieces) > _AT_ONCE:
                vectors[group] = self._network.vectors([cut[one] for one in group], tower)
                group, size = [], 0
            group.append(place)
            size += len(pieces)
        if group:
            vectors[group] = self._network.vectors([cut[one] for one in group], tower)
        return vectors


def _read(path: Path, read: Callable[[Path], Loaded]) -> Loaded:
    try:
        if not path.stat().st_size:
            raise ModelError(path, "is empty")
        return read(path)
    except ModelError:
        raise
    except FileNotFoundError as error:
        raise ModelError(path, "is missing") from error
    except Exception as error:  # of damaged files, numpy and zipfile raise many classes
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(path, f"is damaged ({first:.200})") from error


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file, np.load(file) as arrays:
        return dict(arrays)


def _checked(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise TypeError("This takes a list of texts, not a text. Use: questions([text])")
    given = cast("object", texts)
    if isinstance(given, bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise TypeError(f"This takes a list of texts, not a {type(texts).__name__} ({texts!r:.100})")
    listed: list[Any] = list(cast("Iterable[Any]", given))
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"This takes texts, and number {place} is of type {type(text).__name__} ({text!r:.100})")
    return listed


def _well_formed(text: str) -> str:
    """`text` with U+FFFD in place of lone surrogates."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _named(folder: Path) -> str:
    """A digest of the towers and of samples of the rest: a model that was trained again differs in its towers."""
    digest = blake2b(digest_size=6)
    try:
        for name in (_WEIGHTS, _EMBEDDINGS):
            with (folder / name).open("rb") as file:
                size = file.seek(0, 2)
                digest.update(str(size).encode())
                for start in range(0, size, _STRIDE):
                    file.seek(start)
                    digest.update(file.read(_SAMPLED))
    except OSError:  # `Encoder` says what is wrong
        return f"hikidashi-encoder-{__version__}-unavailable"
    return f"hikidashi-encoder-{__version__}-{digest.hexdigest()}"


ID = _named(_FOLDER)
"""`Encoder().name`, without loading the model."""
