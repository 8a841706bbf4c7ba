"""An index of one's own documents, embedded: SQLite, English and Japanese, no key and no network."""

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
