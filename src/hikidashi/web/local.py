"""Alias of `hikidashi.web.providers.local`."""

from .providers.local import (
    Found,
    IndexTotals,
    IngestEvent,
    IngestKind,
    ListedDocument,
    LocalIndex,
    LocalSearchProvider,
    Ranker,
    StoredDocument,
    default_index_path,
    ingest,
)

__all__ = [
    "Found",
    "IndexTotals",
    "IngestEvent",
    "IngestKind",
    "ListedDocument",
    "LocalIndex",
    "LocalSearchProvider",
    "Ranker",
    "StoredDocument",
    "default_index_path",
    "ingest",
]
