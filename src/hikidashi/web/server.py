"""Serves any search provider through Tavily's HTTP API, for clients with a configurable base URL.

    provider = LocalSearchProvider()
    with SearchServer(provider, port=8765) as server:
        TavilyClient("any-key", api_base_url=server.url).search("…")

The provider runs in its own event loop; each connection has a thread.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from ..common.loopback import Exchange, Limits, LoopbackServer, RequestUnreadable
from ..common.urls import is_loopback, is_loopback_url
from ..errors import HikidashiError, TavilyAPIError
from .provider import SearchProvider
from .request import ExtractOptions, SearchRequest
from .results import SearchHit
from .tavily_api import (
    APIAnswer,
    APIRefusal,
    CrawlBody,
    ExtractBody,
    MapBody,
    SearchBody,
    bad_request,
    check_key,
    crawl_answer,
    crawl_request,
    error_answer,
    extract_answer,
    extract_request,
    failure_answer,
    map_answer,
    map_request,
    search_answer,
    search_request,
    usage_answer,
)

__all__ = [
    "SearchServer",
    "Served",
]

logger = logging.getLogger("hikidashi")


_ROUTES = ("/search", "/extract", "/crawl", "/map", "/usage")
_DAYS_OF_CLIENT = 7
_SAME_IN_REQUEST = {
    "search_depth",
    "include_answer",
    "topic",
    "time_range",
    "end_date",
    "include_domains",
    "exclude_domains",
    "country",
}
_CHARGED = ("search", "extract", "crawl", "map")
_SHARE_OF_TIME = 0.9  # of the request timeout, after which a crawl returns what it has
_LONGEST_QUERY = 1_000  # the limit of the tools, which is higher than Tavily's
_LIMITS = Limits(
    body_bytes=1_000_000,
    idle_seconds=120.0,
    head_seconds=10.0,
    body_seconds=20.0,
    write_seconds=30.0,
    connections=512,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A served request, without its content."""

    method: str
    path: str
    status: int
    seconds: float


