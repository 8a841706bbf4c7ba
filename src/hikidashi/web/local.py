"""Alias of `hikidashi.web.providers.local`: the index of local documents, and the types of its signatures."""

from typing import TYPE_CHECKING

from ..common.lazy import lazy
from .providers.local import (
    Found,
    IndexTotals,
    IndexWriter,
    IngestEvent,
    IngestKind,
    Known,
    ListedDocument,
    LocalIndex,
    LocalSearchProvider,
    NewDocument,
    Passage,
    Ranker,
    StoredDocument,
    Term,
    default_index_path,
    ingest,
)

if TYPE_CHECKING:
    from .providers.local import Embed, SemanticRanker

__all__ = [
    "Embed",
    "Found",
    "IndexTotals",
    "IndexWriter",
    "IngestEvent",
    "IngestKind",
    "Known",
    "ListedDocument",
    "LocalIndex",
    "LocalSearchProvider",
    "NewDocument",
    "Passage",
    "Ranker",
    "SemanticRanker",
    "StoredDocument",
    "Term",
    "default_index_path",
    "ingest",
]

_HOME = "hikidashi.web.providers.local"
__getattr__, __dir__ = lazy(__name__, {"Embed": _HOME, "SemanticRanker": _HOME}, __all__)
