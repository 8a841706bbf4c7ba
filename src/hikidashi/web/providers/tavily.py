"""Tavily as a search provider, through `tavily-python`: its requests, connections and costs."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import ssl
import threading
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from http.cookiejar import CookieJar
from typing import Any, Literal, NamedTuple, Self, cast
from urllib.parse import urlsplit
from urllib.request import getproxies

from ...common.per_loop import PerLoop
from ...common.urls import is_loopback_url, split_base_url
from ...errors import ErrorType, MissingExtra, TavilyAPIError
from ...providers import SEARCH_PROVIDERS
from ...texts import Language, check_language, in_language
from ..answers import pack_context
from ..language import errors_in, in_own_language
from ..messages import api_error, validation_error
from ..provider import AnswerKind, SearchDepth
from ..request import (
    CRAWL_DEFAULTS,
    EXTRACT_DEFAULTS,
    NO_FILTERS,
    CrawlOptions,
    CrawlResults,
    ExtractOptions,
    MapResults,
    SearchFilters,
    TimeRange,
    Topic,
    check_crawl_options,
    check_extract_options,
    check_filters,
    check_instance,
    check_max_results,
    check_max_tokens,
    check_positive,
    check_query,
    check_search_depth,
    check_urls,
    crawl_start,
)
from ..results import ExtractedPage, ExtractResults, FailedPage, SearchContext, SearchHit, SearchResults
from .cache import ResultCache
from .tavily_answers import read_answer, read_credits, read_found_pages, read_hits, read_pages, read_urls, translate
from .transport import ENCODINGS, LifoTransport, RetryPolicy, SingleFlight, read_within_limits

try:
    import httpx
    from tavily import AsyncTavilyClient  # pyright: ignore[reportMissingTypeStubs]
except ImportError as error:
    raise MissingExtra("tavily-python", "tavily") from error


__all__ = [
    "BASE_URL",
    "Charge",
    "CreditMeter",
    "TavilyAPIClient",
    "TavilyConnections",
    "TavilyCrawler",
    "TimeRange",
    "Topic",
    "crawl_cost",
    "extract_cost",
    "find_key",
    "map_cost",
    "search_cost",
    "shorten_query",
]

logger = logging.getLogger("hikidashi")


_NAME = "tavily"
_LONGEST_SENT = 400  # the API's limit on the length of a query
_CONTEXT_RESULTS = 10  # up to 20 cost the same, but more than 10 rarely fit
_EXTRACT_SECONDS = (1.0, 60.0)  # range of the API's `timeout`

Question = tuple[object, ...]


class _SearchReply(NamedTuple):
    hits: tuple[SearchHit, ...]
    answer: str | None
    credits: float


class _ExtractReply(NamedTuple):
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
        self._connections = PerLoop(self._connect, TavilyConnections.aclose)

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

    def _connect(self) -> TavilyConnections:
        return TavilyConnections(
            None if self._keyless else find_key(self._api_key),
            base_url=self._base_url,
            timeout=self._timeout,
            max_in_flight=self._max_in_flight,
        )

    async def _search(
        self,
        connections: TavilyConnections,
        sent: dict[str, object],
        question: Question,
        depth: SearchDepth,
        limit: int,
    ) -> _SearchReply:
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
        return _SearchReply(hits, read_answer(answer), charge.cost)

    async def _extract(
        self, connections: TavilyConnections, urls: tuple[str, ...], options: ExtractOptions
    ) -> _ExtractReply:
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
        return _ExtractReply(pages, failed, charge.cost)

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


_CRAWL_SECONDS = (10.0, 150.0)  # range of the API's `timeout`
_ANSWER_SECONDS = 10.0  # time for the response after that
_CRAWL_OPTIONS = (
    "select_paths",
    "select_domains",
    "exclude_paths",
    "exclude_domains",
    "allow_external",
    "instructions",
    "categories",
)


class TavilyCrawler:
    """The methods `crawl` and `map` of `TavilyAPIClient`."""

    def __init__(
        self,
        connections: PerLoop[TavilyConnections],
        meter: CreditMeter,
        retry: RetryPolicy,
        *,
        secret: str | None = None,
    ) -> None:
        self._connections = connections
        self._meter = meter
        self._retry = retry
        self._secret = secret

    async def crawl(self, url: str, options: CrawlOptions | None) -> CrawlResults:
        """As `TavilyAPIClient.crawl`."""
        chosen = check_crawl_options(options or CRAWL_DEFAULTS)
        sent, seconds = self._sent(url, chosen)
        sent |= {"extract_depth": chosen.extract_depth, "format": chosen.format}
        if chosen.chunks_per_source is not None:
            sent["chunks_per_source"] = chosen.chunks_per_source
        connections = await self._connections.get()
        instructed = chosen.instructions is not None
        expected = crawl_cost(chosen.limit, chosen.extract_depth, instructed=instructed)
        with self._meter.charge(expected) as charge:
            answer = await self._retry.run(lambda: connections.crawl(sent, seconds=seconds))
            pages, failed = read_found_pages(answer, secret=self._secret)
            reported_cost = read_credits(answer)
            cost = crawl_cost(len(pages), chosen.extract_depth, instructed=instructed)
            charge.cost = cost if reported_cost is None else reported_cost
        return CrawlResults(
            base_url=sent["url"], results=pages, failed_results=failed, provider=_NAME, credits=charge.cost
        )

    async def map(self, url: str, options: CrawlOptions | None) -> MapResults:
        """As `TavilyAPIClient.map`."""
        chosen = check_crawl_options(options or CRAWL_DEFAULTS)
        sent, seconds = self._sent(url, chosen)
        connections = await self._connections.get()
        instructed = chosen.instructions is not None
        with self._meter.charge(map_cost(chosen.limit, instructed=instructed)) as charge:
            answer = await self._retry.run(lambda: connections.map(sent, seconds=seconds))
            urls = read_urls(answer)
            reported_cost = read_credits(answer)
            charge.cost = map_cost(len(urls), instructed=instructed) if reported_cost is None else reported_cost
        return MapResults(base_url=sent["url"], results=urls, provider=_NAME, credits=charge.cost)

    def _sent(self, url: str, options: CrawlOptions) -> tuple[dict[str, Any], float]:
        """The arguments of the API call, and its timeout in seconds."""
        start = crawl_start(url, any_port=True)
        shortest, longest = _CRAWL_SECONDS
        seconds = min(max(options.timeout or longest, shortest), longest)
        given = {name: getattr(options, name) for name in _CRAWL_OPTIONS}
        sent: dict[str, Any] = {
            "url": start,
            "max_depth": options.max_depth,
            "max_breadth": options.max_breadth,
            "limit": options.limit,
            **{
                name: list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType]
                for name, value in given.items()
                if value not in (None, ())
            },
            "timeout": seconds,
            "include_usage": True,
        }
        return sent, seconds + _ANSWER_SECONDS


BASE_URL = "https://api.tavily.com"
_KEEP_ALIVE_SECONDS = 30.0
_KEYLESS = {"X-Tavily-Access-Mode": "keyless", "X-Client-Source": "tavily-python-keyless"}

_answer: ContextVar[httpx.Response | None] = ContextVar("hikidashi_tavily_answer", default=None)


class TavilyConnections:
    """The connections, request slots and running requests of one event loop."""

    def __init__(self, api_key: str | None, *, base_url: str, timeout: float, max_in_flight: int) -> None:
        self._api_key = api_key
        self._timeout = timeout
        self._closed = False
        self._slots = asyncio.Semaphore(max_in_flight)
        self.flights: SingleFlight[Any] = SingleFlight()
        self._http = httpx.AsyncClient(
            base_url=base_url,
            # Set here because the library supports keyless access only with its own HTTP client.
            headers=ENCODINGS if api_key else ENCODINGS | _KEYLESS,
            event_hooks={"response": [_keep_answer, read_within_limits]},
            cookies=_NoCookies(),
            transport=_transport(base_url),
            limits=httpx.Limits(max_connections=max_in_flight, max_keepalive_connections=max_in_flight),
            verify=_certificates(),
            trust_env=not is_loopback_url(base_url),
        )
        # Not None, with which the library would read the key from the environment.
        self._api: Any = AsyncTavilyClient(api_key or "", client=self._http, api_base_url=base_url)

    def search(self, arguments: dict[str, Any]) -> Awaitable[dict[str, Any]]:
        """The response to a search, within the timeout.

        Raises:
            TavilyAPIError: the request failed.
        """
        return self._send(self._api.search, arguments)

    def extract(self, arguments: dict[str, Any]) -> Awaitable[dict[str, Any]]:
        """The response to an extraction, within the timeout.

        Raises:
            TavilyAPIError: the request failed.
        """
        return self._send(self._api.extract, arguments)

    def crawl(self, arguments: dict[str, Any], *, seconds: float) -> Awaitable[dict[str, Any]]:
        """The response to a crawl, within `seconds`.

        Raises:
            TavilyAPIError: the request failed.
        """
        return self._send(self._api.crawl, arguments, seconds)

    def map(self, arguments: dict[str, Any], *, seconds: float) -> Awaitable[dict[str, Any]]:
        """The response to a map, within `seconds`.

        Raises:
            TavilyAPIError: the request failed.
        """
        return self._send(self._api.map, arguments, seconds)

    async def _send(
        self, call: Callable[..., Awaitable[Any]], arguments: dict[str, Any], seconds: float | None = None
    ) -> dict[str, Any]:
        timeout = self._timeout if seconds is None else seconds
        async with self._slots:
            _answer.set(None)
            self._check_open()
            try:
                # httpx has timeouts for single operations only, which restart with every byte.
                async with asyncio.timeout(timeout):
                    return await call(**arguments)
            except Exception as failure:
                self._check_open()
                raise translate(failure, _answer.get(), timeout=timeout, secret=self._api_key) from failure

    async def aclose(self) -> None:
        """Close the connections; running requests fail."""
        self._closed = True
        await self._http.aclose()

    def _check_open(self) -> None:
        if self._closed:
            raise api_error("closed", ErrorType.API_ERROR)


class _NoCookies(CookieJar):
    """A cookie jar that stays empty: the API uses no cookies, and parsing them takes 2 % of a request."""

    def extract_cookies(self, response: object, request: object) -> None:
        pass


async def _keep_answer(answer: httpx.Response) -> None:
    _answer.set(answer)


def find_key(given: str | None) -> str:
    """The API key: the given one, or that of the environment.

    Raises:
        TavilyAPIError: the key is missing or malformed; AUTH_ERROR.
    """
    row = SEARCH_PROVIDERS["tavily"]
    key = given.strip() if given is not None else row.key_in(os.environ)
    if not key:
        raise TavilyAPIError(in_language(row.missing_key("client"), "ja"), ErrorType.AUTH_ERROR)
    if not key.isascii() or not key.isprintable() or " " in key:  # httpx would refuse it with an error that shows it
        raise api_error("key_characters", ErrorType.AUTH_ERROR)
    return key


def _transport(base_url: str) -> httpx.AsyncBaseTransport | None:
    """The transport of the client; None if httpx is to use the proxies of the environment."""
    scheme, proxy = urlsplit(base_url).scheme, None
    if not is_loopback_url(base_url):
        proxy = os.environ.get(f"TAVILY_{scheme.upper()}_PROXY") or None
        if proxy is None and not {scheme, "all"}.isdisjoint(getproxies()):
            return None
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEP_ALIVE_SECONDS)
    return LifoTransport(
        lambda: httpx.AsyncHTTPTransport(verify=_certificates(), trust_env=False, limits=limits, proxy=proxy)
    )


@cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # loading them takes most of the 30 ms for a client


_PAGES_PER_CREDIT = 5
_MAPPED_PER_CREDIT = 10


def search_cost(depth: SearchDepth) -> float:
    """Credits of a search by Tavily's price list."""
    return 2.0 if depth == "advanced" else 1.0


