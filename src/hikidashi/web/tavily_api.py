"""Tavily's HTTP API as data: parsing and validation of requests, responses and errors as its clients expect.

Nothing here listens or searches. The API of Tavily is FastAPI behind a gateway, with two kinds of errors:
`{"detail": {"error": "..."}}` for what is refused, and FastAPI's list for a body of the wrong types. Answers are in
English, as Tavily's are; hikidashi's client translates the reasons it knows.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hmac import compare_digest
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ..common.json import is_object
from ..errors import ErrorType, TavilyAPIError
from ..texts import in_language
from .request import CrawlOptions, ExtractOptions, SearchFilters, check_crawl_options
from .results import CrawlResults, ExtractResults, FailedPage, MapResults, SearchHit

LONGEST_QUERY = 400
"""Tavily's limit on the length of a query."""
MOST_RESULTS = 20
MOST_URLS = 20

_DEPTHS = ("basic", "advanced", "fast", "ultra-fast")
_TOPICS = ("general", "news", "finance")
_RAW_FORMATS = ("markdown", "text")
_URLS_PER_CREDIT = 5
_MOST_DAYS = 36_500
# Fields without an effect: clients send them with every request, or they are the API's default.
_SAYS_NOTHING: dict[str, Any] = {"chunks_per_source": 3, "include_domains_mode": "restrict", "cache_fallback": True}
# Fields of older clients, such as the key, and of other routes.
_NO_OPTIONS = ("api_key", "query", "url", "urls")


@dataclass(frozen=True)
class APIAnswer:
    """An HTTP response of the API."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def wire(self) -> bytes:
        """The encoded body."""
        return json.dumps(self.body).encode()


class APIRefusal(Exception):  # noqa: N818 - reads as what it says
    """A request to which the API responds with an error."""

    def __init__(self, answer: APIAnswer) -> None:
        super().__init__(answer)
        self.answer = answer


class SearchBody(BaseModel):
    """The body of `POST /search`; `read_body` says how other fields are handled."""

    model_config = ConfigDict(frozen=True)

    query: str
    search_depth: str = "basic"
    topic: str = "general"
    max_results: int = 5
    include_answer: bool | Literal["basic", "advanced"] = False
    include_raw_content: bool | Literal["markdown", "text"] = False
    include_usage: bool = False
    include_domains: list[str] | None = None
    exclude_domains: list[str] | None = None
    time_range: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    days: int | None = None
    country: str | None = None
    timeout: float | None = None

    @property
    def advanced(self) -> bool:
        """Whether passages are requested rather than summaries."""
        return self.search_depth == "advanced"

    @property
    def credits(self) -> int:
        """Tavily's price of this search."""
        return 2 if self.advanced else 1

    def allows(self, url: str) -> bool:
        """Whether `url` passes the included and excluded domains, with their subdomains."""
        wanted, unwanted = (
            tuple(domain.lower().strip(".") for domain in domains or ())
            for domains in (self.include_domains, self.exclude_domains)
        )
        return SearchFilters(include_domains=wanted, exclude_domains=unwanted).allows_host(url)


class ExtractBody(BaseModel):
    """The body of `POST /extract`."""

    model_config = ConfigDict(frozen=True)

    urls: list[str] | str
    extract_depth: str = "basic"
    format: str = "markdown"
    include_usage: bool = False
    query: str | None = None
    chunks_per_source: int | None = None
    timeout: float | None = None

    @property
    def addresses(self) -> list[str]:
        """The requested URLs; one may be a string."""
        return [self.urls] if isinstance(self.urls, str) else self.urls

    @property
    def options(self) -> ExtractOptions:
        """How much of a page is asked for, in which format."""
        return ExtractOptions(
            depth="advanced" if self.extract_depth == "advanced" else "basic",
            format="text" if self.format == "text" else "markdown",
            query=self.query,
            chunks_per_source=self.chunks_per_source,
        )

    def credits(self, successes: int) -> int:
        """Tavily's price if so many pages could be read."""
        return math.ceil(successes / _URLS_PER_CREDIT) * (2 if self.extract_depth == "advanced" else 1)


