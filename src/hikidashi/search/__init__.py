"""Tool search: the few tools an agent needs now, out of all it could have."""

from __future__ import annotations

from ..errors import ToolSearchError
from .catalog import ToolCatalog
from .match import ToolMatch
from .semantic import Embedder

__all__ = ["Embedder", "ToolCatalog", "ToolMatch", "ToolSearchError"]
