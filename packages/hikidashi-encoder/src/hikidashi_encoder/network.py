"""The network that makes a vector of a text: Universal Sentence Encoder Multilingual v3, with towers of our own.

Pieces of a text become vectors, which see their neighbours through windows of two, three and five pieces; their sum
goes through one of two towers, that of questions or that of tools. Texts of one call pass together, with rows of zeros
between them, so that no window reaches into another text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Network", "Tower"]

Tower = Literal["question", "tool"]
Floats = NDArray[np.floating[Any]]

_WIDTH = 256  # of a window's vectors
_BEFORE = {2: 0, 3: 1, 5: 2}  # how many pieces before its own a window sees, by its size
_GAP = 2  # rows of zeros between texts: the farthest that a window reaches
_TINY = 1e-12


class Network:
    """The network.

    Args:
        embeddings: A row for each piece, two numbers to a byte: each is one of 16 `levels`, times the row's `scale`.
        arrays: All other weights; what is of int8 has a scale for each column.
    """

    def __init__(self, embeddings: NDArray[np.uint8], arrays: Mapping[str, NDArray[Any]]) -> None:
        self._embeddings = embeddings
        self._weights = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
        for name, array in arrays.items():
            if array.dtype == np.int8:
                self._weights[name] *= self._weights[f"{name}.scale"]
        levels = self._weights["levels"]
        self._pairs = np.stack([np.tile(levels, 16), np.repeat(levels, 16)], 1)  # by the byte, its lower half first

    def vectors(self, texts: Sequence[Sequence[int]], tower: Tower) -> NDArray[np.float32]:
        """The normalised vector of each text, given as the numbers of its pieces."""
        return np.asarray(self._tower(self.summed(texts), tower), np.float32)

    def summed(self, texts: Sequence[Sequence[int]]) -> Floats:
        """For each text, the sum over its pieces of what they and their neighbours say."""
        weights = self._weights
        lengths = np.array([len(text) for text in texts])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        pieces, which = np.unique(np.concatenate([np.asarray(text) for text in texts]), return_inverse=True)
        rows = np.arange(len(which)) + np.repeat(np.arange(1, len(texts) + 1), lengths) * _GAP
        embedded = self._pairs[self._embeddings[pieces]].reshape(len(pieces), -1) * weights["scale"][pieces, None]
        seen = [embedded[which]]
        for size, before in _BEFORE.items():
            name = f"window{size}"
            inner = embedded @ weights[f"{name}.in"] + weights[f"{name}.in.bias"]
            inner = _layer_norm(inner, weights[f"{name}.gain"], weights[f"{name}.shift"])[which]
            windows = rows[:, None] + np.arange(-before, size - before)
            for layer in ("first", "second"):
                spaced = np.zeros((rows[-1] + 1 + _GAP, _WIDTH), np.float32)
                spaced[rows] = inner
                outer = spaced[windows].reshape(len(rows), -1) @ weights[f"{name}.{layer}"]
                outer += weights[f"{name}.{layer}.bias"]
                inner = np.maximum(outer, 0) + inner
            seen.append(inner)
        together = _layer_norm(np.concatenate(seen, 1), weights["gain"], weights["shift"])
        # The layer that follows is linear, so it is applied to the sum rather than to each piece.
        roots = np.sqrt(lengths, dtype=np.float32)[:, None]
        return np.add.reduceat(together, starts) / roots @ weights["sum"] + roots * weights["sum.bias"]

    def _tower(self, summed: Floats, tower: Tower) -> Floats:
        own = {name: self._weights[f"{tower}.{name}"] for name in ("a", "b", "skip1", "c", "d", "skip2", "out")}
        half = np.maximum(np.maximum(summed @ own["a"], 0) @ own["b"] + summed @ own["skip1"], 0)
        whole = np.tanh(np.maximum(half @ own["c"], 0) @ own["d"] + half @ own["skip2"])
        return _normalised(whole @ own["out"])


def _layer_norm(rows: Floats, gain: Floats, shift: Floats) -> Floats:
    centred = rows - rows.mean(1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(1, keepdims=True) + _TINY) * gain + shift


def _normalised(rows: Floats) -> Floats:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _TINY)
