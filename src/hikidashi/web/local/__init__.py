"""An index of one's own documents, embedded: SQLite, English and Japanese, no key and no network."""

from .index import Found, IndexTotals, LocalIndex, StoredDocument, default_index_path
from .ingest import IngestEvent, IngestKind, ingest
from .provider import LocalSearchProvider

__all__ = [
    "Found",
    "IndexTotals",
    "IngestEvent",
    "IngestKind",
    "LocalIndex",
    "LocalSearchProvider",
    "StoredDocument",
    "default_index_path",
    "ingest",
]