def search_request(body: bytes, *, longest_query: int = LONGEST_QUERY, strict: bool = False) -> SearchBody:
    """The search request in `body`.

    Raises:
        Refused: the request is invalid, or with `strict`, has an unknown field.
    """
    request = read_body(SearchBody, body, strict=strict)
    if not request.query.strip():
        raise bad_request("Query is missing.")
    if len(request.query) > longest_query:
        raise bad_request(f"Query is too long. Max query length is {longest_query} characters.")
    one_of("search depth", request.search_depth, _DEPTHS)
    one_of("topic", request.topic, _TOPICS)
    if not 0 <= request.max_results <= MOST_RESULTS:
        raise bad_request(f"Invalid max results. Must be between 0 and {MOST_RESULTS}.")
    if request.days is not None and not 1 <= request.days <= _MOST_DAYS:
        raise bad_request(f"Invalid days. Must be between 1 and {_MOST_DAYS}.")
    _check_timeout(request.timeout)
    return request


def extract_request(body: bytes, *, strict: bool = False) -> ExtractBody:
    """The extraction request in `body`.

    Raises:
        Refused: the request is invalid, or with `strict`, has an unknown field.
    """
    request = read_body(ExtractBody, body, strict=strict)
    if not request.addresses or not all(request.addresses):
        raise bad_request("No URLs provided.")
    if len(request.addresses) > MOST_URLS:
        raise bad_request(f"Max {MOST_URLS} URLs are allowed.")
    one_of("extract depth", request.extract_depth, _DEPTHS[:2])
    one_of("format", request.format, _RAW_FORMATS)
    _check_timeout(request.timeout)
    return request


def _check_timeout(seconds: float | None) -> None:
    if seconds is not None and not 0 < seconds < math.inf:
        raise bad_request("Invalid timeout. Must be a positive number of seconds.")


def check_key(headers: Mapping[str, str], accepted: Collection[str]) -> str:
    """The key of the request; raises unless it is one of `accepted`.

    Raises:
        Refused: the key is missing or wrong.
    """
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    key = rest.strip()
    # In constant time, against timing attacks.
    if scheme.lower() == "bearer" and any(compare_digest(key.encode(), known.encode()) for known in accepted):
        return key
    raise APIRefusal(error_answer(401, "Unauthorized: missing or invalid API key."))


def search_answer(
    request: SearchBody,
    hits: Sequence[SearchHit],
    *,
    answer: str | None = None,
    raw_contents: Mapping[str, str] | None = None,
    seconds: float = 0.0,
    credits: float | None = None,  # noqa: A002 - the API's word
) -> APIAnswer:
    """The response to `POST /search`.

    Args:
        request: The request.
        hits: The hits, best first.
        answer: The summary, included if requested.
        raw_contents: The full text of pages by URL, included if requested.
        seconds: How long it took.
        credits: The cost, by default Tavily's price.
    """
    texts = raw_contents or {}
    body: dict[str, Any] = {
        "query": request.query,
        "follow_up_questions": None,
        "answer": answer if request.include_answer else None,
        "images": [],
        "results": [_result(hit, texts.get(hit.url)) for hit in hits[: request.max_results]],
    }
    return answered(body, seconds, request.include_usage, request.credits if credits is None else credits)


def extract_answer(
    request: ExtractBody,
    extracted: ExtractResults,
    *,
    seconds: float = 0.0,
    credits: float | None = None,  # noqa: A002 - the API's word
) -> APIAnswer:
    """The response to `POST /extract`."""
    pages = [
        {"url": page.url, **({"title": page.title} if page.title else {}), "raw_content": page.raw_content}
        for page in extracted.results
    ]
    body: dict[str, Any] = {
        "results": [{**page, "images": []} for page in pages],
        "failed_results": failures(extracted.failed_results),
    }
    charged = request.credits(len(pages)) if credits is None else credits
    return answered(body, seconds, request.include_usage, charged)


def failures(failed: Iterable[FailedPage]) -> list[dict[str, str]]:
    """Failed pages, as the API lists them."""
    return [{"url": page.url, "error": in_language(page.error, "en")} for page in failed]


