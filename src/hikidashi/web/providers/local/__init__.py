"""An index of one's own documents, embedded: SQLite, English and Japanese, no key and no network."""

from typing import TYPE_CHECKING

from ....common.lazy import lazy
from ...text.split import Passage
from ...text.words import Term
from ._writer import IndexWriter, Known, NewDocument
from .index import Found, IndexTotals, ListedDocument, LocalIndex, StoredDocument, default_index_path
from .ingest import IngestEvent, IngestKind, ingest
from .provider import LocalSearchProvider, Ranker

if TYPE_CHECKING:
    from ._semantic import Embed, SemanticRanker

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

# Only a hybrid provider pays for this import.
__getattr__, __dir__ = lazy(__name__, {"Embed": "._semantic", "SemanticRanker": "._semantic"}, __all__)
