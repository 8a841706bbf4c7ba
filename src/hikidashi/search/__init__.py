"""Tool search: the few tools an agent needs now, out of all it could have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import lazy
from ..errors import ToolSearchError
from .catalog import ToolCatalog
from .engine.match import ToolMatch

if TYPE_CHECKING:
    from .engine.embeddings import Embedder

__all__ = ["Embedder", "ToolCatalog", "ToolMatch", "ToolSearchError"]

# Only a search by meaning pays for this import.
__getattr__, __dir__ = lazy(__name__, {"Embedder": ".semantic"}, __all__)
