"""What the frozen part of the network makes of texts, kept in `work/`, so that towers train in minutes."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from hikidashi_encoder import MOST_PIECES
from hikidashi_encoder.network import Network
from hikidashi_encoder.tokenizer import Tokenizer
from numpy.typing import NDArray

__all__ = ["Features"]

_AT_ONCE = 32  # texts


class Features:
    """Computes the sums that towers read, and keeps those of each list of texts in a file.

    Args:
        network: The network, with or without towers.
        tokenizer: The tokenizer.
        folder: Where they are kept.
    """

    def __init__(self, network: Network, tokenizer: Tokenizer, folder: Path) -> None:
        self._network, self._tokenizer, self._folder = network, tokenizer, folder

    def of(self, name: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row for each text; `name` is for the file and for what is printed."""
        digest = blake2b("\n".join(texts).encode(), digest_size=6).hexdigest()
        path = self._folder / f"{name}-{digest}.npy"
        if path.exists():
            return np.load(path)
        print(f"{name}: {len(texts):,} texts", flush=True)
        cut = [self._tokenizer.encode(text, MOST_PIECES) for text in texts]
        order = sorted(range(len(cut)), key=lambda place: len(cut[place]))
        found = np.empty((len(texts), 512), np.float32)
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            found[some] = self._network.summed([cut[place] for place in some])
        self._folder.mkdir(parents=True, exist_ok=True)
        np.save(path, found)
        return found
