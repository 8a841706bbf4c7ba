"""The interface of a search provider, which Tavily, SearXNG and the local index implement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from .results import ExtractResults, SearchContext, SearchResults

if TYPE_CHECKING:
    from .request import ExtractOptions, SearchFilters

__all__ = ["AnswerKind", "SearchDepth", "SearchProvider"]

SearchDepth = Literal["basic", "advanced", "fast", "ultra-fast"]
""""basic" gives summaries, "advanced" the relevant passages; the other two give summaries faster, if supported."""
AnswerKind = bool | Literal["basic", "advanced"]
"""Whether to include a short answer; Tavily writes it in two lengths, "basic" if True."""


@runtime_checkable
class SearchProvider(Protocol):
    """Answers searches, extractions and contexts; every failure is a `TavilyAPIError`.

    A filter or option that a provider does not support is refused by name, never ignored. A page that cannot be read is
    not a failure: it is listed in `ExtractResults.failed_results`.
    """

    @property
    def name(self) -> str:
        """The name of the provider in results and logs."""
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
        """The best hits for `query` among the pages that `filters` allow."""
        ...

    async def extract(self, urls: Sequence[str], *, options: ExtractOptions | None = None) -> ExtractResults:
        """The text of each of `urls`, as `options` ask for."""
        ...

    async def context(
        self, query: str, *, max_tokens: int | None = None, filters: SearchFilters | None = None
    ) -> SearchContext:
        """Passages about `query`, at most `max_tokens` tokens of them."""
        ...

    async def aclose(self) -> None:
        """Close connections and files; may be called twice."""
        ...
