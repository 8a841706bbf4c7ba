"""A sentence encoder tuned to match questions with tools: MiniLM, int8, on ONNX Runtime.

from hikidashi_encoder import Encoder

vectors = Encoder().embed(["cancel my meeting on monday"])  # one normalised row of 384 numbers per text
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import as_file, files
from threading import Lock
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

__all__ = ["DIMENSIONS", "ID", "MOST_TOKENS", "Encoder"]

DIMENSIONS = 384
MOST_TOKENS = 64
"""Longer texts are truncated."""
ID = f"hikidashi-encoder-{version('hikidashi-encoder')}"
"""Name and version of the model, under which its vectors can be cached."""

_BATCH = 32


class Encoder:
    """The model, loaded once; `embed` may be called from several threads.

    Args:
        threads: The threads of one call; more than one pays only for long lists of texts on an idle machine.
    """

    def __init__(self, *, threads: int = 1) -> None:
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Threads that wait by spinning take the processor from everybody else.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        folder = files(__name__) / "model"
        with as_file(folder / "tokenizer.json") as path:
            self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._tokenizer.enable_padding()
        self._session: Any = onnxruntime.InferenceSession(
            (folder / "model.onnx").read_bytes(), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizing = Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The normalised vector of each text, one row each."""
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        # Texts of like length together: every text of a batch is padded to the longest.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            with self._tokenizing:
                encoded = self._tokenizer.encode_batch([texts[place] for place in places])
            given = {
                "input_ids": np.array([one.ids for one in encoded], np.int64),
                "attention_mask": np.array([one.attention_mask for one in encoded], np.int64),
            }
            vectors[places] = self._session.run(["vectors"], given)[0]
        return vectors