def usage_answer(
    *,
    search: float,
    extract: float,
    crawl: float = 0,
    map: float = 0,  # noqa: A002 - the API's word
    limit: float | None = None,
    plan: str = "Researcher",
) -> APIAnswer:
    """The response to `GET /usage`: credits used, and the limit."""
    by_kind = {
        "search_usage": search,
        "extract_usage": extract,
        "crawl_usage": crawl,
        "map_usage": map,
        "research_usage": 0,
    }
    spent = search + extract + crawl + map
    account = {"current_plan": plan, "plan_usage": spent, "plan_limit": limit, "paygo_usage": 0, "paygo_limit": None}
    return APIAnswer(
        200, {"key": {"usage": spent, "limit": limit, **by_kind}, "account": {**account, **by_kind}}, _json_headers()
    )


def error_answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> APIAnswer:
    """An error in the API's usual structure."""
    return APIAnswer(status, {"detail": {"error": message}}, {**_json_headers(), **(headers or {})})


_STATUS = {
    ErrorType.AUTH_ERROR: 401,
    ErrorType.RATE_LIMIT_ERROR: 429,
    ErrorType.VALIDATION_ERROR: 400,
    ErrorType.TIMEOUT_ERROR: 504,
    ErrorType.SERVER_ERROR: 500,
    ErrorType.SERVICE_UNAVAILABLE: 503,
    ErrorType.NETWORK_ERROR: 502,
    ErrorType.API_ERROR: 500,
}


def failure_answer(error: TavilyAPIError) -> APIAnswer:
    """The response that makes a Tavily client raise `error`."""
    wait = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:.15g}"}
    known = error.status_code or 0
    return error_answer(known if known >= 400 else _STATUS[error.error_type], in_language(error.message, "en"), wait)


_AnyBody = TypeVar("_AnyBody", bound=BaseModel)


def read_body(kind: type[_AnyBody], body: bytes, *, strict: bool = False) -> _AnyBody:
    """The JSON body as a request of `kind`.

    Args:
        kind: What is asked for.
        body: The bytes of the request.
        strict: Refuse unknown fields by name, unless they have no effect; otherwise they are ignored.

    Raises:
        Refused: it is not JSON, or has wrong types.
    """
    try:
        parsed: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        problem = {"type": "json_invalid", "loc": ["body", 0], "msg": "JSON decode error", "ctx": {"error": str(error)}}
        raise _wrong_types([problem]) from error
    try:
        # Clients send null for unset fields.
        given = {name: value for name, value in parsed.items() if value is not None} if is_object(parsed) else parsed
        request = kind.model_validate(given)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        raise _wrong_types([{**problem, "loc": ["body", *problem["loc"]]} for problem in problems]) from error
    if strict:
        _refuse_others(given, {*kind.model_fields, *_NO_OPTIONS})
    return request


def _refuse_others(given: Mapping[str, Any], known: Collection[str]) -> None:
    for name, value in given.items():
        if name not in known and value and value != _SAYS_NOTHING.get(name):
            raise bad_request(f"This server cannot do `{name:.60}` ({value!r:.60}). Leave `{name:.60}` out.")


def _wrong_types(problems: list[dict[str, Any]]) -> APIRefusal:
    return APIRefusal(APIAnswer(422, {"detail": problems}, _json_headers()))


def bad_request(message: str) -> APIRefusal:
    """The refusal of an invalid value."""
    return APIRefusal(error_answer(400, message))


def one_of(what: str, value: str, allowed: Sequence[str]) -> None:
    """Raise unless `value` is one of `allowed`.

    Raises:
        Refused: the value is not allowed.
    """
    if value not in allowed:
        names = [repr(name) for name in allowed]
        raise bad_request(f"Invalid {what}. Must be {', '.join(names[:-1])} or {names[-1]}.")


def _result(hit: SearchHit, raw_content: str | None) -> dict[str, Any]:
    dated = {} if hit.published_date is None else {"published_date": hit.published_date}
    result = {"title": hit.title, "url": hit.url, "content": hit.content, "score": hit.score}
    return {**result, "raw_content": raw_content, **dated}


