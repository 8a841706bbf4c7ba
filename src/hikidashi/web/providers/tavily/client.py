"""Tavily as a search provider: `tavily-python` with validation, retries, shared requests, cache and credit limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self, cast

from ....common.urls import is_loopback_url, split_base_url
from ....texts import Language, check_language
from ...answers.context import pack_context
from ...crawl_options import CrawlOptions, CrawlResults, MapResults
from ...filters import (
    EXTRACT_DEFAULTS,
    NO_FILTERS,
    ExtractOptions,
    SearchFilters,
    TimeRange,
    Topic,
    check_extract_options,
    check_filters,
)
from ...language import errors_in, in_own_language
from ...messages import validation_error
from ...provider import AnswerKind, SearchDepth
from ...results import ExtractedPage, ExtractResults, FailedPage, SearchContext, SearchHit, SearchResults
from ...validate import (
    check_instance,
    check_max_results,
    check_max_tokens,
    check_positive,
    check_query,
    check_search_depth,
    check_urls,
)
from ..cache import ResultCache
from ..per_loop import PerLoop
from ..retry import RetryPolicy
from ._answers import read_answer, read_credits, read_hits, read_pages
from ._connections import BASE_URL, Connections, find_key
from ._crawl import TavilyCrawler
from ._credits import CreditMeter, extract_cost, search_cost
from ._shorten import shorten_query

__all__ = ["TavilyAPIClient", "TimeRange", "Topic"]

logger = logging.getLogger("hikidashi")

_NAME = "tavily"
_LONGEST_SENT = 400  # the API's limit on the length of a query
_CONTEXT_RESULTS = 10  # up to 20 cost the same, but more than 10 rarely fit
_EXTRACT_SECONDS = (1.0, 60.0)  # range of the API's `timeout`

Question = tuple[object, ...]


class _Found(NamedTuple):
    hits: tuple[SearchHit, ...]
    answer: str | None
    credits: float


class _Read(NamedTuple):
    pages: dict[str, ExtractedPage]
    failed: tuple[FailedPage, ...]
    credits: float


class TavilyAPIClient:
    """Searches, extractions and contexts by Tavily; every failure is a `TavilyAPIError`.

        async with TavilyAPIClient() as client:
            found = await client.search("日本の祝日", max_results=3)

    One client serves any number of event loops and threads; each loop has its own connections, closed with the loop.
    Identical concurrent requests are sent once. Without a key, from here or TAVILY_API_KEY, every call raises
    AUTH_ERROR.

    Args:
        api_key: The key; by default that of the environment.
        base_url: The address of the API; by default Tavily's.
        timeout: Seconds per attempt.
        max_retries: Number of retries after a transient failure.
        max_in_flight: Concurrent requests per event loop; others wait.
        cache: Cache of responses, if any.
        credit_limit: Credits that this client may use; nothing is sent beyond.
        keyless: Whether to use Tavily without a key, which has a small quota per IP address.
        language: The language of error messages and of the reasons why a page could not be read.
        retry: The retry policy, instead of `max_retries`.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 3,
        max_in_flight: int = 16,
        cache: ResultCache | None = None,
        credit_limit: float | None = None,
        keyless: bool = False,
        language: Language = "ja",
        retry: RetryPolicy | None = None,
    ) -> None:
        with errors_in(language):
            if keyless and api_key:
                raise validation_error("key_and_keyless")
            check_positive(timeout, "timeout")
            if credit_limit is not None and credit_limit != 0:
                check_positive(credit_limit, "credit_limit")
            if not isinstance(max_in_flight, int) or max_in_flight < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise validation_error("integer_from", name="max_in_flight", value=max_in_flight, low=1)
            self._base_url = _checked_base_url(base_url)
        self.language: Language = check_language(language)
        self._api_key = api_key
        self._keyless = keyless
        self._timeout = timeout
        self._max_in_flight = max_in_flight
        self._cache = cache
        self._retry = retry or RetryPolicy(max_retries=max_retries)
        self._meter = CreditMeter(credit_limit)
        self._connections = PerLoop(self._connect, Connections.aclose)

    def __repr__(self) -> str:
        return f"TavilyAPIClient(base_url={self._base_url!r}, credits_used={self.credits_used:g})"

    @property
    def name(self) -> str:
        """`"tavily"`."""
        return _NAME

    @property
    def credits_used(self) -> float:
        """Credits used so far: as the API reports them, else by its price list."""
        return self._meter.used

    @in_own_language
    async def search(
        self,
        query: str,
        *,
        search_depth: SearchDepth = "basic",
        max_results: int = 5,
        include_answer: AnswerKind = False,
        topic: Topic | None = None,
        time_range: TimeRange | None = None,
        start_date: str | None = None,
        end_date: str | None = None,
        include_domains: Sequence[str] | None = None,
        exclude_domains: Sequence[str] | None = None,
        country: str | None = None,
        filters: SearchFilters | None = None,
    ) -> SearchResults:
        """The best hits for `query`, up to 1,000 characters, of which the first 400 are sent, in whole words.

        Filters may be given as arguments or as `filters`; arguments take precedence.

        Raises:
            TavilyAPIError: an argument is refused, or the request failed.
        """
        check_query(query)
        named: dict[str, Any] = {
            "topic": topic,
            "time_range": time_range,
            "start_date": start_date,
            "end_date": end_date,
            "include_domains": include_domains,
            "exclude_domains": exclude_domains,
            "country": country,
        }
        wanted: dict[str, Any] = check_instance(filters or NO_FILTERS, SearchFilters, "filters").given()
        wanted |= {name: value for name, value in named.items() if value is not None}
        sent: dict[str, object] = {
            "query": shorten_query(query, _LONGEST_SENT),
            "search_depth": check_search_depth(search_depth, quick=True),
            "max_results": check_max_results(max_results),
            "include_answer": "advanced" if include_answer == "advanced" else bool(include_answer),
            **_sent_filters(check_filters(**wanted)),
        }

        connections = await self._connections.get()
        question = (_NAME, self._base_url, "search", *sent.items())
        kept = self._kept(question)
        if kept is not None:
            hits = read_hits(kept, limit=max_results)
            answer, cost = read_answer(kept), 0.0
        else:
            found, leader = await connections.flights.run(
                question, lambda: self._search(connections, sent, question, search_depth, max_results)
            )
            hits, answer, cost = found.hits, found.answer, found.credits if leader else 0.0
        return SearchResults(
            query=query, results=hits, answer=answer, provider=_NAME, cached=kept is not None, credits=cost
        )

    @in_own_language
    async def extract(
        self,
        urls: Sequence[str],
        *,
        extract_depth: Literal["basic", "advanced"] | None = None,
        options: ExtractOptions | None = None,
    ) -> ExtractResults:
        """The text of each of `urls`, at most 20, and why others could not be read; both in the order requested.

        Raises:
            TavilyAPIError: `urls` is empty, or the request failed.
        """
        chosen = options or EXTRACT_DEFAULTS
        if extract_depth is not None:
            chosen = replace(chosen, depth=extract_depth)
        chosen = check_extract_options(chosen)
        checked = check_urls(urls, any_port=True)
        if not checked.valid:
            return ExtractResults(results=(), failed_results=checked.failed, provider=_NAME, credits=0.0)

        connections = await self._connections.get()
        pages = {url: page for url in checked.valid if (page := self._kept_page(url, chosen)) is not None}
        failed: tuple[FailedPage, ...] = ()
        missing = tuple(url for url in checked.valid if url not in pages)
        cost = 0.0
        if missing:
            read, leader = await connections.flights.run(
                ("extract", chosen, missing),
                lambda: self._extract(connections, missing, chosen),
            )
            pages.update(read.pages)
            failed = read.failed
            cost = read.credits if leader else 0.0
        return ExtractResults(
            results=tuple(pages[url] for url in checked.valid if url in pages),
            failed_results=checked.all_failed(failed),
            provider=_NAME,
            cached=not missing,
            credits=cost,
        )

    @in_own_language
    async def context(
        self,
        query: str,
        *,
        max_tokens: int | None = None,
        search_depth: SearchDepth = "basic",
        max_results: int = _CONTEXT_RESULTS,
        filters: SearchFilters | None = None,
    ) -> SearchContext:
        """Passages about `query` for a prompt, at most `max_tokens` tokens (4,000 if None).

        Raises:
            TavilyAPIError: an argument is refused, or the request failed.
        """
        check_max_tokens(max_tokens)
        found = await self.search(query, search_depth=search_depth, max_results=max_results, filters=filters)
        return pack_context(
            query, found.results, max_tokens, provider=_NAME, cached=found.cached, credits=found.credits
        )

    @in_own_language
    async def crawl(self, url: str, *, options: CrawlOptions | None = None) -> CrawlResults:
        """The text of the pages of a site, crawled by Tavily; not cached, since a site changes.

        Raises:
            TavilyAPIError: `url` or an option is refused, or the request failed.
        """
        return await self._crawler().crawl(url, options)

    @in_own_language
    async def map(self, url: str, *, options: CrawlOptions | None = None) -> MapResults:
        """The addresses of the pages of a site, found by Tavily.

        Raises:
            TavilyAPIError: `url` or an option is refused, or the request failed.
        """
        return await self._crawler().map(url, options)

    def _crawler(self) -> TavilyCrawler:
        return TavilyCrawler(self._connections, self._meter, self._retry, secret=self._api_key)

    async def aclose(self) -> None:
        """Close the connections of all event loops and the cache; a later call opens them again."""
        await self._connections.aclose()
        if self._cache is not None:
            self._cache.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _connect(self) -> Connections:
        return Connections(
            None if self._keyless else find_key(self._api_key),
            base_url=self._base_url,
            timeout=self._timeout,
            max_in_flight=self._max_in_flight,
        )

    async def _search(
        self,
        connections: Connections,
        sent: dict[str, object],
        question: Question,
        depth: SearchDepth,
        limit: int,
    ) -> _Found:
        arguments = {**sent, "include_usage": True, "timeout": self._timeout}
        expected = search_cost(depth)
        with self._meter.charge(expected) as charge:
            answer = await self._retry.run(lambda: connections.search(arguments))
            reported = read_credits(answer)
            charge.cost = expected if reported is None else reported
        hits = read_hits(answer, limit=limit)
        if self._cache is not None:
            kept = {"results": answer.get("results"), "answer": answer.get("answer")}
            await asyncio.to_thread(self._cache.put, question, kept)
        return _Found(hits, read_answer(answer), charge.cost)

    async def _extract(self, connections: Connections, urls: tuple[str, ...], options: ExtractOptions) -> _Read:
        shortest, longest = _EXTRACT_SECONDS
        arguments = {
            "urls": list(urls),
            **_sent_options(options),
            "include_usage": True,
            "timeout": min(max(self._timeout, shortest), longest),
        }
        with self._meter.charge(extract_cost(len(urls), options.depth)) as charge:
            answer = await self._retry.run(lambda: connections.extract(arguments))
            pages, failed = read_pages(answer, urls, secret=self._api_key)
            reported = read_credits(answer)
            charge.cost = extract_cost(len(pages), options.depth) if reported is None else reported
        if self._cache is not None:
            for url, page in pages.items():
                kept = {"raw_content": page.raw_content, "title": page.title}
                await asyncio.to_thread(self._cache.put, self._page_question(url, options), kept)
        return _Read(pages, failed, charge.cost)

    def _kept(self, question: Question) -> dict[str, Any] | None:
        kept = None if self._cache is None else self._cache.get(*question)
        return cast("dict[str, Any]", kept) if isinstance(kept, dict) else None

    def _kept_page(self, url: str, options: ExtractOptions) -> ExtractedPage | None:
        kept = self._kept(self._page_question(url, options))
        return None if kept is None else ExtractedPage(url=url, raw_content=kept["raw_content"], title=kept["title"])

    def _page_question(self, url: str, options: ExtractOptions) -> Question:
        return (_NAME, self._base_url, "extract", url, *_sent_options(options).items())


def _sent_filters(filters: SearchFilters) -> dict[str, Any]:
    """The filters as arguments of the API; a given topic is sent even if it is the default."""
    return filters.given() | ({} if filters.topic is None else {"topic": filters.topic})


def _sent_options(options: ExtractOptions) -> dict[str, object]:
    """The options as arguments of the API; the default format is not sent."""
    sent: dict[str, object] = {"extract_depth": options.depth}
    if options.format != "markdown":
        sent["format"] = options.format
    if options.query is not None:
        sent["query"] = options.query
    if options.chunks_per_source is not None:
        sent["chunks_per_source"] = options.chunks_per_source
    return sent


def _checked_base_url(base_url: str | None) -> str:
    if base_url is None:
        return BASE_URL
    try:
        parts = split_base_url(base_url)
    except ValueError:
        parts = None
    if parts is None or "@" in parts.netloc:
        shown = "***" if "@" in str(base_url) else repr(base_url)
        raise validation_error("base_url", value=shown)
    if parts.scheme == "http" and not is_loopback_url(base_url):
        logger.warning("The key goes to %s unencrypted; prefer https://", parts.hostname)
    return base_url.rstrip("/")
