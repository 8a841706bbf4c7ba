"""Hard negatives: tools that look like the answer to a question, and are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from hikidashi.search import ToolCatalog
from hikidashi.search.engine.limits import MAX_LIMIT

from .sets import TrainingSet

if TYPE_CHECKING:
    from .network import Network

__all__ = ["by_meaning", "by_words"]

_DEPTH = 12
_SKIPPED = 0.95  # of the similarity of the answer: a tool as near as this is probably an answer nobody labelled


def by_words(one: TrainingSet) -> list[list[int]]:
    """For each question, the wrong tools that BM25 ranks highest."""
    names = [f"{place} {tool['name']}" for place, tool in enumerate(one.tools)]
    catalog = ToolCatalog(
        [{**tool, "name": name} for tool, name in zip(one.tools, names, strict=True)],
        limit_tools=max(10_000, len(names)),
        limit_query=100_000,
        glossary=False,
    )
    places = {name: place for place, name in enumerate(names)}
    found: list[list[int]] = []
    for question, gold in one.questions:
        hits = catalog.search(question, limit=min(_DEPTH, MAX_LIMIT))
        found.append([place for hit in hits if (place := places[hit.name]) not in gold])
    return found


def by_meaning(one: TrainingSet, network: Network) -> list[list[int]]:
    """For each question, the wrong tools that the network itself ranks highest."""
    tools = network.embed(one.texts())
    questions = network.embed([question for question, _ in one.questions])
    found: list[list[int]] = []
    for start in range(0, len(questions), 256):
        similarities = questions[start : start + 256] @ tools.T
        nearest = torch.topk(similarities, min(_DEPTH, len(tools)), dim=1).indices.tolist()
        for row, places in enumerate(nearest):
            gold = one.questions[start + row][1]
            most = _SKIPPED * float(similarities[row, gold].max())
            found.append([place for place in places if place not in gold and float(similarities[row, place]) < most])
    return found
