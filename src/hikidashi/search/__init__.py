"""Tool search: the few tools an agent needs now, out of all it could have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ToolSearchError
from .catalog import ToolCatalog
from .match import ToolMatch

if TYPE_CHECKING:
    from .semantic import Embedder

__all__ = ["Embedder", "ToolCatalog", "ToolMatch", "ToolSearchError"]


def __getattr__(name: str) -> object:
    if name == "Embedder":  # only a search by meaning pays for this import
        from .semantic import Embedder

        return Embedder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
