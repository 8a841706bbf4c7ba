"""The web tools, beside the libraries one would call without them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from ..registry import Case, Suite


class _Part(Protocol):
    GROUP: str
    MEANING: str
    CASES: Sequence[Case]


_PARTS = [
    cast("_Part", import_module(f".{name}", __name__))
    for name in ("throughput", "index", "extraction")
    if find_spec(f"{__name__}.{name}") is not None
]

SUITE = Suite(
    name="web",
    title="Web tools: search, index, extraction",
    groups={part.GROUP: part.MEANING for part in _PARTS},
    cases=[case for part in _PARTS for case in part.CASES],
    packages=("hikidashi", "httpx", "readability-lxml", "markdownify", "tantivy", "tavily-python", "trafilatura"),
)
