"""The base model: Universal Sentence Encoder Multilingual v3, read out of its ONNX file, written as our package has it.

The graph has the tokenizer's vocabulary in an attribute, the vectors of its pieces in 17 tables (piece `n` is in table
`n mod 17`), and the weights of the network as int8. We keep all pieces, but with four bits a number instead of eight.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["base_weights", "tower_weights", "write_vocabulary"]

_TABLES, _LEVELS, _SAMPLE = 17, 16, 1_500
_NODES = "StatefulPartitionedCall/EncoderDNN/"
_TOWER = {
    "a": "ResidualHidden_0/dense",
    "b": "ResidualHidden_1/dense",
    "skip1": "ResidualHidden_1/AdjustDepth/projection",
    "c": "ResidualHidden_2/dense",
    "d": "ResidualHidden_3/dense",
    "skip2": "ResidualHidden_3/AdjustDepth/projection",
}


class _Graph:
    def __init__(self, path: Path) -> None:
        import onnx
        from onnx import numpy_helper

        model = onnx.load(path)
        self.arrays: dict[str, NDArray[Any]] = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
        node = next(node for node in model.graph.node if node.op_type == "SentencepieceTokenizer")
        self.tokenizer: bytes = next(one.s for one in node.attribute if one.name == "model")

    def put(self, into: dict[str, NDArray[Any]], name: str, source: str) -> None:
        """A weight under our name: as it is, or as int8 with its scale."""
        if (whole := _NODES + source) in self.arrays:
            into[name] = self.arrays[whole].astype(np.float32).ravel()
        else:
            into[name] = self.arrays[f"{whole}_quantized"]
            into[f"{name}.scale"] = np.float32(self.arrays[f"{whole}_scale"])[None]


def base_weights(path: Path) -> dict[str, NDArray[Any]]:
    """All that lies between the vectors of pieces and the towers."""
    graph, found = _Graph(path), dict[str, NDArray[Any]]()
    for size in (2, 3, 5):
        there, name = f"CNN_layers/ngram_order_{size}", f"window{size}"
        graph.put(found, f"{name}.in", f"{there}/input_size_projection/dense/kernel:0")
        graph.put(found, f"{name}.in.bias", f"{there}/input_size_projection/dense/bias:0")
        graph.put(found, f"{name}.gain", f"{there}/LayerNorm/gamma:0")
        graph.put(found, f"{name}.shift", f"{there}/LayerNorm/beta:0")
        for layer, suffix in (("first", ""), ("second", "_1")):
            graph.put(found, f"{name}.{layer}", f"{there}/Ngram-{size}-Conv{suffix}/weights:0")
            graph.put(found, f"{name}.{layer}.bias", f"{there}/Ngram-{size}-Conv{suffix}/bias:0")
    for name, source in {"gain": "LayerNorm/gamma", "shift": "LayerNorm/beta", "sum": "dense/kernel"}.items():
        graph.put(found, name, f"CNN_layers/{source}:0")
    graph.put(found, "sum.bias", "CNN_layers/dense/bias:0")
    return found


def tower_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The layers with which a tower begins: the upper ones of the base model."""
    graph, found = _Graph(path), dict[str, NDArray[Any]]()
    for name, source in _TOWER.items():
        graph.put(found, name, f"DNN/{source}/kernel:0")
    return {name: found[name].astype(np.float32) * found[f"{name}.scale"] for name in _TOWER}


def write_vocabulary(path: Path, folder: Path) -> dict[str, NDArray[Any]]:
    """Write `pieces.txt` and `embeddings.npy`; the scores of the pieces, the levels, and the scale of each row."""
    graph = _Graph(path)
    pieces = list(_pieces(graph.tokenizer))
    vectors = np.empty((len(pieces), 512), np.float32)
    for table in range(_TABLES):
        name = f"Func/StatefulPartitionedCall/input/_{table + 1}:0"
        rows = graph.arrays[f"{name}_quantized"].astype(np.float32) - np.float32(graph.arrays[f"{name}_zero_point"])
        there = vectors[table::_TABLES]
        there[:] = rows[: len(there)] * graph.arrays[f"{name}_scale"]
    deviation = np.maximum(vectors.std(1, keepdims=True), 1e-6)
    levels = _levels((vectors[:: len(vectors) // _SAMPLE] / deviation[:: len(vectors) // _SAMPLE]).ravel())
    codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, vectors / deviation).astype(np.uint8)
    near = levels[codes]
    scale = (vectors * near).sum(1) / np.maximum(np.square(near).sum(1), 1e-6)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "embeddings.npy", codes[:, 0::2] | (codes[:, 1::2] << 4))
    (folder / "pieces.txt").write_text("\n".join(piece for piece, _ in pieces), encoding="utf-8")
    scores = np.array([score for _, score in pieces], np.float32)
    return {"pieces.score": scores, "levels": levels, "scale": scale.astype(np.float32)}


def _levels(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    """The 16 numbers that are nearest to these (Lloyd)."""
    levels = np.quantile(numbers, (np.arange(_LEVELS) + 0.5) / _LEVELS).astype(np.float32)
    for _ in range(25):
        codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, numbers)
        levels = np.array([numbers[codes == code].mean() for code in range(_LEVELS)], np.float32)
    return levels


def _pieces(model: bytes) -> Iterator[tuple[str, float]]:
    """The pieces of a SentencePiece model with their scores: field 1 of its protocol buffer, repeated."""
    for field, value in _fields(model):
        if field == 1 and isinstance(value, bytes):
            piece = dict(_fields(value))
            text, score = piece[1], piece.get(2, b"\0" * 4)
            assert isinstance(text, bytes)
            assert isinstance(score, bytes)
            yield text.decode(), struct.unpack("<f", score)[0]


def _fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    place = 0

    def number() -> int:
        nonlocal place
        found = shift = 0
        while True:
            byte = message[place]
            place += 1
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found

    while place < len(message):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        else:
            size = number() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
            yield key >> 3, message[place : place + size]
            place += size
