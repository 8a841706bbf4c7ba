"""The checkpoint of a training run: all that it needs to go on as if it had not been interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from .mining import NearByMeaning
from .network import Network

__all__ = ["Checkpoint", "steps_done"]


class Checkpoint:
    """A file with the weights, the state of the optimizer, and the vectors that hard negatives are mined with."""

    def __init__(
        self, path: Path, network: Network, optimizer: torch.optim.Optimizer, by_meaning: NearByMeaning
    ) -> None:
        self._path = path
        self._network = network
        self._optimizer = optimizer
        self._by_meaning = by_meaning

    def save(self, step: int) -> None:
        """Replace the file."""
        state: dict[str, Any] = {
            "step": step,
            "network": self._network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "vectors": self._by_meaning.vectors,
        }
        part = self._path.with_suffix(".part")
        torch.save(state, part)
        part.replace(self._path)

    def load(self) -> int:
        """Take the state in the file; returns the number of steps that were done, 0 without a file."""
        if not self._path.exists():
            return 0
        state: dict[str, Any] = torch.load(self._path, weights_only=True)
        self._network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._by_meaning.vectors = state.get("vectors", {})  # earlier files have none
        return int(state["step"])


def steps_done(path: Path) -> int:
    """The number of steps of a checkpoint; 0 if there is none."""
    return int(torch.load(path, weights_only=True, mmap=True)["step"]) if path.exists() else 0
