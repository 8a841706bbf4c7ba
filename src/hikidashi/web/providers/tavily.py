"""Tavily as a search provider, through `tavily-python`: its requests, connections and costs."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import ssl
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import cache
from http.cookiejar import CookieJar
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

from ...common.json import is_object
from ...common.per_loop import PerLoop
from ...common.urls import is_loopback_url, split_base_url
from ...errors import ErrorType, MissingExtra, TavilyAPIError
from ...providers import SEARCH_PROVIDERS
from ...texts import Language, check_language, in_language
from ..messages import api_error, validation_error
from ..provider import SearchProvider, errors_in
from ..request import (
    CrawlOptions,
    ExtractOptions,
    SearchDepth,
    SearchFilters,
    SearchRequest,
    check_positive,
    check_urls,
    crawl_start,
)
from ..results import CrawlResults, ExtractedPage, ExtractResults, FailedPage, MapResults, SearchResults
from .cache import ResultCache
from .tavily_answers import read_answer, read_credits, read_found_pages, read_hits, read_pages, read_urls, translate
from .transport import ENCODINGS, LifoTransport, RetryPolicy, SingleFlight, read_within_limits

try:
    import httpx
    from tavily import AsyncTavilyClient  # pyright: ignore[reportMissingTypeStubs]
except ImportError as error:
    raise MissingExtra("tavily-python", "tavily") from error

logger = logging.getLogger("hikidashi")

BASE_URL = "https://api.tavily.com"
_LONGEST_SENT = 400  # the API's limit on the length of a query
_EXTRACT_SECONDS = (1.0, 60.0)  # range of the API's `timeout`
_CRAWL_SECONDS = (10.0, 150.0)
_ANSWER_SECONDS = 10.0  # time for the response to a crawl after that
_CRAWL_OPTIONS = (
    "select_paths",
    "select_domains",
    "exclude_paths",
    "exclude_domains",
    "allow_external",
    "instructions",
    "categories",
)

Question = tuple[object, ...]


class TavilyAPIClient(SearchProvider):
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

    name = "tavily"
    has_extract_options = True
    supported_filters = frozenset(item.name for item in fields(SearchFilters))

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
    def credits_used(self) -> float:
        """Credits used so far: as the API reports them, else by its price list."""
        return self._meter.used

    async def aclose(self) -> None:
        """Close the connections of all event loops and the cache; a later call opens them again."""
        await self._connections.aclose()
        if self._cache is not None:
            self._cache.close()

    async def _search(self, request: SearchRequest) -> SearchResults:
        """The hits for the first 400 characters of the query, in whole words."""
        answer_kind = request.include_answer
        filters = request.filters
        sent: dict[str, object] = {
            "query": shorten_query(request.query, _LONGEST_SENT),
            "search_depth": request.search_depth,
            "max_results": request.max_results,
            "include_answer": "advanced" if answer_kind == "advanced" else bool(answer_kind),
            **filters.given(),
            **({} if filters.topic is None else {"topic": filters.topic}),  # also the default, if it is given
        }
        question = (self.name, self._base_url, "search", *sent.items())
        if (kept := self._kept(question)) is not None:
            return replace(_search_results(kept, request), cached=True)
        connections = await self._connections.get()
        found, leader = await connections.flights.run(
            question, lambda: self._send_search(connections, sent, question, request)
        )
        return found if leader else replace(found, query=request.query, credits=0.0)

    async def _send_search(
        self, connections: TavilyConnections, sent: dict[str, object], question: Question, request: SearchRequest
    ) -> SearchResults:
        arguments = {**sent, "include_usage": True, "timeout": self._timeout}
        expected = search_cost(request.search_depth)
        with self._meter.charge(expected) as charge:
            answer = await self._retry.run(lambda: connections.send("search", arguments))
            reported = read_credits(answer)
            charge.cost = expected if reported is None else reported
        found = _search_results(answer, request, credits=charge.cost)
        if self._cache is not None:
            kept = {"results": answer.get("results"), "answer": answer.get("answer")}
            await asyncio.to_thread(self._cache.put, question, kept)
        return found

    async def _extract(self, urls: Sequence[str], options: ExtractOptions) -> ExtractResults:
        checked = check_urls(urls, any_port=True)
        if not checked.valid:
            return ExtractResults(results=(), failed_results=checked.failed, provider=self.name, credits=0.0)

        connections = await self._connections.get()
        pages = {url: page for url in checked.valid if (page := self._kept_page(url, options)) is not None}
        failed: tuple[FailedPage, ...] = ()
        missing = tuple(url for url in checked.valid if url not in pages)
        cost: float | None = 0.0
        if missing:
            reply, leader = await connections.flights.run(
                ("extract", options, missing), lambda: self._send_extract(connections, missing, options)
            )
            pages.update({page.url: page for page in reply.results})
            failed = reply.failed_results
            cost = reply.credits if leader else 0.0
        return ExtractResults(
            results=tuple(pages[url] for url in checked.valid if url in pages),
            failed_results=checked.all_failed(failed),
            provider=self.name,
            cached=not missing,
            credits=cost,
        )

    async def _send_extract(
        self, connections: TavilyConnections, urls: tuple[str, ...], options: ExtractOptions
    ) -> ExtractResults:
        shortest, longest = _EXTRACT_SECONDS
        arguments = {
            "urls": list(urls),
            **_sent_options(options),
            "include_usage": True,
            "timeout": min(max(self._timeout, shortest), longest),
        }
        with self._meter.charge(extract_cost(len(urls), options.depth)) as charge:
            answer = await self._retry.run(lambda: connections.send("extract", arguments))
            pages, failed = read_pages(answer, urls, secret=self._api_key)
            reported = read_credits(answer)
            charge.cost = extract_cost(len(pages), options.depth) if reported is None else reported
        if self._cache is not None:
            for url, page in pages.items():
                kept = {"raw_content": page.raw_content, "title": page.title}
                await asyncio.to_thread(self._cache.put, self._page_question(url, options), kept)
        return ExtractResults(results=tuple(pages.values()), failed_results=failed, credits=charge.cost)

    async def _crawl(self, url: str, options: CrawlOptions) -> CrawlResults:
        """The pages of a site, crawled by Tavily; not cached, since a site changes."""
        sent, seconds = _sent_crawl(url, options)
        sent |= {"extract_depth": options.extract_depth, "format": options.format}
        if options.chunks_per_source is not None:
            sent["chunks_per_source"] = options.chunks_per_source
        connections = await self._connections.get()
        instructed = options.instructions is not None
        with self._meter.charge(_crawl_cost(options.limit, options.extract_depth, instructed=instructed)) as charge:
            answer = await self._retry.run(lambda: connections.send("crawl", sent, seconds=seconds))
            pages, failed = read_found_pages(answer, secret=self._api_key)
            cost = _crawl_cost(len(pages), options.extract_depth, instructed=instructed)
            reported = read_credits(answer)
            charge.cost = cost if reported is None else reported
        return CrawlResults(
            base_url=sent["url"], results=pages, failed_results=failed, provider=self.name, credits=charge.cost
        )

    async def _map(self, url: str, options: CrawlOptions) -> MapResults:
        sent, seconds = _sent_crawl(url, options)
        connections = await self._connections.get()
        instructed = options.instructions is not None
        with self._meter.charge(_map_cost(options.limit, instructed=instructed)) as charge:
            answer = await self._retry.run(lambda: connections.send("map", sent, seconds=seconds))
            urls = read_urls(answer)
            reported = read_credits(answer)
            charge.cost = _map_cost(len(urls), instructed=instructed) if reported is None else reported
        return MapResults(base_url=sent["url"], results=urls, provider=self.name, credits=charge.cost)

    def _connect(self) -> TavilyConnections:
        return TavilyConnections(
            None if self._keyless else _find_key(self._api_key),
            base_url=self._base_url,
            timeout=self._timeout,
            max_in_flight=self._max_in_flight,
        )

    def _kept(self, question: Question) -> dict[str, Any] | None:
        kept = None if self._cache is None else self._cache.get(*question)
        return kept if is_object(kept) else None

    def _kept_page(self, url: str, options: ExtractOptions) -> ExtractedPage | None:
        kept = self._kept(self._page_question(url, options))
        return None if kept is None else ExtractedPage(url=url, raw_content=kept["raw_content"], title=kept["title"])

    def _page_question(self, url: str, options: ExtractOptions) -> Question:
        return (self.name, self._base_url, "extract", url, *_sent_options(options).items())


def _search_results(answer: dict[str, Any], request: SearchRequest, *, credits: float = 0.0) -> SearchResults:  # noqa: A002
    hits, summary = read_hits(answer, limit=request.max_results), read_answer(answer)
    return SearchResults(query=request.query, results=hits, answer=summary, provider="tavily", credits=credits)


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


def _sent_crawl(url: str, options: CrawlOptions) -> tuple[dict[str, Any], float]:
    """The arguments of the API call that crawls and maps share, and its timeout in seconds."""
    start = crawl_start(url, any_port=True)
    shortest, longest = _CRAWL_SECONDS
    seconds = min(max(options.timeout or longest, shortest), longest)
    sent: dict[str, Any] = {
        "url": start,
        "max_depth": options.max_depth,
        "max_breadth": options.max_breadth,
        "limit": options.limit,
        "timeout": seconds,
        "include_usage": True,
    }
    for name in _CRAWL_OPTIONS:
        value: Any = getattr(options, name)
        if value not in (None, ()):
            sent[name] = list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType]
    return sent, seconds + _ANSWER_SECONDS


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

    async def send(
        self,
        route: Literal["search", "extract", "crawl", "map"],
        arguments: dict[str, Any],
        *,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """The response to a request, within `seconds`, by default the timeout of the client.

        Raises:
            TavilyAPIError: the request failed.
        """
        timeout = self._timeout if seconds is None else seconds
        async with self._slots:
            _answer.set(None)
            self._check_open()
            try:
                # httpx has timeouts for single operations only, which restart with every byte.
                async with asyncio.timeout(timeout):
                    return await getattr(self._api, route)(**arguments)
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


def _find_key(given: str | None) -> str:
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


def _map_cost(pages: int, *, instructed: bool = False) -> float:
    """Credits of a map: one for every ten pages or part thereof, two with instructions."""
    return math.ceil(pages / _MAPPED_PER_CREDIT) * (2.0 if instructed else 1.0)


def _crawl_cost(pages: int, depth: SearchDepth = "basic", *, instructed: bool = False) -> float:
    """Credits of a crawl: those of mapping and of extracting its pages."""
    return _map_cost(pages, instructed=instructed) + extract_cost(pages, depth)


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

    @contextmanager
    def charge(self, expected: float) -> Generator[Charge]:
        """Reserve `expected` credits for a request; running requests count towards the limit, too.

        Raises:
            TavilyAPIError: the limit would be exceeded; an API_ERROR, which is not retried.
        """
        with self._lock:
            taken = self._used + self._reserved
            if self.limit is not None and taken + expected > self.limit:
                raise api_error("credit_limit", ErrorType.API_ERROR, limit=self.limit, used=taken, cost=expected)
            self._reserved += expected
        charge = Charge()
        try:
            yield charge
        finally:
            with self._lock:
                self._reserved -= expected
                self._used += charge.cost


@dataclass(slots=True)
class Charge:
    """What a request has cost: nothing unless it is set."""

    cost: float = 0.0


_PUNCTUATION = r"、。，．・！？：；」』）】"
_KANJI_OR_KATAKANA = r"\u30a1-\u30fa\u3400-\u9fff\uf900-\ufaff"
# Word boundaries: around a space, after punctuation, where a Japanese word follows hiragana (a particle, an ending),
# and between Japanese and Latin letters.
_BETWEEN_WORDS = re.compile(
    rf"(?=\s)|(?<=[{_PUNCTUATION}])(?![{_PUNCTUATION}])|(?<=[\u3041-\u3096])(?=[{_KANJI_OR_KATAKANA}A-Za-z0-9])"
    rf"|(?<=[{_KANJI_OR_KATAKANA}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u3041-\u3096{_KANJI_OR_KATAKANA}])"
)


def shorten_query(query: str, limit: int) -> str:
    """`query`, stripped and cut to as many whole words as fit into `limit` characters."""
    text = query.strip()
    if len(text) <= limit:
        return text
    ends = [match.start() for match in _BETWEEN_WORDS.finditer(text, limit // 2, limit + 1) if match.start() <= limit]
    return text[: ends[-1] if ends else limit].rstrip()
