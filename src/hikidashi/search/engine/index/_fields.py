"""The searched fields of a tool: their weights, and the terms that are indexed of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..entry import Entry
from ..text.analyzer import Analyzer

__all__ = ["FIELD_WEIGHTS", "MAX_TERMS", "WEIGHT_UNIT", "weighted_terms"]

WEIGHT_UNIT = 20
"""The weight of a description: weights are whole numbers, so that sums of them are exact in any order."""
FIELD_WEIGHTS: Mapping[str, int] = {
    # A name is short and specific: 2.5 times a description. Arguments show what a tool needs rather than what it
    # does: .7; their descriptions are long and full of examples: .35.
    "name": 50,
    "aliases": 50,
    "description": 20,
    "tags": 20,
    "argument_names": 14,
    "argument_descriptions": 7,
    "argument_values": 14,
}
MAX_TERMS = 10_000
"""The most terms that are indexed of one field: the summed weight of a term must fit into a posting."""


def weighted_terms(entry: Entry, analyzer: Analyzer) -> Iterator[tuple[int, list[str]]]:
    """The weight and the terms of each field that is not empty."""
    terms = analyzer.terms
    for name, texts in entry.texts():
        if texts:
            yield FIELD_WEIGHTS[name], terms(texts[0] if len(texts) == 1 else "\n".join(texts))[:MAX_TERMS]