class SearchServer(LoopbackServer):
    """Tavily's `/search`, `/extract`, `/crawl`, `/map` and `/usage`, answered by `provider`.

    Filters and options are passed to the provider; those it does not support, and unknown ones, get status 400 with
    their name. The raw content of a page is its extraction by the provider. Closing the server closes the provider.

    Args:
        provider: The search provider.
        host: The address to listen on. On a loopback address, requests with another `Host` are refused, against
            DNS rebinding by web pages.
        port: The port; 0 chooses a free one.
        api_key: The key that clients must send; with `None` any key or none is accepted.
        timeout: Seconds per request.
        on_served: Called after each response, in the thread of the connection.
    """

    def __init__(
        self,
        provider: SearchProvider,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        api_key: str | None = None,
        timeout: float = 60.0,
        on_served: Callable[[Served], None] | None = None,
    ) -> None:
        super().__init__(host=host, port=port, limits=_LIMITS)
        self._provider = provider
        self._where = (host, port)
        self._api_key = api_key
        self._timeout = timeout
        self._on_served = on_served
        self._only_local_names = is_loopback(host)
        self._loop: _LoopThread | None = None
        self._lock = threading.Lock()
        self._spent: dict[str, float] = dict.fromkeys(_CHARGED, 0.0)

    def start(self) -> Self:
        """Start listening, and return the server.

        Raises:
            OSError: the port is in use, or the address is not local.
        """
        if self._loop is not None:
            return self
        self._loop = _LoopThread()  # before the first request
        try:
            return super().start()
        except OSError as error:
            self._loop.close()
            self._loop = None
            raise _cannot_listen(error, *self._where) from error

    def close(self) -> None:
        """Cancel running requests, stop listening, and close the provider."""
        if self._loop is None:
            return
        self._loop.cancel_all()
        super().close()
        self._loop.run(self._provider.aclose())
        self._loop.close()
        self._loop = None

    def fail(self, error: Exception) -> None:
        """Log `error`, and do not keep it: a server may run for weeks."""
        logger.error("A request could not be answered.", exc_info=error)

    def handle(self, exchange: Exchange) -> None:
        """Respond to one request."""
        began = time.monotonic()
        try:
            answer = self._answer(exchange)
        except APIRefusal as refused:
            answer = refused.answer
        except TavilyAPIError as error:
            answer = failure_answer(error)
        except RequestUnreadable:
            raise
        except HikidashiError as error:
            answer = error_answer(500, str(error))
        except CancelledError as error:
            raise ConnectionAbortedError("the server is closing") from error
        except Exception as error:
            self.fail(error)
            answer = error_answer(500, "Internal Server Error")
        exchange.answer(answer.status, answer.wire(), answer.headers)
        if self._on_served is not None:
            seconds = time.monotonic() - began
            self._on_served(Served(method=exchange.method, path=exchange.path, status=answer.status, seconds=seconds))

    def _answer(self, exchange: Exchange) -> APIAnswer:
        if self._only_local_names and not is_loopback_url(f"//{exchange.headers.get('host', '')}"):
            raise APIRefusal(error_answer(403, "Forbidden: call this server as 127.0.0.1 or localhost."))
        if exchange.method == "POST":
            _check_not_from_a_web_page(exchange.headers)
        match exchange.method, exchange.path:
            case "GET" | "HEAD", "/":
                return APIAnswer(
                    200,
                    {
                        "service": "hikidashi",
                        "provider": self._provider.name,
                        "routes": list(_ROUTES),
                    },
                    {"content-type": "application/json"},
                )
            case "POST", "/search":
                self._check_key(exchange.headers)
                search = search_request(exchange.body, longest_query=_LONGEST_QUERY, strict=True)
                return self._wait_for(self._search(search), search.timeout)
            case "POST", "/extract":
                self._check_key(exchange.headers)
                extract = extract_request(exchange.body, strict=True)
                return self._wait_for(self._extract(extract), extract.timeout)
            case "POST", "/crawl":
                self._check_key(exchange.headers)
                return self._wait_for(self._crawl(crawl_request(exchange.body, strict=True)))
            case "POST", "/map":
                self._check_key(exchange.headers)
                return self._wait_for(self._map(map_request(exchange.body, strict=True)))
            case "GET", "/usage":
                self._check_key(exchange.headers)
                with self._lock:
                    spent = dict(self._spent)
                return usage_answer(**spent, plan=self._provider.name)
            case _, path if path in ("/", *_ROUTES):
                raise APIRefusal(error_answer(405, "Method Not Allowed"))
            case _:
                raise APIRefusal(error_answer(404, f"Not Found: this server knows {', '.join(_ROUTES)}."))

    def _check_key(self, headers: Mapping[str, str]) -> None:
        if self._api_key is not None:
            check_key(headers, {self._api_key})

    def _wait_for(self, work: Coroutine[Any, Any, APIAnswer], seconds: float | None = None) -> APIAnswer:
        if self._loop is None:
            work.close()
            raise ConnectionAbortedError("the server is closing")
        limit = self._timeout if seconds is None else min(seconds, self._timeout)
        try:
            return self._loop.run(asyncio.wait_for(work, limit))
        except TimeoutError as error:
            message = f"The {self._provider.name} provider took more than {limit:g} seconds."
            raise APIRefusal(error_answer(504, message)) from error

    async def _search(self, request: SearchBody) -> APIAnswer:
        began = time.monotonic()
        found = await self._provider.search(_search_request(request))
        hits = found.results[: request.max_results]
        raw, extract_credits = await self._raw_contents(hits, request) if request.include_raw_content else ({}, 0.0)
        charged = (found.credits or 0.0) + extract_credits
        self._spend("search", charged)
        seconds = time.monotonic() - began
        return search_answer(request, hits, answer=found.answer, raw_contents=raw, seconds=seconds, credits=charged)

    async def _raw_contents(self, hits: Sequence[SearchHit], request: SearchBody) -> tuple[dict[str, str], float]:
        """The full text of the pages by URL, and its cost."""
        urls = list(dict.fromkeys(hit.url for hit in hits))
        if not urls:
            return {}, 0.0
        as_text = request.include_raw_content == "text"
        options = ExtractOptions(format="text" if as_text else "markdown")
        pages = await self._provider.extract(urls, options=options)
        return {page.url: page.raw_content for page in pages.results}, pages.credits or 0.0

    async def _extract(self, request: ExtractBody) -> APIAnswer:
        began = time.monotonic()
        options = ExtractOptions(
            depth="advanced" if request.extract_depth == "advanced" else "basic",
            format="text" if request.format == "text" else "markdown",
            query=request.query,
            chunks_per_source=request.chunks_per_source,
        )
        pages = await self._provider.extract(request.addresses, options=options)
        charged = pages.credits or 0.0
        self._spend("extract", charged)
        return extract_answer(request, pages, seconds=time.monotonic() - began, credits=charged)

    async def _crawl(self, request: CrawlBody) -> APIAnswer:
        began = time.monotonic()
        options = request.options(most_seconds=self._timeout * _SHARE_OF_TIME)
        crawled = await self._provider.crawl(request.url, options=options)
        charged = crawled.credits or 0.0
        self._spend("crawl", charged)
        return crawl_answer(request, crawled, seconds=time.monotonic() - began, credits=charged)

    async def _map(self, request: MapBody) -> APIAnswer:
        began = time.monotonic()
        options = request.options(most_seconds=self._timeout * _SHARE_OF_TIME)
        found = await self._provider.map(request.url, options=options)
        charged = found.credits or 0.0
        self._spend("map", charged)
        return map_answer(request, found, seconds=time.monotonic() - began, credits=charged)

    def _spend(self, kind: str, charged: float) -> None:
        with self._lock:
            self._spent[kind] += charged


