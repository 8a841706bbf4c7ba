"""Training of an adapter: InfoNCE with all tools as negatives, in numpy, on the vectors of a frozen encoder.

A question must also come near enough to its tool in absolute terms: below the floor of the encoder, a question of which
no tool has a word finds nothing.

A map that is trained on a company's questions alone learns to send every question to the company's tools: on questions
about other things, recall@5 by meaning fell from 0.74 to 0.23. So the map is penalised for moving everyday sentences
(`everyday.txt`), with which it stays at 0.73; that of the whole search goes from 0.87 to 0.86.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.adapter import Adapter

Matrix = NDArray[np.float32]

_RANK = 16  # 32 and 64 are not better
_TEMPERATURE = 0.05
_MARGIN = 0.1  # by which a question should be nearer to its tool than the floor, below which a search finds nothing
_PENALTY = 30.0  # of moving an everyday sentence: with 10, other questions suffer; with 100, less is learnt
_LEARNING_RATE = 0.01
_BATCH = 64
_EPOCHS = 120
_PATIENCE = 15  # epochs without a better loss on the inner split
_INNER = 4  # one question in so many is in the inner split


@dataclass(frozen=True, slots=True)
class Examples:
    """Vectors of questions, and which tools answer each."""

    vectors: Matrix
    gold: NDArray[np.bool_]
    """A row per question, and a column per tool."""

    def at(self, places: Any) -> Examples:
        """Some of the examples."""
        return Examples(self.vectors[places], self.gold[places])


def examples(vectors: Sequence[Matrix], tools: Sequence[Sequence[int]], number_of_tools: int) -> Examples:
    """Examples from the vectors of questions and the numbers of their tools."""
    gold = np.zeros((len(tools), number_of_tools), np.bool_)
    for row, numbers in enumerate(tools):
        gold[row, list(numbers)] = True
    return Examples(np.stack(vectors).astype(np.float32), gold)


def train(
    known: Examples,
    tools: Matrix,
    everyday: Matrix,
    *,
    floor: float = 0.0,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Adapter:
    """An adapter that moves the vectors of questions towards those of their tools, and others as little as possible.

    The number of epochs is the one that is best on a fourth of the examples after training on the others; then it
    trains on all of them. The same arguments give the same adapter.

    Args:
        known: The questions.
        tools: The vectors of all tools.
        everyday: Vectors that should stay where they are.
        floor: The similarity from which a search by meaning finds a tool.
        seed: Of the training.
        progress: Called with how much is done, and of how much.
    """
    inner = np.arange(len(known.vectors)) % _INNER == 0
    stays = (everyday.T @ everyday / len(everyday)).astype(np.float32)
    first = _Training(known.at(~inner), tools, stays, floor, seed)
    best, epochs = first.loss(known.at(inner)), 0
    for epoch in range(1, _EPOCHS + 1):
        first.epoch()
        progress(epoch, 2 * _EPOCHS)
        loss = first.loss(known.at(inner))
        if loss < best:
            best, epochs = loss, epoch
        if epoch - epochs >= _PATIENCE:
            break
    second = _Training(known, tools, stays, floor, seed)
    for epoch in range(1, epochs + 1):
        second.epoch()
        progress(_EPOCHS + epoch * _EPOCHS // epochs, 2 * _EPOCHS)
    progress(2 * _EPOCHS, 2 * _EPOCHS)
    return Adapter(second.down, second.up)


class _Training:
    """The state of one training: the two matrices, and Adam's moments of their gradients."""

    def __init__(self, known: Examples, tools: Matrix, stays: Matrix, floor: float, seed: int) -> None:
        self._known, self._tools, self._stays = known, tools, stays
        self._wanted = floor + _MARGIN
        self._random = np.random.default_rng(seed)
        size = tools.shape[1]
        self.down = self._random.normal(0, size**-0.5, (size, _RANK)).astype(np.float32)
        self.up = np.zeros((_RANK, size), np.float32)  # it begins as the identity
        self._adam = _Adam([self.down, self.up])

    def epoch(self) -> None:
        """One pass over the examples."""
        number = len(self._known.vectors)
        for places in np.array_split(self._random.permutation(number), -(-number // _BATCH)):
            self._adam.step(self._gradients(self._known.at(places)))

    def loss(self, asked: Examples) -> float:
        """InfoNCE on examples, and how far their best tools are from being found at all."""
        similarities = self._mapped(asked.vectors)[0] @ self._tools.T
        right = np.where(asked.gold, _softmax(similarities), 0).sum(axis=1)
        best = np.where(asked.gold, similarities, -1).max(axis=1)
        return float((np.maximum(self._wanted - best, 0) / _TEMPERATURE - np.log(np.maximum(right, 1e-30))).mean())

    def _mapped(self, vectors: Matrix) -> tuple[Matrix, Matrix]:
        moved = vectors + (vectors @ self.down) @ self.up
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        return moved / lengths, lengths

    def _gradients(self, asked: Examples) -> list[Matrix]:
        mapped, lengths = self._mapped(asked.vectors)
        similarities = mapped @ self._tools.T
        all_tools = _softmax(similarities)
        right_tools = _softmax(np.where(asked.gold, similarities, -np.inf))
        is_far = np.where(asked.gold, similarities, -1).max(axis=1, keepdims=True) < self._wanted
        pushes = all_tools - right_tools * np.where(is_far, 2, 1)
        of_mapped = pushes @ self._tools / (_TEMPERATURE * len(mapped))
        of_moved = (of_mapped - (of_mapped * mapped).sum(axis=1, keepdims=True) * mapped) / lengths
        # The penalty is the mean square of how far everyday sentences move: the trace of (down·up)' stays (down·up).
        moves = self._stays @ self.down @ self.up
        return [
            asked.vectors.T @ (of_moved @ self.up.T) + 2 * _PENALTY * moves @ self.up.T,
            (asked.vectors @ self.down).T @ of_moved + 2 * _PENALTY * self.down.T @ moves,
        ]


class _Adam:
    """Adam with its usual constants; changes the parameters in place."""

    def __init__(self, parameters: list[Matrix]) -> None:
        self._parameters = parameters
        self._moments = [(np.zeros_like(one), np.zeros_like(one)) for one in parameters]
        self._steps = 0

    def step(self, gradients: list[Matrix]) -> None:
        """Change each parameter by its gradient."""
        self._steps += 1
        for parameter, gradient, (mean, square) in zip(self._parameters, gradients, self._moments, strict=True):
            mean[:] += 0.1 * (gradient - mean)
            square[:] += 0.001 * (gradient * gradient - square)
            root = np.sqrt(square / (1 - 0.999**self._steps)) + 1e-8
            parameter[:] -= _LEARNING_RATE * (mean / (1 - 0.9**self._steps)) / root


def _softmax(similarities: Matrix) -> Matrix:
    powers = np.exp((similarities - similarities.max(axis=1, keepdims=True)) / _TEMPERATURE)
    return powers / powers.sum(axis=1, keepdims=True)
