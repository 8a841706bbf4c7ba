"""The interface of a search provider, which Tavily, SearXNG and the local index implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, ClassVar, Literal, Self, TypeVar, Unpack

from ..errors import TavilyAPIError
from ..providers import providers_that_can
from ..texts import Language, LocalizedText, in_language
from .answers import pack_context
from .messages import validation_error
from .passages import extracted_as
from .request import (
    CRAWL_DEFAULTS,
    EXTRACT_DEFAULTS,
    MOST_RESULTS,
    CrawlOptions,
    ExtractOptions,
    SearchFilters,
    SearchOptions,
    SearchRequest,
    check_crawl_options,
    check_extract_options,
    check_max_tokens,
    refuse_crawl_options,
    refuse_filters,
)
from .results import CrawlResults, ExtractResults, MapResults, SearchContext, SearchResults

_DOMAINS = ("include_domains", "exclude_domains")
_FILTERS = tuple(item.name for item in fields(SearchFilters))

_Results = TypeVar("_Results", SearchResults, ExtractResults, CrawlResults, MapResults)


class SearchProvider(ABC):
    """Answers searches, extractions and contexts; every failure is a `TavilyAPIError`.

        class Shelf(SearchProvider):
            name = "shelf"

            async def _search(self, request: SearchRequest) -> SearchResults:
                hits = [hit for hit in HITS if request.query in hit.content][: request.max_results]
                return SearchResults(query=request.query, results=tuple(hits), provider=self.name)

    A subclass defines `_search`, and what it does better than the methods here: `_extract` fetches the pages,
    `_context` packs the hits of a search, `_crawl` and `_map` refuse. What they are given is checked: values are
    allowed, and a filter that is not in `supported_filters` was refused by name. A page that cannot be read is not a
    failure: it is listed in `ExtractResults.failed_results`. Errors and reasons are in `language`.
    """

    name: str
    """The name of the provider in results and logs."""
    title: str = ""
    """Its name in messages; by default `name`."""
    language: Language = "ja"
    """The language of error messages and of the reasons why a page could not be read."""
    supported_filters: frozenset[str] = frozenset()
    """The fields of `SearchFilters` that `_search` applies; without those of domains, they are applied to its hits."""
    has_extract_options: ClassVar[bool] = False
    """Whether `_extract` chooses passages and the format itself; else this is done with the pages it gives."""
    unsupported_crawl_options: ClassVar[Sequence[str]] = ()
    """The fields of `CrawlOptions` that it refuses."""
    # Tavily charges the same for up to 20 results, but more than 10 rarely fit.
    context_search: ClassVar[SearchOptions] = {"max_results": 10}
    """The search behind a context."""

    async def search(self, query: SearchRequest | str, **options: Unpack[SearchOptions]) -> SearchResults:
        """The best hits for a request, or for a query with options such as `max_results=3` or `time_range="week"`.

        Raises:
            TavilyAPIError: a value is not allowed or not supported (VALIDATION_ERROR), or the search failed.
        """
        with errors_in(self.language):
            return self._told(await self._found(self._asked(query, options)))

    async def extract(
        self,
        urls: Sequence[str],
        *,
        extract_depth: Literal["basic", "advanced"] | None = None,
        options: ExtractOptions | None = None,
    ) -> ExtractResults:
        """The text of each of `urls`, at most 20, and why others could not be read; both in the order requested.

        Raises:
            TavilyAPIError: `urls` is empty or an option is not allowed (VALIDATION_ERROR), or the request failed.
        """
        with errors_in(self.language):
            chosen = options or EXTRACT_DEFAULTS
            chosen = chosen if extract_depth is None else replace(chosen, depth=extract_depth)
            chosen = check_extract_options(chosen)
            pages = await self._extract(urls, chosen)
            if not self.has_extract_options:
                pages = replace(pages, results=tuple(extracted_as(page, chosen) for page in pages.results))
            return self._told(pages)

    async def context(
        self, query: SearchRequest | str, *, max_tokens: int | None = None, **options: Unpack[SearchOptions]
    ) -> SearchContext:
        """Passages about a query for a prompt, at most `max_tokens` tokens of them (4,000 if None).

        Raises:
            TavilyAPIError: as `search`.
        """
        with errors_in(self.language):
            check_max_tokens(max_tokens)
            return await self._context(self._asked(query, {**self.context_search, **options}), max_tokens)

    async def crawl(self, url: str, *, options: CrawlOptions | None = None) -> CrawlResults:
        """The text of the pages of a site.

        Raises:
            TavilyAPIError: `url` or an option is refused (VALIDATION_ERROR), or the crawl failed.
        """
        with errors_in(self.language):
            return self._told(await self._crawl(url, self._checked_crawl(options)))

    async def map(self, url: str, *, options: CrawlOptions | None = None) -> MapResults:
        """The addresses of the pages of a site.

        Raises:
            TavilyAPIError: as `crawl`.
        """
        with errors_in(self.language):
            return self._told(await self._map(url, self._checked_crawl(options)))

    async def aclose(self) -> None:  # noqa: B027 - most providers hold nothing open
        """Close connections and files; may be called twice, and a later call opens them again."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @abstractmethod
    async def _search(self, request: SearchRequest) -> SearchResults:
        """The best hits; "fast" and "ultra-fast" are summaries too."""

    async def _extract(self, urls: Sequence[str], options: ExtractOptions) -> ExtractResults:
        """The pages, by the guarded fetcher."""
        from .pages.extract import extract_urls

        return await extract_urls(urls, provider=self.name)

    async def _context(self, request: SearchRequest, max_tokens: int | None) -> SearchContext:
        found = await self._found(request)
        return pack_context(
            request.query,
            found.results,
            max_tokens,
            provider=self.name,
            cached=found.cached,
            credits=found.credits,
        )

    async def _crawl(self, url: str, options: CrawlOptions) -> CrawlResults:
        raise self._cannot("crawl")

    async def _map(self, url: str, options: CrawlOptions) -> MapResults:
        raise self._cannot("map")

    def _asked(self, query: SearchRequest | str, options: Mapping[str, Any]) -> SearchRequest:
        """The request, checked, with filters that this provider supports, or of domains."""
        asked = query if isinstance(query, SearchRequest) else SearchRequest.of(query, **options)
        others = [name for name in _FILTERS if name not in self.supported_filters and name not in _DOMAINS]
        refuse_filters(others, asked.filters, provider=self.title or self.name)
        return asked

    async def _found(self, request: SearchRequest) -> SearchResults:
        """The hits, without those of other domains if the provider does not leave them out."""
        given = request.filters.given()
        chosen_here = [name for name in _DOMAINS if name in given and name not in self.supported_filters]
        if not chosen_here:
            return await self._search(request)
        rest: dict[str, Any] = dict.fromkeys(chosen_here, ())
        wide = replace(request, max_results=MOST_RESULTS, filters=replace(request.filters, **rest))
        found = await self._search(wide)
        hits = (hit for hit in found.results if request.filters.allows_host(hit.url))
        return replace(found, results=tuple(hits)[: request.max_results])

    def _checked_crawl(self, options: CrawlOptions | None) -> CrawlOptions:
        chosen = check_crawl_options(options or CRAWL_DEFAULTS)
        refuse_crawl_options(chosen, self.unsupported_crawl_options, provider=self.title or self.name)
        return chosen

    def _cannot(self, what: str) -> TavilyAPIError:
        able = ", ".join(sorted(providers_that_can("crawl")))
        return validation_error("crawl_unsupported", provider=self.title or self.name, what=what, instead=able)

    def _told(self, results: _Results) -> _Results:
        """`results` with its texts in the provider's language."""
        if isinstance(results, SearchResults):
            if not any(isinstance(hit.content, LocalizedText) for hit in results.results):
                return results
            hits = (replace(hit, content=in_language(hit.content, self.language)) for hit in results.results)
            return replace(results, results=tuple(hits))
        if not results.failed_results:
            return results
        failed = (replace(page, error=in_language(page.error, self.language)) for page in results.failed_results)
        return replace(results, failed_results=tuple(failed))


@contextmanager
def errors_in(language: Language) -> Generator[None]:
    """A `TavilyAPIError` raised inside has its message in `language`."""
    try:
        yield
    except TavilyAPIError as error:
        if isinstance(error.message, LocalizedText):
            before, error.message = error.message, in_language(error.message, language)
            error.args = tuple(error.message if value is before else value for value in error.args)
        raise
