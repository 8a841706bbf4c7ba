"""What a search provider is: the one interface the tools know, whether Tavily, SearXNG or the local index answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from .results import ExtractResults, SearchContext, SearchResults

__all__ = ["ProviderName", "SearchDepth", "SearchProvider"]

SearchDepth = Literal["basic", "advanced"]
ProviderName = Literal["tavily", "local", "searxng"]


@runtime_checkable
class SearchProvider(Protocol):
    """Answers searches, extractions and contexts; every failure is a `TavilyAPIError`.

    An address that cannot be read is not a failure: it is listed in `ExtractResults.failed_results`.
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
    ) -> SearchResults:
        """The best hits for `query`."""
        ...

    async def extract(self, urls: Sequence[str]) -> ExtractResults:
        """The text of each of `urls`."""
        ...

    async def context(self, query: str, *, max_tokens: int | None = None) -> SearchContext:
        """Passages about `query`, at most `max_tokens` tokens of them."""
        ...

    async def aclose(self) -> None:
        """Gives connections and files back; may be called twice."""
        ...
