"""Calls to any provider, also to one whose methods take no filters or options.

Filters and options are passed only if they are set. For a provider that takes none, domains, formats and passages are
applied here to its results; any other filter is refused by name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields, replace
from inspect import Parameter, signature
from typing import Any, cast

from ..providers import providers_that_can
from .messages import validation_error
from .provider import AnswerKind, SearchDepth, SearchProvider
from .request import (
    EXTRACT_DEFAULTS,
    MOST_RESULTS,
    CrawlOptions,
    CrawlResults,
    ExtractOptions,
    MapResults,
    SearchFilters,
    check_extract_options,
    refuse_unsupported,
)
from .results import ExtractResults, SearchContext, SearchResults

__all__ = ["ask_context", "ask_crawl", "ask_extract", "ask_map", "ask_search", "supported_filters"]

_DOMAINS = ("include_domains", "exclude_domains")


async def ask_search(
    provider: SearchProvider,
    query: str,
    *,
    search_depth: SearchDepth = "basic",
    max_results: int = 5,
    include_answer: AnswerKind = False,
    filters: SearchFilters | None = None,
) -> SearchResults:
    """The best hits for `query` among the pages that `filters` allow.

    A provider that knows one kind of answer gives that for "basic" and "advanced" alike.

    Raises:
        TavilyAPIError: the provider does not support a filter (VALIDATION_ERROR), or the search failed.
    """
    more = _filters_for(provider, provider.search, filters)
    if search_depth in ("fast", "ultra-fast") and not _takes(provider.search, "filters"):
        search_depth = "basic"  # such a provider knows two depths; these are "basic" at another speed
    chosen_here = filters is not None and bool(filters.given()) and not more
    found = await provider.search(
        query,
        search_depth=search_depth,
        max_results=MOST_RESULTS if chosen_here else max_results,
        include_answer=cast("bool", include_answer),
        **more,
    )
    if filters is None or not chosen_here:
        return found
    return replace(found, results=tuple(hit for hit in found.results if filters.allows_host(hit.url))[:max_results])


async def ask_context(
    provider: SearchProvider,
    query: str,
    *,
    max_tokens: int | None = None,
    filters: SearchFilters | None = None,
) -> SearchContext:
    """Passages about `query` from the pages that `filters` allow.

    Raises:
        TavilyAPIError: as `ask_search`.
    """
    more = _filters_for(provider, provider.context, filters)
    return await provider.context(query, max_tokens=max_tokens, **more)


async def ask_extract(
    provider: SearchProvider,
    urls: Sequence[str],
    *,
    options: ExtractOptions | None = None,
) -> ExtractResults:
    """The text of each of `urls`, as `options` ask for.

    Raises:
        TavilyAPIError: an option is refused (VALIDATION_ERROR), or the extraction failed.
    """
    if options is None or options == EXTRACT_DEFAULTS:
        return await provider.extract(urls)
    if _takes(provider.extract, "options"):
        return await provider.extract(urls, options=options)
    from .passages import extracted_as

    checked = check_extract_options(options)
    if checked.depth != EXTRACT_DEFAULTS.depth:
        raise validation_error("depth_unsupported", provider=provider.name, depth=checked.depth)
    pages = await provider.extract(urls)
    return replace(pages, results=tuple(extracted_as(page, checked) for page in pages.results))


async def ask_crawl(provider: SearchProvider, url: str, *, options: CrawlOptions) -> CrawlResults:
    """The text of the pages of the site at `url`.

    Raises:
        TavilyAPIError: the provider cannot crawl, or refuses an option (VALIDATION_ERROR), or the crawl failed.
    """
    crawl: Callable[..., Awaitable[CrawlResults]] = _crawler(provider, "crawl")
    return await crawl(url, options=options)


async def ask_map(provider: SearchProvider, url: str, *, options: CrawlOptions) -> MapResults:
    """The addresses of the pages of the site at `url`.

    Raises:
        TavilyAPIError: as `ask_crawl`.
    """
    find: Callable[..., Awaitable[MapResults]] = _crawler(provider, "map")
    return await find(url, options=options)


def _crawler(provider: SearchProvider, what: str) -> Callable[..., Awaitable[Any]]:
    method = getattr(provider, what, None)
    if method is None:
        able = ", ".join(sorted(providers_that_can("crawl")))
        raise validation_error("crawl_unsupported", provider=provider.name, what=what, instead=able)
    return method


def supported_filters(provider: SearchProvider) -> list[str]:
    """The filters that `provider` supports: those in its `supported_filters`, else all if it takes `filters`."""
    known = [item.name for item in fields(SearchFilters)]
    if not _takes(provider.search, "filters"):
        return []
    supported = getattr(provider, "supported_filters", known)
    return [name for name in known if name in supported]


def _filters_for(provider: SearchProvider, method: Callable[..., Any], filters: SearchFilters | None) -> dict[str, Any]:
    if filters is None or not filters.given():
        return {}
    if _takes(method, "filters"):
        return {"filters": filters}
    chosen_here = _DOMAINS if method == provider.search else ()
    refuse_unsupported(filters, chosen_here, provider=provider.name)
    return {}


def _takes(method: Callable[..., Any], name: str) -> bool:
    parameters = signature(method).parameters
    return name in parameters or any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
