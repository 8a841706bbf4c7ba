"""A SearXNG server as a search provider: search by its JSON API, extraction by the guarded fetcher."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ...common.json import as_list, as_object, as_text, is_list, is_object
from ...common.per_loop import PerLoop
from ...common.urls import is_loopback_url, split_base_url
from ...errors import ErrorType, MissingExtra, TavilyAPIError
from ...texts import Language, check_language
from ..answers import short_line
from ..messages import api_error, validation_error, wait_message
from ..passages import snippet
from ..provider import SearchProvider, errors_in
from ..request import (
    ExtractOptions,
    SearchFilters,
    SearchOptions,
    SearchRequest,
    check_positive,
    check_texts,
    refuse_filters,
)
from ..results import ExtractResults, SearchHit, SearchResults
from ..words import terms_of
from .transport import ENCODINGS, LARGEST_ANSWER, AnswerTooLarge, RetryPolicy, parse_retry_after, read_within_limits

try:
    import httpx
except ImportError as error:
    raise MissingExtra("httpx", "web") from error

if TYPE_CHECKING:
    from ..pages.fetch import Fetcher

_MOST_PAGES = 3  # of results; each queries all engines again
_PASSAGE_LENGTH = 1_500  # characters per page in an advanced search
_MOST_DOMAINS_ASKED = 10  # in `site:` operators; engines truncate longer queries
_MOST_ENGINES_NAMED = 10
_LONGEST_REASON = 80


class SearxngProvider(SearchProvider):
    """Searches with a SearXNG server; every failure is a `TavilyAPIError`.

        async with SearxngProvider("http://127.0.0.1:8080") as provider:
            found = await provider.search("日本の祝日", max_results=3)

    The server must allow the JSON format: `search: {formats: [html, json]}` in its settings.yml. One provider serves
    any number of event loops and threads.

    Args:
        base_url: The address of SearXNG. A user name and password in it are sent, but never shown.
        timeout: Seconds per attempt.
        max_retries: Number of retries after a transient failure.
        engines: The engines to query; by default those of the server's settings.
        search_language: The language of the pages, such as "ja-JP"; by default the server's setting.
        fetcher: Fetches pages; by default a `Fetcher`.
        language: The language of error messages.
        retry: The retry policy, instead of `max_retries`.
    """

    name = "searxng"
    title = "SearXNG"
    supported_filters = frozenset({"topic", "time_range", "include_domains", "exclude_domains"})
    context_search: ClassVar[SearchOptions] = {"search_depth": "advanced", "max_results": 8}

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
        self.language: Language = check_language(language)
        with errors_in(language):
            self._base_url = _checked(base_url)
            self._timeout = check_positive(timeout, "timeout")
            named = check_texts(engines, "engines")
        self._options: dict[str, str] = {
            **({"engines": ",".join(named)} if named else {}),
            **({"language": search_language} if search_language else {}),
        }
        self._fetcher = fetcher
        self._retry = retry or RetryPolicy(max_retries=max_retries)
        self._clients = PerLoop(self._client, httpx.AsyncClient.aclose)

    def __repr__(self) -> str:
        return f"SearxngProvider({_without_login(self._base_url)!r})"

    async def aclose(self) -> None:
        """Close the connections; may be called twice."""
        await self._clients.aclose()

    async def _search(self, request: SearchRequest) -> SearchResults:
        """The best hits; with "advanced", with relevant passages of their pages.

        Domains are sent to the engines as `site:` operators, and applied to the results again.
        """
        wanted = request.filters
        if wanted.topic == "finance":
            refuse_filters(["topic"], wanted, provider=self.title)
        hits: dict[str, SearchHit] = {}
        answer: str | None = None
        for page in range(1, _MOST_PAGES + 1):
            found = await self._page(request.query, page, wanted)
            known = len(hits)
            for hit in _hits(found):
                if wanted.allows_host(hit.url):
                    hits.setdefault(hit.url, hit)
            answer = answer or _answer(found)
            if page == 1 and not hits and (silent := _silent_engines(found)):
                raise api_error("searxng_engines", ErrorType.SERVICE_UNAVAILABLE, engines=silent)
            if len(hits) >= request.max_results or (len(hits) == known and not wanted.given()):
                break
        best = tuple(sorted(hits.values(), key=lambda hit: -hit.score)[: request.max_results])
        if request.search_depth == "advanced":
            best = await self._with_passages(request.query, best)
        answer = answer if request.include_answer else None
        return SearchResults(query=request.query, results=best, answer=answer, provider=self.name)

    async def _extract(self, urls: Sequence[str], options: ExtractOptions) -> ExtractResults:
        """The pages, by the guarded fetcher; both depths give the full text."""
        from ..pages.extract import extract_urls

        return await extract_urls(urls, fetcher=self._fetcher, provider=self.name)

    def _client(self) -> httpx.AsyncClient:
        local = is_loopback_url(self._base_url)
        hooks = {"response": [read_within_limits]}
        return httpx.AsyncClient(headers=ENCODINGS, timeout=self._timeout, trust_env=not local, event_hooks=hooks)

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
            # httpx has timeouts for single operations only, which restart with every byte.
            async with asyncio.timeout(self._timeout):
                answer = await client.get(f"{self._base_url}/search", params=parameters)
        except (httpx.TimeoutException, TimeoutError) as error:
            raise api_error("TIMEOUT_ERROR", ErrorType.TIMEOUT_ERROR, seconds=self._timeout) from error
        except AnswerTooLarge as error:
            raise api_error("too_large", ErrorType.API_ERROR, limit=LARGEST_ANSWER // 1024**2) from error
        except (httpx.HTTPError, OSError) as error:
            reason = _without_login(str(error) or type(error).__name__)
            raise api_error("NETWORK_ERROR", ErrorType.NETWORK_ERROR, reason=reason) from error
        if answer.status_code != 200:
            raise _refused(answer)
        try:
            found = answer.json()
        except (ValueError, RecursionError) as error:
            raise api_error("no_json", ErrorType.API_ERROR, 200, status=200) from error
        if not is_object(found) or not is_list(found.get("results")):
            raise api_error("shape", ErrorType.API_ERROR, 200, reason="no `results`")
        return found

    async def _with_passages(self, query: str, hits: tuple[SearchHit, ...]) -> tuple[SearchHit, ...]:
        """`hits` with relevant passages of their pages; a page that cannot be read keeps its summary."""
        if not hits:
            return hits
        pages = await self.extract([hit.url for hit in hits])
        texts = {page.url: page.raw_content for page in pages.results}
        terms = terms_of(query)
        return tuple(
            replace(hit, content=snippet(texts[hit.url], terms, length=_PASSAGE_LENGTH)) if hit.url in texts else hit
            for hit in hits
        )


def _refused(answer: httpx.Response) -> TavilyAPIError:
    status = answer.status_code
    wait = parse_retry_after(answer.headers.get("retry-after"))
    match status:
        case 401:
            kind, key = ErrorType.AUTH_ERROR, "AUTH_ERROR"
        case 403:
            kind, key = ErrorType.AUTH_ERROR, "searxng_forbidden"
        case 429:
            kind, key = ErrorType.RATE_LIMIT_ERROR, "searxng_limited"
        case 502 | 503 | 504:
            kind, key = ErrorType.SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE"
        case int() if status >= 500:
            kind, key = ErrorType.SERVER_ERROR, "SERVER_ERROR"
        case int() if 300 <= status < 400:
            kind, key = ErrorType.API_ERROR, "redirect"
        case _:
            kind, key = ErrorType.API_ERROR, "API_ERROR"
    return api_error(key, kind, status, wait, status=status, wait=wait_message(wait), detail="")


def _with_sites(query: str, filters: SearchFilters) -> str:
    """`query` with `site:` operators for the domains."""
    wanted = [f"site:{domain}" for domain in filters.include_domains[:_MOST_DOMAINS_ASKED]]
    unwanted = [f"-site:{domain}" for domain in filters.exclude_domains[:_MOST_DOMAINS_ASKED]]
    any_of = [" OR ".join(wanted) if len(wanted) < 2 else f"({' OR '.join(wanted)})"] if wanted else []
    return " ".join([query, *any_of, *unwanted])


def _hits(found: Mapping[str, Any]) -> Iterator[SearchHit]:
    """The results that are web pages, with scores from 0 to 1."""
    for rank, result in enumerate(found["results"], start=1):
        fields = as_object(result)
        url = as_text(fields.get("url"))
        if url.startswith(("http://", "https://")):  # else it is an image or a torrent
            yield SearchHit(
                title=as_text(fields.get("title")).strip() or url,
                url=url,
                content=as_text(fields.get("content")).strip(),
                score=_score(fields.get("score"), rank),
                published_date=as_text(fields.get("publishedDate")).strip() or None,
            )


def _score(given: object, rank: int) -> float:
    """SearXNG's score, mapped to 0 to 1 by s / (s + 1).

    SearXNG sums 1/position over the engines and multiplies by their number: the first place in one engine scores 1, in
    three engines 9. The mapping keeps the order, and scores of different searches comparable.
    """
    score = float(given) if isinstance(given, int | float) and 0 < given < 1e9 else 1 / rank
    return round(score / (score + 1), 4)


def _answer(found: Mapping[str, Any]) -> str | None:
    """The first instant answer; older servers send strings, newer ones objects."""
    for one in as_list(found.get("answers")):
        match one:
            case str() if one.strip():
                return one.strip()
            case {"answer": str(text)} if text.strip():
                return text.strip()
            case _:
                continue
    return None


def _silent_engines(found: Mapping[str, Any]) -> str:
    """The unresponsive engines with their errors, such as `google (timeout)`."""
    silent: list[str] = []
    for one in as_list(found.get("unresponsive_engines")):
        match one:
            case [str(name), str(reason), *_]:
                silent.append(f"{short_line(name, _LONGEST_REASON)} ({short_line(reason, _LONGEST_REASON)})")
            case _:
                continue
    more = [] if len(silent) <= _MOST_ENGINES_NAMED else [f"+{len(silent) - _MOST_ENGINES_NAMED}"]
    return ", ".join([*silent[:_MOST_ENGINES_NAMED], *more])


def _checked(base_url: str) -> str:
    try:
        split_base_url(base_url.strip() if isinstance(base_url, str) else base_url)  # pyright: ignore[reportUnnecessaryIsInstance]
    except ValueError as error:
        raise validation_error("base_url", value=_without_login(repr(base_url))) from error
    return base_url.strip().partition("?")[0].partition("#")[0].rstrip("/").removesuffix("/search")


def _without_login(text: str) -> str:
    """`text` without user names and passwords in URLs."""
    return re.sub(r"[^\s/]*@", "", text)