def extract_cost(pages: int, depth: SearchDepth = "basic") -> float:
    """Credits of an extraction: one for every five pages or part thereof, two with "advanced"."""
    return math.ceil(pages / _PAGES_PER_CREDIT) * search_cost(depth)


def map_cost(pages: int, *, instructed: bool = False) -> float:
    """Credits of a map: one for every ten pages or part thereof, two with instructions."""
    return math.ceil(pages / _MAPPED_PER_CREDIT) * (2.0 if instructed else 1.0)


def crawl_cost(pages: int, depth: SearchDepth = "basic", *, instructed: bool = False) -> float:
    """Credits of a crawl: those of mapping and of extracting its pages."""
    return map_cost(pages, instructed=instructed) + extract_cost(pages, depth)


class CreditMeter:
    """Counter of credits used, with an optional limit; thread-safe."""

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._used = 0.0
        self._reserved = 0.0
        self._lock = threading.Lock()

    @property
    def used(self) -> float:
        """Credits of all successful requests."""
        return self._used

    def charge(self, expected: float) -> Charge:
        """Reserve `expected` credits for a request; running requests count towards the limit, too.

        Raises:
            TavilyAPIError: the limit would be exceeded; an API_ERROR, which is not retried.
        """
        with self._lock:
            taken = self._used + self._reserved
            if self.limit is not None and taken + expected > self.limit:
                raise api_error("credit_limit", ErrorType.API_ERROR, limit=self.limit, used=taken, cost=expected)
            self._reserved += expected
        return Charge(self, expected)

    def settle(self, expected: float, cost: float) -> None:
        """Replace a reservation of `expected` credits with the actual `cost`."""
        with self._lock:
            self._reserved -= expected
            self._used += cost


