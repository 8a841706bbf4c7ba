"""An embedded full-text index of the user's documents in SQLite, for English and Japanese, without key or network."""

from .index import Found, IndexTotals, ListedDocument, LocalIndex, StoredDocument, default_index_path
from .ingest import IngestEvent, IngestKind, ingest
from .provider import LocalSearchProvider, Ranker

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
