"""Hybrid ranking: passages found by words are reranked with embedding similarity.

The model is that of the tool search (`search.engine.embeddings`), which comes with hikidashi, or a custom function. A
query in a language that the model does not support is ranked by words alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from ...search.engine.embeddings import Embedder, embedder_of
from ...search.engine.meaning import Vectorizer

if TYPE_CHECKING:
    from .index import FoundPassage

Embed = Callable[[list[str]], Any] | Embedder
"""A function from texts to vectors, or an `Embedder`."""

_CANDIDATES = 40
_MAX_CHARACTERS = 1_000
# Weight of the embedding similarity in a score.
_WEIGHT = 0.3

_Digest = TypeVar("_Digest")


class SemanticRanker:
    """Ranks passages by words and by embedding similarity.

    Args:
        embed: A function from texts to vectors; the model that comes with hikidashi if None.

    Raises:
        MissingExtra: there is no model.
    """

    def __init__(self, embed: Embed | None = None) -> None:
        self._vectorizer = Vectorizer(embedder_of(embed))

    def ranked(
        self, question: str, found: Iterable[tuple[FoundPassage, _Digest]]
    ) -> Iterator[tuple[FoundPassage, _Digest]]:
        """`found`, ranked by words, reranked by the weighted mean of both scores."""
        rest = iter(found)
        if not self._reads(question):
            yield from rest
            return
        best = list(islice(rest, _CANDIDATES))
        if len(best) > 1:
            asked, *passages = self._vectorizer.vectors([question, *(_text_of(one) for one, _ in best)])
            near = [min(1.0, max(0.0, float((vector * asked).sum()))) for vector in passages]
            scored = [
                (replace(one, score=(1 - _WEIGHT) * one.score + _WEIGHT * similarity), digest)
                for (one, digest), similarity in zip(best, near, strict=True)
            ]
            best = sorted(scored, key=lambda pair: -pair[0].score)
        yield from best
        lowest = best[-1][0].score if best else 0.0
        for one, digest in rest:
            yield replace(one, score=min(one.score, lowest)), digest

    def _reads(self, question: str) -> bool:
        """Whether the model can embed `question`: all letters are Latin, or the model is multilingual."""
        latin = all(letter < "\u0250" for letter in question if letter.isalpha())
        return latin or self._vectorizer.embedder.multilingual


def _text_of(found: FoundPassage) -> str:
    return f"{found.title}. {found.heading}. {found.body}"[:_MAX_CHARACTERS]
