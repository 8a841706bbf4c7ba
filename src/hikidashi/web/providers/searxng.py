"""A SearXNG of one's own as a search provider: its JSON API finds, the guarded fetch reads."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

from ...common.urls import is_loopback_url, split_base_url
from ...errors import ErrorType, MissingExtra, TavilyAPIError
from ..answers.context import pack_context
from ..filters import (
    EXTRACT_DEFAULTS,
    NO_FILTERS,
    ExtractOptions,
    SearchFilters,
    check_extract_options,
    refuse_unsupported,
)
from ..provider import SearchDepth
from ..results import ExtractResults, SearchContext, SearchHit, SearchResults
from ..validate import check_max_results, check_max_tokens, check_query, check_search_depth
from ..wording.messages import said_wait, say
from ..wording.said import Language, Said
from ..wording.said import said as worded
from .httpx_pool import ENCODINGS, LARGEST_ANSWER, AnswerTooLarge, read_within_limits
from .per_loop import PerLoop
from .retry import RetryPolicy, parse_retry_after
from .tavily._shorten import short_line

try:
    import httpx
except ImportError as error:
    raise MissingExtra("httpx", "web") from error

if TYPE_CHECKING:
    from ..pages.fetch import Fetcher

__all__ = ["SearxngProvider"]

_NAME = "searxng"
_MOST_PAGES = 3  # of results; each asks all engines again
_CONTEXT_RESULTS = 8
_PASSAGE_LENGTH = 1_500  # characters of a page that an advanced search shows
_MOST_DOMAINS_ASKED = 10  # of `site:`; engines cut longer questions
_MOST_ENGINES_NAMED = 10
_LONGEST_REASON = 80

_SAYINGS: dict[str, tuple[str, str]] = {
    "forbidden": (
        "SearXNG が JSON 形式を許可していません（HTTP 403）。SearXNG の settings.yml で search.formats に json を"
        "追加し（search: {{formats: [html, json]}}）、再起動してください。",
        "SearXNG does not allow the JSON format (HTTP 403). Add json to search.formats in its settings.yml "
        "(search: {{formats: [html, json]}}), and restart it.",
    ),
    "limited": (
        "SearXNG のリミッターに拒否されました（HTTP 429）。{wait}"
        "自分のサーバーなら settings.yml で server.limiter を false にしてください。",
        "The limiter of SearXNG refused the request (HTTP 429).{wait} "
        "If the server is yours, set server.limiter to false in its settings.yml.",
    ),
    "engines": (
        "SearXNG は何も見つけられず、応答しない検索エンジンがありました: {engines}。時間をおいて再試行してください。",
        "SearXNG found nothing, and some engines did not answer: {engines}. Try again later.",
    ),
}


class SearxngProvider:
    """Searches by a SearXNG server; every failure is a `TavilyAPIError`.

        async with SearxngProvider("http://127.0.0.1:8080") as provider:
            found = await provider.search("日本の祝日", max_results=3)

    The server must allow the JSON format: `search: {formats: [html, json]}` in its settings.yml. One provider serves
    any number of event loops and threads.

    Args:
        base_url: Where SearXNG is. A user and password in it are sent, and shown nowhere.
        timeout: Seconds for each try.
        max_retries: How often a failure that may pass is tried again.
        engines: The engines to ask; those of the server's settings if empty.
        search_language: The language of the pages, such as "ja-JP"; the server's setting if None.
        fetcher: How pages are fetched; the guarded fetch of public addresses if None.
        language: The language of error messages.
        retry: How to try again, instead of `max_retries`.
    """

    supported_filters = frozenset({"topic", "time_range", "include_domains", "exclude_domains"})

    def __init__(
        self,
        base_url: str,
        *,
        timeout: float = 15.0,
        max_retries: int = 1,
        engines: Sequence[str] = (),
        search_language: str | None = None,
        fetcher: Fetcher | None = None,
        language: Language = "ja",
        retry: RetryPolicy | None = None,
    ) -> None:
        self._base_url = _checked(base_url, language)
        self._timeout = timeout
        self._options: dict[str, str] = {
            **({"engines": ",".join(engines)} if engines else {}),
            **({"language": search_language} if search_language else {}),
        }
        self._fetcher = fetcher
        self._language: Language = language
        self._retry = retry or RetryPolicy(max_retries=max_retries)
        self._clients = PerLoop(self._client, httpx.AsyncClient.aclose)

    def __repr__(self) -> str:
        return f"SearxngProvider({_without_login(self._base_url)!r})"

    @property
    def name(self) -> str:
        """`"searxng"`."""
        return _NAME

    async def search(
        self,
        query: str,
        *,
        search_depth: SearchDepth = "basic",
        max_results: int = 5,
        include_answer: bool = False,
        filters: SearchFilters | None = None,
    ) -> SearchResults:
        """The best hits for `query`; with "advanced", their pages are read and show what they say about it.

        Domains are sent to the engines as `site:`, and checked again in what they answer. Dates, countries and the
        topic "finance" are refused, because SearXNG has no such filter.

        Raises:
            TavilyAPIError: an argument is refused, or the server or the way to it failed.
        """
        check_query(query, language=self._language)
        check_search_depth(search_depth, language=self._language, quick=True)
        check_max_results(max_results, language=self._language)
        wanted = self._checked_filters(filters or NO_FILTERS)
        hits: dict[str, SearchHit] = {}
        answer: str | None = None
        for page in range(1, _MOST_PAGES + 1):
            found = await self._page(query, page, wanted)
            known = len(hits)
            for hit in _hits(found):
                if wanted.allows_host(hit.url):
                    hits.setdefault(hit.url, hit)
            answer = answer or _answer(found)
            if page == 1 and not hits and (silent := _silent_engines(found)):
                raise TavilyAPIError(self._say("engines", engines=silent), ErrorType.SERVICE_UNAVAILABLE)
            if len(hits) >= max_results or (len(hits) == known and not wanted.given()):
                break
        best = tuple(sorted(hits.values(), key=lambda hit: -hit.score)[:max_results])
        if search_depth == "advanced":
            best = await self._with_passages(query, best)
        return SearchResults(query=query, results=best, answer=answer if include_answer else None, provider=_NAME)

    async def extract(self, urls: Sequence[str], *, options: ExtractOptions | None = None) -> ExtractResults:
        """The text of each of `urls`, through the guarded fetch; both depths read whole pages.

        Raises:
            TavilyAPIError: there are no `urls`, or an option is refused.
        """
        from .extract_urls import extract_urls

        chosen = check_extract_options(options or EXTRACT_DEFAULTS, language=self._language)
        return await extract_urls(urls, fetcher=self._fetcher, language=self._language, provider=_NAME, options=chosen)

    async def context(
        self, query: str, *, max_tokens: int | None = None, filters: SearchFilters | None = None
    ) -> SearchContext:
        """Passages of the best pages about `query`, at most `max_tokens` tokens of them.

        Raises:
            TavilyAPIError: an argument is refused, or the server or the way to it failed.
        """
        check_max_tokens(max_tokens, language=self._language)
        found = await self.search(query, search_depth="advanced", max_results=_CONTEXT_RESULTS, filters=filters)
        return pack_context(query, found.results, max_tokens, provider=_NAME)

    async def aclose(self) -> None:
        """Closes the connections; may be called twice."""
        await self._clients.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _client(self) -> httpx.AsyncClient:
        local = is_loopback_url(self._base_url)
        hooks = {"response": [read_within_limits]}
        return httpx.AsyncClient(headers=ENCODINGS, timeout=self._timeout, trust_env=not local, event_hooks=hooks)

    def _checked_filters(self, filters: SearchFilters) -> SearchFilters:
        supported = self.supported_filters - ({"topic"} if filters.topic == "finance" else set())
        refuse_unsupported(filters, supported, provider="SearXNG", instead="tavily", language=self._language)
        return filters

    async def _page(self, query: str, number: int, filters: SearchFilters) -> dict[str, Any]:
        parameters = {"q": _with_sites(query, filters), "format": "json", "pageno": str(number), **self._options}
        if filters.topic == "news":
            parameters["categories"] = "news"
        if filters.time_range is not None:
            parameters["time_range"] = filters.time_range
        return await self._retry.run(lambda: self._ask(parameters))

    async def _ask(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        client = await self._clients.get()
        try:
            # The HTTP client's own timeouts are for single steps, and start anew with every byte.
            async with asyncio.timeout(self._timeout):
                answer = await client.get(f"{self._base_url}/search", params=parameters)
        except (httpx.TimeoutException, TimeoutError) as error:
            said = say("TIMEOUT_ERROR", self._language, seconds=self._timeout)
            raise TavilyAPIError(said, ErrorType.TIMEOUT_ERROR) from error
        except AnswerTooLarge as error:
            said = say("too_large", self._language, limit=LARGEST_ANSWER // 1024**2)
            raise TavilyAPIError(said, ErrorType.API_ERROR) from error
        except (httpx.HTTPError, OSError) as error:
            said = say("NETWORK_ERROR", self._language, reason=_without_login(str(error) or type(error).__name__))
            raise TavilyAPIError(said, ErrorType.NETWORK_ERROR) from error
        if answer.status_code != 200:
            raise self._refused(answer)
        try:
            found = answer.json()
        except (ValueError, RecursionError) as error:
            raise TavilyAPIError(say("no_json", self._language, status=200), ErrorType.API_ERROR, 200) from error
        if not isinstance(found, dict) or not isinstance(cast("dict[str, Any]", found).get("results"), list):
            said = say("shape", self._language, reason="no `results`")
            raise TavilyAPIError(said, ErrorType.API_ERROR, 200)
        return cast("dict[str, Any]", found)

    def _refused(self, answer: httpx.Response) -> TavilyAPIError:
        status = answer.status_code
        wait = parse_retry_after(answer.headers.get("retry-after"))
        match status:
            case 401:
                kind, said = ErrorType.AUTH_ERROR, say("AUTH_ERROR", self._language, status=status, detail="")
            case 403:
                kind, said = ErrorType.AUTH_ERROR, self._say("forbidden")
            case 429:
                later = said_wait(wait, self._language)
                kind, said = ErrorType.RATE_LIMIT_ERROR, self._say("limited", wait=later)
            case 502 | 503 | 504:
                kind = ErrorType.SERVICE_UNAVAILABLE
                said = say(kind.value, self._language, status=status, detail="")
            case int() if status >= 500:
                kind, said = ErrorType.SERVER_ERROR, say("SERVER_ERROR", self._language, status=status, detail="")
            case int() if 300 <= status < 400:
                kind, said = ErrorType.API_ERROR, say("redirect", self._language, status=status)
            case _:
                kind, said = ErrorType.API_ERROR, say("API_ERROR", self._language, status=status, detail="")
        return TavilyAPIError(said, kind, status, wait)

    def _say(self, key: str, **values: object) -> Said:
        return worded(*_SAYINGS[key], self._language, **values)

    async def _with_passages(self, query: str, hits: tuple[SearchHit, ...]) -> tuple[SearchHit, ...]:
        """`hits` with what their pages say about `query`; a page that cannot be read keeps its summary."""
        from ..text.snippet import snippet
        from ..text.words import terms_of

        if not hits:
            return hits
        pages = await self.extract([hit.url for hit in hits])
        texts = {page.url: page.raw_content for page in pages.results}
        terms = terms_of(query)
        return tuple(
            replace(hit, content=snippet(texts[hit.url], terms, length=_PASSAGE_LENGTH)) if hit.url in texts else hit
            for hit in hits
        )


def _with_sites(query: str, filters: SearchFilters) -> str:
    """`query` with the domains in the syntax that search engines share."""
    wanted = [f"site:{domain}" for domain in filters.include_domains[:_MOST_DOMAINS_ASKED]]
    unwanted = [f"-site:{domain}" for domain in filters.exclude_domains[:_MOST_DOMAINS_ASKED]]
    any_of = [" OR ".join(wanted) if len(wanted) < 2 else f"({' OR '.join(wanted)})"] if wanted else []
    return " ".join([query, *any_of, *unwanted])


def _hits(found: Mapping[str, Any]) -> Iterator[SearchHit]:
    """The results that are web pages, each with a score from 0 to 1."""
    for rank, result in enumerate(cast("list[Any]", found["results"]), start=1):
        match result:
            case {"url": str(url)} if url.startswith(("http://", "https://")):
                fields = cast("dict[str, Any]", result)
                yield SearchHit(
                    title=_text(fields.get("title")) or url,
                    url=url,
                    content=_text(fields.get("content")),
                    score=_score(fields.get("score"), rank),
                    published_date=_text(fields.get("publishedDate")) or None,
                )
            case _:  # an image, a torrent, a file of an offline engine
                continue


def _score(given: object, rank: int) -> float:
    """SearXNG's score, between 0 and 1.

    It adds up 1/position over the engines and multiplies by their number: 1 is the first place in one engine, 9 in
    three. Dividing by one more keeps the order and leaves scores of different searches comparable.
    """
    score = float(given) if isinstance(given, int | float) and 0 < given < 1e9 else 1 / rank
    return round(score / (score + 1), 4)


def _answer(found: Mapping[str, Any]) -> str | None:
    """The first instant answer; older servers send strings, newer ones objects."""
    answers: Any = found.get("answers")
    for one in cast("list[Any]", answers) if isinstance(answers, list) else []:
        match one:
            case str() if one.strip():
                return one.strip()
            case {"answer": str(text)} if text.strip():
                return text.strip()
            case _:
                continue
    return None


def _silent_engines(found: Mapping[str, Any]) -> str:
    """The engines that did not answer and why, such as `google (timeout)`."""
    engines: Any = found.get("unresponsive_engines")
    said: list[str] = []
    for one in cast("list[Any]", engines) if isinstance(engines, list) else []:
        match one:
            case [str(name), str(reason), *_]:
                said.append(f"{short_line(name, _LONGEST_REASON)} ({short_line(reason, _LONGEST_REASON)})")
            case _:
                continue
    more = [] if len(said) <= _MOST_ENGINES_NAMED else [f"+{len(said) - _MOST_ENGINES_NAMED}"]
    return ", ".join([*said[:_MOST_ENGINES_NAMED], *more])


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _checked(base_url: str, language: Language) -> str:
    try:
        split_base_url(base_url.strip())
    except ValueError as error:
        said = say("base_url", language, value=repr(_without_login(base_url)))
        raise TavilyAPIError(said, ErrorType.VALIDATION_ERROR) from error
    return base_url.strip().partition("?")[0].partition("#")[0].rstrip("/").removesuffix("/search")


def _without_login(text: str) -> str:
    """`text` with the user and password of addresses left out."""
    return re.sub(r"[^\s/]*@", "", text)
