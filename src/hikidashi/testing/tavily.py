"""Tavily's API on loopback, with a few pages in place of the web."""

from __future__ import annotations

import json
import re
import threading
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from ..common.json import as_object
from ..web.pages.address import host_of
from ..web.request import matches_any
from ..web.results import CrawlResults, ExtractedPage, ExtractResults, FailedPage, MapResults, SearchHit
from ..web.tavily_api import (
    APIAnswer,
    APIRefusal,
    CrawlBody,
    ExtractBody,
    MapBody,
    SearchBody,
    check_key,
    crawl_answer,
    crawl_request,
    error_answer,
    extract_answer,
    extract_request,
    map_answer,
    map_request,
    search_answer,
    search_request,
    usage_answer,
)
from .fault import Cut, ErrorStatus, Hang, Malformed, Slow
from .server import Exchange, LoopbackServer
from .tavily_fault import OUT_OF_CREDITS, Late, Raw, TavilyFault


@dataclass(frozen=True)
class TavilyPage:
    """A page of the web that a `TavilyServer` knows."""

    title: str
    url: str
    content: str
    """The content of a search result."""
    raw_content: str | None = None
    """The content of an extraction; `None` is `content`."""
    score: float | None = None
    """Its score; `None` is the share of the query's words that it has."""
    published_date: str | None = None

    @property
    def text(self) -> str:
        """The whole text."""
        return self.content if self.raw_content is None else self.raw_content


@dataclass(frozen=True, kw_only=True)
class TavilyRequest:
    """One request to the API, as received."""

    method: str
    path: str
    headers: dict[str, str] = field(repr=False)
    """Header names are lower case."""
    body: dict[str, Any]

    @property
    def query(self) -> str:
        """What was searched for; empty for other requests."""
        return self.body.get("query") or ""

    @property
    def urls(self) -> list[str]:
        """What was to be extracted; empty for other requests."""
        urls: Any = self.body.get("urls") or []
        return [urls] if isinstance(urls, str) else urls

    @property
    def api_key(self) -> str | None:
        """The key that came with it, if any."""
        scheme, _, key = self.headers.get("authorization", "").partition(" ")
        return key if scheme.lower() == "bearer" else None


Pages = Iterable[TavilyPage] | Callable[[TavilyRequest], Iterable[TavilyPage]]
Faults = Iterable[TavilyFault | None] | Callable[[TavilyRequest], TavilyFault | None]


class TavilyServer(LoopbackServer):
    """Tavily's `/search`, `/extract`, `/crawl`, `/map` and `/usage` for clients that take a base URL.

    A request that the real API would refuse is refused here too, with the same status and message: an unknown key, a
    query of more than 400 characters, more than 20 URLs. Such a request takes no fault. A crawl or map finds all
    pages of the requested host, regardless of links.

    Args:
        pages: The pages to search. A search returns those that share words with the query, best first; a function is
            called with each request and returns the pages.
        answer: The summary for a search that asks for one; `None` is the content of its best page.
        faults: One per request, in order; `None` in the list is an ordinary answer, as are all answers after its end.
            A function is called with each request.
        api_keys: The keys that are accepted.
        keyless: Whether requests without a key are answered, as Tavily does for clients that ask for it.
        credit_limit: Number of credits; further requests get 432.
    """

    def __init__(
        self,
        pages: Pages = (),
        *,
        answer: str | None = None,
        faults: Faults = (),
        api_keys: Collection[str] = frozenset({"tvly-test"}),
        keyless: bool = False,
        credit_limit: float | None = None,
    ) -> None:
        super().__init__()
        self._pages = pages if callable(pages) else tuple(pages)
        self._answer = answer
        self._faults = faults if callable(faults) else list(faults)
        self._api_keys = frozenset(api_keys)
        self._keyless = keyless
        self._credit_limit = credit_limit
        self._lock = threading.Lock()
        self._requests: list[TavilyRequest] = []
        self._spent: dict[str, int] = dict.fromkeys(("search", "extract", "crawl", "map"), 0)

    @property
    def requests(self) -> list[TavilyRequest]:
        """Every request, oldest first, also those that were refused."""
        with self._lock:
            return list(self._requests)

    @property
    def searches(self) -> list[str]:
        """The queries of every `POST /search`, oldest first."""
        return [request.query for request in self.requests if request.path == "/search"]

    @property
    def credits_spent(self) -> int:
        """The credits that the answers so far have cost."""
        with self._lock:
            return sum(self._spent.values())

    def handle(self, exchange: Exchange) -> None:
        """Answer one request."""
        request = TavilyRequest(
            method=exchange.method, path=exchange.path, headers=exchange.headers, body=_parsed(exchange.body)
        )
        with self._lock:
            self._requests.append(request)
        try:
            answer = self._ordinary_answer(request, exchange.body)
            _play(exchange, answer, self._next_fault(request))
        except APIRefusal as refused:
            _send(exchange, refused.answer)

    def _next_fault(self, request: TavilyRequest) -> TavilyFault | None:
        if callable(self._faults):
            return self._faults(request)
        with self._lock:
            return self._faults.pop(0) if self._faults else None

    def _ordinary_answer(self, request: TavilyRequest, body: bytes) -> Callable[[], APIAnswer]:
        """What answers the request; calling it spends the credits.

        Raises:
            APIRefusal: the API would not take the request.
        """
        asked_keyless = request.headers.get("x-tavily-access-mode") == "keyless" and request.api_key is None
        if not (self._keyless and asked_keyless):
            check_key(request.headers, self._api_keys)
        match request.method, request.path:
            case "POST", "/search":
                return partial(self._search, request, search_request(body))
            case "POST", "/extract":
                return partial(self._extract, request, extract_request(body))
            case "POST", "/crawl":
                return partial(self._crawl, request, crawl_request(body))
            case "POST", "/map":
                return partial(self._map, request, map_request(body))
            case "GET", "/usage":
                return self._usage
            case _:
                raise APIRefusal(error_answer(404, "Not Found"))

    def _known(self, request: TavilyRequest) -> Iterable[TavilyPage]:
        return self._pages(request) if callable(self._pages) else self._pages

    def _search(self, request: TavilyRequest, search: SearchBody) -> APIAnswer:
        began = time.monotonic()
        self._charge("search", search.credits)
        found = _ranked(search, self._known(request))
        hits = [hit for hit, _ in found]
        raw = {page.url: page.text for _, page in found} if search.include_raw_content else None
        summary = self._answer or (hits[0].content if hits else None)
        return search_answer(search, hits, answer=summary, raw_contents=raw, seconds=time.monotonic() - began)

    def _extract(self, request: TavilyRequest, asked: ExtractBody) -> APIAnswer:
        began = time.monotonic()
        known = {page.url: page for page in self._known(request)}
        results = tuple(
            ExtractedPage(url=url, raw_content=known[url].text, title=known[url].title)
            for url in asked.addresses
            if url in known
        )
        failed = tuple(FailedPage(url=url, error="Failed to fetch url") for url in asked.addresses if url not in known)
        self._charge("extract", asked.credits(len(results)))
        extracted = ExtractResults(results=results, failed_results=failed)
        return extract_answer(asked, extracted, seconds=time.monotonic() - began)

    def _crawl(self, request: TavilyRequest, asked: CrawlBody) -> APIAnswer:
        found = _of_site(asked, self._known(request))
        self._charge("crawl", asked.credits(len(found)))
        pages = tuple(ExtractedPage(url=page.url, raw_content=page.text, title=page.title) for page in found)
        return crawl_answer(asked, CrawlResults(base_url=asked.url, results=pages))

    def _map(self, request: TavilyRequest, asked: MapBody) -> APIAnswer:
        found = _of_site(asked, self._known(request))
        self._charge("map", asked.credits(len(found)))
        return map_answer(asked, MapResults(base_url=asked.url, results=tuple(page.url for page in found)))

    def _usage(self) -> APIAnswer:
        with self._lock:
            return usage_answer(**self._spent, limit=self._credit_limit, plan="Researcher")

    def _charge(self, kind: str, cost: int) -> None:
        with self._lock:
            if self._credit_limit is not None and sum(self._spent.values()) + cost > self._credit_limit:
                raise APIRefusal(error_answer(432, OUT_OF_CREDITS))
            self._spent[kind] += cost


