"""What the encoder is measured beside: static vectors, and the base before it was tuned."""

from __future__ import annotations

import logging
from importlib import import_module
from pathlib import Path
from typing import Any

from hikidashi.search import Embedder

from .network import Network

__all__ = ["of_network", "static_vectors"]

_STATIC_FLOOR = 0.45  # the similarity of wordllama's vectors from which texts have more than their style in common


def of_network(network: Network) -> Embedder:
    """A network, with float32 weights, as an embedder."""
    return Embedder(embed=lambda texts: network.embed(texts).numpy())


def static_vectors() -> Embedder | None:
    """The static vectors of wordllama; None if it is not installed."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        wordllama: Any = import_module("wordllama")
    except ImportError:
        return None
    finally:  # importing it configures the root logger
        root.handlers[:] = handlers
        root.setLevel(level)
    # By default it looks for the weights beside the package and then downloads them; they are inside the package.
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return Embedder(embed=model.embed, floor=_STATIC_FLOOR)