def answered(body: dict[str, Any], seconds: float, include_usage: bool, charged: float) -> APIAnswer:
    """`body` with the fields common to all responses."""
    usage = {"usage": {"credits": charged}} if include_usage else {}
    whole = {**body, "response_time": round(seconds, 2), **usage, "request_id": str(uuid.uuid4())}
    return APIAnswer(200, whole, _json_headers())


def _json_headers() -> dict[str, str]:
    return {"content-type": "application/json"}


_PAGES_PER_CREDIT = 10
_EXTRACTIONS_PER_CREDIT = 5


class MapBody(BaseModel):
    """The body of `POST /map`; `read_body` says how other fields are handled."""

    model_config = ConfigDict(frozen=True)

    url: str
    max_depth: int = 1
    max_breadth: int = 20
    limit: int = 50
    instructions: str | None = None
    select_paths: tuple[str, ...] = ()
    select_domains: tuple[str, ...] = ()
    exclude_paths: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    allow_external: bool | None = None
    categories: tuple[str, ...] = ()
    timeout: float = 150.0
    include_usage: bool = False

    def options(self, *, most_seconds: float) -> CrawlOptions:
        """The options, with a timeout of at most `most_seconds`."""
        given = self.model_dump()
        known: dict[str, Any] = {item.name: given[item.name] for item in fields(CrawlOptions) if item.name in given}
        known["timeout"] = min(self.timeout, most_seconds)
        return CrawlOptions(**known)

    def credits(self, pages: int) -> int:
        """Tavily's price for mapping so many pages."""
        return math.ceil(pages / _PAGES_PER_CREDIT) * (2 if self.instructions else 1)


class CrawlBody(MapBody):
    """The body of `POST /crawl`."""

    extract_depth: str = "basic"
    format: str = "markdown"
    chunks_per_source: int | None = None

    def credits(self, pages: int) -> int:
        """Tavily's price for mapping and extracting so many pages."""
        read = math.ceil(pages / _EXTRACTIONS_PER_CREDIT) * (2 if self.extract_depth == "advanced" else 1)
        return super().credits(pages) + read


def map_request(body: bytes, *, strict: bool = False) -> MapBody:
    """The map request in `body`.

    Raises:
        Refused: the request is invalid, or with `strict`, has an unknown field.
    """
    return _checked(read_body(MapBody, body, strict=strict))


def crawl_request(body: bytes, *, strict: bool = False) -> CrawlBody:
    """The crawl request in `body`.

    Raises:
        Refused: the request is invalid, or with `strict`, has an unknown field.
    """
    request = read_body(CrawlBody, body, strict=strict)
    _checked(request)
    one_of("extract depth", request.extract_depth, ("basic", "advanced"))
    one_of("format", request.format, ("markdown", "text"))
    return request


def crawl_answer(
    request: CrawlBody,
    crawled: CrawlResults,
    *,
    seconds: float = 0.0,
    credits: float | None = None,  # noqa: A002 - the API's word
) -> APIAnswer:
    """The response to `POST /crawl`; failed pages are listed as in `/extract`."""
    body: dict[str, Any] = {
        "base_url": request.url,
        "results": [{"url": page.url, "raw_content": page.raw_content, "images": []} for page in crawled.results],
        "failed_results": failures(crawled.failed_results),
    }
    charged = request.credits(len(crawled.results)) if credits is None else credits
    return answered(body, seconds, request.include_usage, charged)


def map_answer(
    request: MapBody,
    found: MapResults,
    *,
    seconds: float = 0.0,
    credits: float | None = None,  # noqa: A002 - the API's word
) -> APIAnswer:
    """The response to `POST /map`; failed pages are listed as in `/extract`."""
    body: dict[str, Any] = {
        "base_url": request.url,
        "results": list(found.results),
        "failed_results": failures(found.failed_results),
    }
    charged = request.credits(len(found.results)) if credits is None else credits
    return answered(body, seconds, request.include_usage, charged)


def _checked(request: MapBody) -> MapBody:
    if not request.url.strip():
        raise bad_request("No starting url provided.")
    try:
        check_crawl_options(request.options(most_seconds=request.timeout))
    except TavilyAPIError as error:
        raise bad_request(in_language(error.message, "en")) from error
    return request
