"""Hard negatives: tools that look like the answer to a question, and are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from hikidashi.search import ToolCatalog

from .sets import TrainingSet

if TYPE_CHECKING:
    from torch import Tensor

    from .network import Network

__all__ = ["NearByMeaning", "NearByWords"]

_DEPTH = 8
_SKIPPED = 0.95  # of the similarity of the answer: a tool as near as this is probably an answer nobody labelled


class NearByWords:
    """The wrong tools that BM25 ranks highest for a question of a set; searched when first asked for."""

    def __init__(self, one: TrainingSet) -> None:
        self._set = one
        names = [f"{place} {tool['name']}" for place, tool in enumerate(one.tools)]
        self._places = {name: place for place, name in enumerate(names)}
        self._catalog = ToolCatalog(
            [{**tool, "name": name} for tool, name in zip(one.tools, names, strict=True)],
            ranker="lexical",
            limit_tools=max(10_000, len(names)),
            limit_query=100_000,
            glossary=False,
        )

    def __call__(self, question: int) -> list[int]:
        """The places of the wrong tools, nearest first."""
        text, gold = self._set.questions[question]
        found = [self._places[hit.name] for hit in self._catalog.search(text, limit=_DEPTH)]
        return [place for place in found if place not in gold]


class NearByMeaning:
    """The wrong tools that the network ranks highest; `renew` embeds the tools anew, by the network as it is then."""

    def __init__(self, texts: dict[str, list[str]]) -> None:
        self._texts = texts
        self.vectors: dict[str, Tensor] = {}
        """Those of the tools, by set; a checkpoint keeps them."""

    def renew(self, network: Network) -> None:
        """Embed all tools again."""
        self.vectors = {name: network.embed(texts) for name, texts in self._texts.items()}

    def __call__(self, name: str, questions: Tensor, gold: list[list[int]]) -> list[list[int]]:
        """For each vector of a question about the set `name`, the places of the wrong tools, nearest first."""
        similarities = questions.detach().float() @ self.vectors[name].T
        nearest = torch.topk(similarities, min(_DEPTH, similarities.shape[1]), dim=1).indices.tolist()
        found: list[list[int]] = []
        for row, places in enumerate(nearest):
            answers = gold[row]
            most = _SKIPPED * float(similarities[row, answers].max()) if answers else 1.0
            found.append([place for place in places if place not in answers and float(similarities[row, place]) < most])
        return found
