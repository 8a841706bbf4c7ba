"""A sentence encoder tuned to match questions with tools: MiniLM, int8, on ONNX Runtime.

from hikidashi_encoder import Encoder

vectors = Encoder().embed(["cancel my meeting on monday"])  # one normalised row of 384 numbers per text

Importing this is cheap: ONNX Runtime is loaded with the first `Encoder`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["DIMENSIONS", "ID", "MOST_TOKENS", "Encoder", "ModelError", "__version__"]

__version__ = "0.3.0"
DIMENSIONS = 384
MOST_TOKENS = 64
"""Longer texts are truncated."""

_FOLDER = Path(__file__).parent / "model"
_MODEL, _TOKENIZER = "model.onnx", "tokenizer.json"
_MOST_CHARACTERS = 10_000  # far more than 64 tokens need: megabytes are not tokenized to be truncated
_SAMPLED, _STRIDE = 4_096, 1 << 20


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
    """The model, loaded once; `embed` may be called from several threads.

    Args:
        threads: How many texts of one call are embedded at a time; more than one pays for long lists on an idle
            machine.
        folder: The folder with another model that was exported by `make encoder`; None for the one in this package.

    Raises:
        ModelError: A file of the model is missing or damaged.
        ValueError: `threads` is not a whole number of at least 1.
    """

    def __init__(self, *, threads: int = 1, folder: Path | None = None) -> None:
        if type(threads) is not int or threads < 1:
            raise ValueError(f"threads must be a whole number of at least 1, not {threads!r:.100}")
        self._threads = threads
        place = _FOLDER if folder is None else Path(folder)
        self._tokenizer = _load_tokenizer(place / _TOKENIZER)
        self._session = _load_session(place / _MODEL)

    def embed(self, texts: Iterable[str]) -> NDArray[np.float32]:
        """The normalised vector of each text, one row each.

        A text has the same vector in every list: the scale of int8 activations is that of all texts which pass through
        the network together, so each passes alone. That takes no longer, since no text is padded to the longest.

        Raises:
            TypeError: `texts` is a single text, has no order, or has something else than texts.
        """
        texts = _checked(texts)
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        if self._threads > 1 and len(texts) > 1:
            with ThreadPoolExecutor(self._threads) as pool:
                for place, vector in enumerate(pool.map(self._vector, texts)):
                    vectors[place] = vector
        else:
            for place, text in enumerate(texts):
                vectors[place] = self._vector(text)
        return vectors

    def _vector(self, text: str) -> NDArray[np.float32]:
        encoded = self._tokenizer.encode(_well_formed(text.strip()[:_MOST_CHARACTERS]))
        given = {
            "input_ids": np.array([encoded.ids], np.int64),
            "attention_mask": np.array([encoded.attention_mask], np.int64),
        }
        return self._session.run(["vectors"], given)[0][0]


def _load_tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer

    _check_file(path)
    try:
        tokenizer: Any = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower type
        raise ModelError(path, f"is damaged ({_first_line(error)})") from error
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.no_padding()
    return tokenizer


def _load_session(path: Path) -> Any:
    # From 1.31 on, ONNX Runtime keeps a device id and sends usage to its makers when it is imported without this.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    onnxruntime: Any = import_module("onnxruntime")  # it has no types
    _check_file(path)
    options = onnxruntime.SessionOptions()
    # A text is too little work for two threads, and a thread that waits takes the processor from everything else.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session: Any = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        outputs = {output.name: output.shape for output in session.get_outputs()}
    except Exception as error:  # one class per status code, none of them public
        raise ModelError(path, f"is damaged ({_first_line(error)})") from error
    if outputs.get("vectors", [0])[-1] != DIMENSIONS:
        raise ModelError(path, f"is another model: it has no output `vectors` of {DIMENSIONS} numbers")
    return session


def _check_file(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ModelError(path, "is missing" if isinstance(error, FileNotFoundError) else str(error)) from error
    if not size:
        raise ModelError(path, "is empty")


def _checked(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise TypeError("embed takes a list of texts, not a text. Use: embed([text])")
    given = cast("object", texts)
    if isinstance(given, bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise TypeError(f"embed takes a list of texts, not a {type(texts).__name__} ({texts!r:.100})")
    listed: list[Any] = list(cast("Iterable[Any]", given))
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"embed takes texts, and number {place} is of type {type(text).__name__} ({text!r:.100})")
    return listed


def _well_formed(text: str) -> str:
    """`text` without lone surrogates, which the tokenizer refuses: each becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _fingerprint(path: Path) -> str:
    """A digest of samples of the model: one that was trained again differs in every layer."""
    digest = blake2b(digest_size=6)
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            digest.update(str(size).encode())
            for start in range(0, size, _STRIDE):
                file.seek(start)
                digest.update(file.read(_SAMPLED))
    except OSError:  # `Encoder` says what is wrong
        return "unavailable"
    return digest.hexdigest()


ID = f"hikidashi-encoder-{__version__}-{_fingerprint(_FOLDER / _MODEL)}"
"""Name, version and digest of the model: vectors that are kept under it are of this model alone."""
