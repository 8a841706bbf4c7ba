"""What a search provider is: the one interface the tools know, whether Tavily, SearXNG or the local index answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from .results import ExtractResults, SearchContext, SearchResults

if TYPE_CHECKING:
    from .filters import ExtractOptions, SearchFilters

__all__ = ["SearchDepth", "SearchProvider"]

SearchDepth = Literal["basic", "advanced", "fast", "ultra-fast"]
"""Summaries of pages, or the passages that matter; the last two are summaries too, sooner where a provider can."""


@runtime_checkable
class SearchProvider(Protocol):
    """Answers searches, extractions and contexts; every failure is a `TavilyAPIError`.

    A filter or option that a provider cannot carry out is refused by name, never ignored. An address that cannot be
    read is not a failure: it is listed in `ExtractResults.failed_results`.
    """

    @property
    def name(self) -> str:
        """What the provider is called in results and logs."""
        ...

    async def search(
        self,
        query: str,
        *,
        search_depth: SearchDepth = "basic",
        max_results: int = 5,
        include_answer: bool = False,
        filters: SearchFilters | None = None,
    ) -> SearchResults:
        """The best hits for `query` among the pages that `filters` let through."""
        ...

    async def extract(self, urls: Sequence[str], *, options: ExtractOptions | None = None) -> ExtractResults:
        """The text of each of `urls`, or of the parts that `options` ask for."""
        ...

    async def context(
        self, query: str, *, max_tokens: int | None = None, filters: SearchFilters | None = None
    ) -> SearchContext:
        """Passages about `query`, at most `max_tokens` tokens of them."""
        ...

    async def aclose(self) -> None:
        """Gives connections and files back; may be called twice."""
        ...
