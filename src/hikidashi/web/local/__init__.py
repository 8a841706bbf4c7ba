"""An embedded full-text index of the user's documents in SQLite, for English and Japanese, without key or network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...common.lazy import lazy
from ..passages import Passage
from ..words import Term
from .database import IndexTotals, IndexWriter, ListedDocument, NewDocument, StoredDocument, StoredState
from .index import FoundPassage, LocalIndex, default_index_path
from .ingest import IngestEvent, IngestKind, ingest
from .provider import LocalSearchProvider, Ranker

if TYPE_CHECKING:
    from .semantic import Embed, SemanticRanker

__all__ = [
    "Embed",
    "FoundPassage",
    "IndexTotals",
    "IndexWriter",
    "IngestEvent",
    "IngestKind",
    "ListedDocument",
    "LocalIndex",
    "LocalSearchProvider",
    "NewDocument",
    "Passage",
    "Ranker",
    "SemanticRanker",
    "StoredDocument",
    "StoredState",
    "Term",
    "default_index_path",
    "ingest",
]

# Only a hybrid provider pays for this import.
__getattr__, __dir__ = lazy(__name__, {"Embed": ".semantic", "SemanticRanker": ".semantic"}, __all__)