def _play(exchange: Exchange, answer: Callable[[], APIAnswer], fault: TavilyFault | None) -> None:
    match fault:
        case None:
            _send(exchange, answer())
        case Raw():
            exchange.answer(fault.status, fault.body, fault.headers)
        case ErrorStatus():
            _send(exchange, error_answer(fault.code, fault.message, fault.headers))
        case Late():
            exchange.wait(fault.seconds)
            _play(exchange, answer, fault.then)
        case Slow():
            exchange.wait(fault.seconds)
            then = fault.then
            _play(exchange, answer, then if isinstance(then, ErrorStatus | Slow | Cut | Malformed | Hang) else None)
        case Cut():
            whole = answer()
            exchange.answer_in_part(whole.status, whole.wire(), whole.headers)
        case Malformed():
            written = answer().wire()
            exchange.answer(200, written[: len(written) // 2], {"content-type": "application/json"})
        case Hang():  # pragma: no branch - there is no other
            exchange.wait(None)


def _send(exchange: Exchange, answer: APIAnswer) -> None:
    exchange.answer(answer.status, answer.wire(), answer.headers)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        return as_object(json.loads(body))
    except (ValueError, RecursionError):
        return {}


_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")


def _words(text: str) -> set[str]:
    """The words of `text`; of Japanese, Chinese and Korean each pair of neighbouring characters."""
    found: set[str] = set()
    for run in _WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        if len(run) > 1 and re.match(rf"[{_CJK}]", run):
            found.update(run[start : start + 2] for start in range(len(run) - 1))
        else:
            found.add(run)
    return found


def _ranked(search: SearchBody, pages: Iterable[TavilyPage]) -> list[tuple[SearchHit, TavilyPage]]:
    wanted = _words(search.query)
    found: list[tuple[SearchHit, TavilyPage]] = []
    for page in pages:
        score = _score(wanted, page) if page.score is None else page.score
        if score > 0 and search.allows(page.url):
            hit = SearchHit(
                title=page.title,
                url=page.url,
                content=page.content,
                score=score,
                published_date=page.published_date,
            )
            found.append((hit, page))
    return sorted(found, key=lambda pair: -pair[0].score)


def _of_site(asked: MapBody, pages: Iterable[TavilyPage]) -> list[TavilyPage]:
    """The pages of the host that is asked for, with the paths that are selected and not excluded."""
    host = host_of(asked.url if "://" in asked.url else f"//{asked.url}")

    def is_found(page: TavilyPage) -> bool:
        path = urlsplit(page.url).path
        selected = not asked.select_paths or matches_any(asked.select_paths, path)
        return host_of(page.url) == host and selected and not matches_any(asked.exclude_paths, path)

    return [page for page in pages if is_found(page)][: asked.limit]


def _score(wanted: set[str], page: TavilyPage) -> float:
    """The share of the wanted words that the page has; a word of the title counts a little more."""
    if not wanted:
        return 0.0
    anywhere = wanted & _words(f"{page.title}\n{page.content}\n{page.text}")
    return round(0.9 * len(anywhere) / len(wanted) + 0.1 * len(wanted & _words(page.title)) / len(wanted), 4)