class Charge:
    """The reservation for one request, as a context manager; costs nothing unless `cost` is set."""

    __slots__ = ("_expected", "_meter", "cost")

    def __init__(self, meter: CreditMeter, expected: float) -> None:
        self._meter = meter
        self._expected = expected
        self.cost = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._meter.settle(self._expected, self.cost)


_PUNCTUATION = r"、。，．・！？：；」』）】"
_KANJI_OR_KATAKANA = r"\u30a1-\u30fa\u3400-\u9fff\uf900-\ufaff"
# Word boundaries: around a space, after punctuation, where a Japanese word follows hiragana (a particle, an ending),
# and between Japanese and Latin letters.
_BETWEEN_WORDS = re.compile(
    rf"(?=\s)|(?<=[{_PUNCTUATION}])(?![{_PUNCTUATION}])|(?<=[\u3041-\u3096])(?=[{_KANJI_OR_KATAKANA}A-Za-z0-9])"
    rf"|(?<=[{_KANJI_OR_KATAKANA}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u3041-\u3096{_KANJI_OR_KATAKANA}])"
)
_JOINER = "\u200d"
_FLAG = range(0x1F1E6, 0x1F200)
_SKIN = range(0x1F3FB, 0x1F400)
_DAKUTEN = "ﾞﾟ"


