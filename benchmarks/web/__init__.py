"""The web tools, beside the libraries one would call without them."""

from __future__ import annotations

from ..registry import Suite
from . import documents, extraction, index, throughput

_PARTS = (throughput, index, documents, extraction)

SUITE = Suite(
    name="web",
    title="Web tools: search, index, extraction",
    groups={part.GROUP: part.MEANING for part in _PARTS},
    cases=[case for part in _PARTS for case in part.CASES],
    packages=("hikidashi", "httpx", "markdownify", "readability-lxml", "tantivy", "tavily-python", "trafilatura"),
)