class _LoopThread:
    """An event loop in its own thread, for callers in other threads."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hikidashi-search", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of `work`."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def cancel_all(self) -> None:
        """Cancel all tasks and wait for them."""
        self.run(self._cancelled())

    async def _cancelled(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def close(self) -> None:
        """End the loop and its thread."""
        with suppress(CancelledError):
            self.cancel_all()
        self.run(self._loop.shutdown_asyncgens())
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _search_request(body: SearchBody) -> SearchRequest:
    start = body.start_date
    # tavily-python always sends 7 with `qna_search` and `get_search_context`, which Tavily applies to news only.
    by_itself = body.days == _DAYS_OF_CLIENT and body.topic != "news"
    if body.days is not None and not by_itself:
        if start is not None or body.time_range is not None:
            raise bad_request("`days` cannot go with `start_date` or `time_range`. Give one or the other.")
        start = (datetime.now(UTC).date() - timedelta(days=body.days)).isoformat()
    same: dict[str, Any] = body.model_dump(include=_SAME_IN_REQUEST)
    return SearchRequest.of(body.query, max_results=max(body.max_results, 1), start_date=start, **same)


def _check_not_from_a_web_page(headers: Mapping[str, str]) -> None:
    """Raise for a cross-site request from a browser, which would spend credits without the user's knowledge.

    A browser sends `Origin` with every POST, and JSON to another origin only after a preflight request.
    """
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{headers.get('host', '')}":
        raise APIRefusal(
            error_answer(403, f"Forbidden: requests of web pages (origin {origin!r:.80}) are not answered.")
        )
    kind = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise APIRefusal(error_answer(415, f"The body must be application/json, not {kind!r:.80}."))


def _cannot_listen(error: OSError, host: str, port: int) -> OSError:
    match error.errno:
        case errno.EADDRINUSE:
            reason = f"Port {port} of {host} is in use. Stop the program that uses it, or choose another port."
        case errno.EACCES:
            reason = f"Port {port} of {host} is not allowed for this user. Choose a port from 1024 on."
        case _:
            reason = f"Cannot listen on {host!r}, port {port}: {error.strerror}. Use an address of this machine."
    return OSError(error.errno, reason)