def shorten_query(query: str, limit: int) -> str:
    """`query`, stripped and cut to as many whole words as fit into `limit` characters."""
    text = query.strip()
    if len(text) <= limit:
        return text
    ends = [match.start() for match in _BETWEEN_WORDS.finditer(text, limit // 2, limit + 1)]
    whole = [end for end in ends if end <= limit and not _joined(text, end)]
    return text[: whole[-1] if whole else _between_characters(text, limit)].rstrip()


def _between_characters(text: str, limit: int) -> int:
    """The last position up to `limit` that is not inside a grapheme cluster."""
    for end in range(limit, 0, -1):
        if not _joined(text, end):
            return end
    return limit


def _joined(text: str, end: int) -> bool:
    """Whether `text[end]` belongs to the character before it."""
    before, here = text[end - 1], text[end]
    if _JOINER in (before, here) or here in _DAKUTEN or unicodedata.category(here).startswith("M"):
        return True
    if ord(here) in _SKIN or ("\ud800" <= before <= "\udbff" and "\udc00" <= here <= "\udfff"):
        return True
    if ord(here) in _FLAG and ord(before) in _FLAG:  # two letters make a flag: an odd number before means inside one
        start = end
        while start and ord(text[start - 1]) in _FLAG:
            start -= 1
        return (end - start) % 2 == 1
    return "\u1160" <= here <= "\u11ff"  # a vowel or final of a Korean syllable in parts
