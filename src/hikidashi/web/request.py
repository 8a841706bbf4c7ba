"""What is asked of a provider, as frozen values, and how each is checked."""

from __future__ import annotations

import logging
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, cast, get_args

from ..errors import FetchRefused
from ..providers import providers_that_can
from .messages import reason, validation_error
from .pages.address import check_url, host_of, parse_url
from .provider import SearchDepth
from .results import ExtractedPage, FailedPage

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator


__all__ = [
    "CRAWL_DEFAULTS",
    "EXTRACT_DEFAULTS",
    "LONGEST_QUERY",
    "MOST_BREADTH",
    "MOST_DEPTH",
    "MOST_DOMAINS",
    "MOST_PAGES",
    "MOST_RESULTS",
    "MOST_URLS",
    "NO_FILTERS",
    "CheckedUrls",
    "CrawlOptions",
    "CrawlResults",
    "ExtractOptions",
    "FilterArguments",
    "MapResults",
    "PageFormat",
    "SearchFilters",
    "TimeRange",
    "Topic",
    "check_choice",
    "check_crawl_options",
    "check_extract_options",
    "check_filters",
    "check_instance",
    "check_max_results",
    "check_max_tokens",
    "check_offset",
    "check_positive",
    "check_query",
    "check_search_depth",
    "check_texts",
    "check_urls",
    "crawl_start",
    "listed",
    "matches_any",
    "refuse_crawl_options",
    "refuse_unsupported",
]

logger = logging.getLogger("hikidashi")


Topic = Literal["general", "news", "finance"]
TimeRange = Literal["day", "week", "month", "year"]
PageFormat = Literal["markdown", "text"]

MOST_DOMAINS = 300
MOST_CHUNKS = 5

_DAYS: dict[TimeRange, int] = {"day": 1, "week": 7, "month": 31, "year": 366}
_SHORT_RANGES: dict[str, TimeRange] = {"d": "day", "w": "week", "m": "month", "y": "year"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchFilters:
    """Which pages a search may find; a filter that is not set restricts nothing."""

    topic: Topic | None = None
    time_range: TimeRange | None = None
    """Only pages of the last day, week, month or year."""
    start_date: str | None = None
    """Only pages from this day on, as YYYY-MM-DD."""
    end_date: str | None = None
    """Only pages up to this day."""
    include_domains: tuple[str, ...] = ()
    """Only pages of these domains and their subdomains."""
    exclude_domains: tuple[str, ...] = ()
    country: str | None = None
    """Prefer pages of this country; its English name in lower case."""

    def given(self) -> dict[str, Any]:
        """The filters that restrict something, by name."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, (), "general")}

    def allows_host(self, url: str) -> bool:
        """Whether `url` passes the included and excluded domains."""
        host = host_of(url)
        wanted = not self.include_domains or _is_within(host, self.include_domains)
        return wanted and not _is_within(host, self.exclude_domains)

    def days(self, today: date | None = None) -> tuple[str | None, str | None]:
        """The first and the last day allowed, as YYYY-MM-DD; None is unlimited."""
        if self.time_range is None:
            return self.start_date, self.end_date
        first = (today or datetime.now(UTC).date()) - timedelta(days=_DAYS[self.time_range])
        return first.isoformat(), None


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractOptions:
    """How much of a page is extracted, and in which format."""

    depth: Literal["basic", "advanced"] = "basic"
    """"advanced" also reads tables and embedded content, where the provider can."""
    format: PageFormat = "markdown"
    query: str | None = None
    """Only the passages relevant to this question."""
    chunks_per_source: int | None = None
    """Passages per page, 1 to 5; requires `query`."""


class FilterArguments(TypedDict, total=False):
    """The filters as keyword arguments, before they are checked."""

    topic: str | None
    time_range: str | None
    start_date: str | None
    end_date: str | None
    include_domains: Sequence[str] | None
    exclude_domains: Sequence[str] | None
    country: str | None


NO_FILTERS = SearchFilters()
EXTRACT_DEFAULTS = ExtractOptions()


def check_filters(**given: Unpack[FilterArguments]) -> SearchFilters:
    """The given filters, checked; `None` is a filter that is not set.

    Raises:
        TavilyAPIError: a value is not allowed, or two contradict each other; VALIDATION_ERROR.
    """
    topic, time_range = given.get("topic"), given.get("time_range")
    if time_range is not None:
        time_range = _SHORT_RANGES.get(time_range, time_range)
        time_range = check_choice(time_range, "time_range", get_args(TimeRange))
    start = _day(given.get("start_date"), "start_date")
    end = _day(given.get("end_date"), "end_date")
    if time_range is not None and (start or end):
        raise validation_error("dates_and_range")
    if start and end and start > end:
        raise validation_error("date_order", start=start, end=end)
    return SearchFilters(
        topic=None if topic is None else check_choice(topic, "topic", get_args(Topic)),
        time_range=time_range,
        start_date=start,
        end_date=end,
        include_domains=_domains(given.get("include_domains"), "include_domains"),
        exclude_domains=_domains(given.get("exclude_domains"), "exclude_domains"),
        country=_country(given.get("country")),
    )


def check_extract_options(options: ExtractOptions) -> ExtractOptions:
    """`options`, checked.

    Raises:
        TavilyAPIError: a value is not allowed; VALIDATION_ERROR.
    """
    check_instance(options, ExtractOptions, "options")
    check_choice(options.depth, "extract_depth", ("basic", "advanced"))
    check_choice(options.format, "format", get_args(PageFormat))
    query = options.query or None
    if query is not None:
        check_query(query)
    chunks = cast("Any", options.chunks_per_source)
    if chunks is not None:
        valid = isinstance(chunks, int) and not isinstance(chunks, bool) and 1 <= chunks <= MOST_CHUNKS
        if not valid or query is None:
            raise validation_error("chunks", value=repr(chunks), limit=MOST_CHUNKS)
    return replace(options, query=query)


def refuse_unsupported(filters: SearchFilters, supported: Collection[str], *, provider: str) -> None:
    """Raise unless every filter that is set is in `supported`.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming the filter, its value and the providers that support all.
    """
    for name, value in check_instance(filters, SearchFilters, "filters").given().items():
        if name not in supported:
            able = ", ".join(providers_that_can("all_filters"))
            raise validation_error("filter_unsupported", provider=provider, name=name, value=repr(value), instead=able)


def _day(value: object, name: str) -> str | None:
    if value is None:
        return None
    try:
        return date.fromisoformat(value).isoformat() if isinstance(value, str) and len(value) == 10 else _not_a_day()
    except ValueError:
        raise validation_error("date", name=name, value=repr(value)[:60]) from None


def _not_a_day() -> str:
    raise ValueError


def _domains(given: Iterable[str] | None, name: str) -> tuple[str, ...]:
    texts = check_texts(given, name)
    if len(texts) > MOST_DOMAINS:
        raise validation_error("too_many_domains", name=name, count=len(texts), limit=MOST_DOMAINS)
    return tuple(dict.fromkeys(_domain(text, name) for text in texts))


def _domain(text: str, name: str) -> str:
    """The domain in `text`, which may also be a URL or `*.example.com`."""
    host = host_of(text if "://" in text else f"//{text}").removeprefix("*.").removeprefix("www.")
    if not host or any(character.isspace() for character in host) or "*" in host:
        raise validation_error("domain", name=name, value=repr(text)[:60])
    return host


def _country(value: object) -> str | None:
    if value is None:
        return None
    text = value.strip().lower() if isinstance(value, str) else ""
    letters = text.replace(" ", "").replace("-", "").replace("'", "")
    if not (letters.isascii() and letters.isalpha()):
        raise validation_error("country", value=repr(value)[:60])
    return text


def _is_within(host: str, domains: Iterable[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


MOST_DEPTH = 5
MOST_BREADTH = 500
MOST_PAGES = 10_000
_MOST_PATTERNS = 100
_LONGEST_PATTERN = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class CrawlOptions:
    """Limits of a crawl or map, and which pages it returns."""

    max_depth: int = 1
    """Links to follow from the first page, 1 to 5."""
    max_breadth: int = 20
    """Links to follow per page, 1 to 500."""
    limit: int = 50
    """Pages to read, or addresses to list, in all."""
    select_paths: tuple[str, ...] = ()
    """Regular expressions; only pages whose path matches one."""
    exclude_paths: tuple[str, ...] = ()
    select_domains: tuple[str, ...] = ()
    """Regular expressions; only pages whose host matches one."""
    exclude_domains: tuple[str, ...] = ()
    allow_external: bool | None = None
    """Whether to follow links to other sites; None is the provider's default, which for our own crawler is no."""
    timeout: float | None = None
    """Time limit in seconds; after it, the pages read so far are returned."""
    extract_depth: Literal["basic", "advanced"] = "basic"
    format: PageFormat = "markdown"
    instructions: str | None = None
    """What to look for, in natural language; Tavily only."""
    categories: tuple[str, ...] = ()
    """Tavily only."""
    chunks_per_source: int | None = None
    """Only with `instructions`."""


CRAWL_DEFAULTS = CrawlOptions()


@dataclass(frozen=True, kw_only=True, slots=True)
class CrawlResults:
    """The pages of a site, in crawl order."""

    base_url: str
    results: tuple[ExtractedPage, ...]
    failed_results: tuple[FailedPage, ...] = ()
    provider: str = ""
    credits: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MapResults:
    """The addresses of a site's pages, in the order found."""

    base_url: str
    results: tuple[str, ...]
    failed_results: tuple[FailedPage, ...] = ()
    provider: str = ""
    credits: float | None = None


def check_crawl_options(options: CrawlOptions) -> CrawlOptions:
    """`options`, checked.

    Raises:
        TavilyAPIError: a value is not allowed; VALIDATION_ERROR.
    """
    check_instance(options, CrawlOptions, "options")
    for name, limit in (("max_depth", MOST_DEPTH), ("max_breadth", MOST_BREADTH), ("limit", MOST_PAGES)):
        value: Any = getattr(options, name)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= limit:
            raise validation_error("crawl_number", name=name, value=repr(value)[:60], limit=limit)
    seconds: Any = options.timeout
    if seconds is not None and (not isinstance(seconds, int | float) or not 0 < seconds < 86_400):
        raise validation_error("crawl_seconds", value=repr(seconds)[:60])
    check_choice(options.extract_depth, "extract_depth", ("basic", "advanced"))
    check_choice(options.format, "format", ("markdown", "text"))
    patterns = {name: _patterns(getattr(options, name), name) for name in _PATTERNS}
    return replace(options, **patterns)


_PATTERNS = ("select_paths", "exclude_paths", "select_domains", "exclude_domains")


def crawl_start(url: str, *, allowed_hosts: Iterable[str] = frozenset(), any_port: bool = False) -> str:
    """The start address of a crawl, normalized; `https://` may be omitted.

    Raises:
        TavilyAPIError: it is not an address, or must not be fetched; VALIDATION_ERROR.
    """
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise validation_error("crawl_start", url=repr(url)[:200], why=reason("url_type"))
    text = url.strip()
    address = text if "://" in text else f"https://{text}"
    try:
        return check_url(address, allowed_hosts=allowed_hosts, any_port=any_port)
    except FetchRefused as error:
        raise validation_error("crawl_start", url=repr(text)[:200], why=error.reason) from error


def refuse_crawl_options(options: CrawlOptions, names: Sequence[str], *, provider: str) -> None:
    """Raise if one of the options `names` is set, which the provider does not support.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming the option and its value.
    """
    check_instance(options, CrawlOptions, "options")
    for name in names:
        if value := getattr(options, name):
            able = ", ".join(providers_that_can("all_crawl_options"))
            raise validation_error(
                "crawl_option_unsupported", provider=provider, name=name, value=repr(value)[:60], instead=able
            )


def matches_any(patterns: Sequence[str], text: str) -> bool:
    """Whether one of the checked `patterns` matches somewhere in `text`."""
    return any(_compiled(pattern).isinstance_python(text) for pattern in patterns)


def _patterns(given: Sequence[str], name: str) -> tuple[str, ...]:
    texts = check_texts(given, name)
    if len(texts) > _MOST_PATTERNS:
        raise validation_error("too_many_patterns", name=name, count=len(texts), limit=_MOST_PATTERNS)
    for text in texts:
        try:
            if len(text) > _LONGEST_PATTERN:
                raise ValueError(f"more than {_LONGEST_PATTERN} characters")
            _compiled(text)
        except Exception as error:  # pydantic_core's SchemaError
            why = str(error).strip().splitlines()[-1].strip()[:200]
            raise validation_error("pattern", name=name, value=repr(text)[:60], why=why) from error
    return texts


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> SchemaValidator:
    """`pattern` on the Rust regex engine in pydantic-core, which matches in linear time."""
    from pydantic_core import SchemaValidator, core_schema

    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


LONGEST_QUERY = 1000
MOST_RESULTS = 20
MOST_URLS = 20
_SHOWN = 60  # characters of a refused value shown in a message

_Choice = TypeVar("_Choice", bound=str)
_Object = TypeVar("_Object")


def check_query(query: str) -> str:
    """`query`, unchanged; raises unless it has 1 to 1,000 characters and is not blank.

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    given = cast("Any", query)  # a model may send anything
    if not isinstance(given, str):
        raise validation_error("query_type", value=_shown(given))
    if not given.strip():
        raise validation_error("query_empty", value=_shown(given), limit=LONGEST_QUERY)
    if len(given) > LONGEST_QUERY:
        raise validation_error("query_long", value=_shown(given), length=len(given), limit=LONGEST_QUERY)
    return given


def check_search_depth(depth: str, *, quick: bool = False) -> SearchDepth:
    """`depth`; raises unless it is "basic" or "advanced", or with `quick` "fast" or "ultra-fast".

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    allowed: tuple[SearchDepth, ...] = ("basic", "advanced", "fast", "ultra-fast")
    return check_choice(depth, "search_depth", allowed if quick else allowed[:2])


def check_max_results(max_results: int) -> int:
    """`max_results`; raises unless it is an integer from 1 to 20.

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    if not _is_integer(max_results) or not 1 <= max_results <= MOST_RESULTS:
        value = _shown(max_results)
        raise validation_error("integer_between", name="max_results", value=value, low=1, high=MOST_RESULTS)
    return max_results


def check_max_tokens(max_tokens: int | None) -> int | None:
    """`max_tokens`; raises unless it is None or a positive integer.

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    if max_tokens is not None and (not _is_integer(max_tokens) or max_tokens < 1):
        raise validation_error("integer_from", name="max_tokens", value=_shown(max_tokens), low=1)
    return max_tokens


def check_offset(offset: int) -> int:
    """`offset`; raises unless it is a non-negative integer.

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    if not _is_integer(offset) or offset < 0:
        raise validation_error("integer_from", name="offset", value=_shown(offset), low=0)
    return offset


def check_choice(value: str, name: str, allowed: Sequence[_Choice]) -> _Choice:
    """`value`; raises unless it is one of `allowed`.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming `name`.
    """
    for choice in allowed:
        if value == choice:
            return choice
    words = ", ".join(f'"{choice}"' for choice in allowed)
    raise validation_error("choice", name=name, value=_shown(value), allowed=words)


def check_instance(value: object, kind: type[_Object], name: str) -> _Object:
    """`value`; raises unless it is a `kind`.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming `name`.
    """
    if not isinstance(value, kind):
        raise validation_error("object", name=name, value=_shown(value), kind=kind.__name__)
    return value


def check_positive(value: float, name: str) -> float:
    """`value`; raises unless it is a number above 0.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming `name`.
    """
    given = cast("object", value)  # a caller may pass anything
    if not isinstance(given, int | float) or isinstance(given, bool) or not given > 0:
        raise validation_error("positive", name=name, value=_shown(given))
    return value


def check_texts(values: Iterable[str] | None, name: str) -> tuple[str, ...]:
    """`values` as a tuple without duplicates; a string counts as a list of one, None as an empty list.

    Raises:
        TavilyAPIError: an item is not a non-blank string; VALIDATION_ERROR naming `name`.
    """
    if values is None:
        return ()
    given = listed(values)
    if given is None or not all(isinstance(value, str) and value.strip() for value in given):
        raise validation_error("texts", name=name, value=_shown(values))
    return tuple(dict.fromkeys(value.strip() for value in given))


@dataclass(frozen=True, slots=True)
class CheckedUrls:
    """Valid and invalid URLs, each without duplicates and in the order given."""

    valid: tuple[str, ...]
    failed: tuple[FailedPage, ...]
    asked: tuple[str, ...] = ()
    """All URLs, in the order given."""

    def all_failed(self, more: Iterable[FailedPage]) -> tuple[FailedPage, ...]:
        """`failed` and `more`, in the order the URLs were given."""
        places = {url: place for place, url in enumerate(self.asked)}
        return tuple(sorted((*self.failed, *more), key=lambda page: places.get(page.url, len(places))))


def check_urls(
    urls: Sequence[str],
    *,
    allowed_hosts: Iterable[str] = frozenset(),
    any_port: bool = False,
    at_hand: Container[str] = frozenset(),
) -> CheckedUrls:
    """`urls` divided into valid ones, at most 20, and invalid ones with the reason.

    Two spellings of an address count once. `http://` is accepted with a warning in the log.

    Args:
        urls: The URLs; a string counts as a list of one.
        allowed_hosts: Private hosts to allow, as for `check_url`.
        any_port: Whether to allow other ports than 80 and 443.
        at_hand: URLs of pages that are not fetched, and therefore not checked.

    Raises:
        TavilyAPIError: `urls` is empty; VALIDATION_ERROR.
    """
    given = listed(urls)
    if not given:
        raise validation_error("urls_empty", value=_shown(urls), limit=MOST_URLS)
    parse = partial(parse_url, allowed_hosts=allowed_hosts, any_port=any_port)
    valid: dict[str, str] = {}
    surplus: set[str] = set()
    failed: dict[str, str] = {}
    for url in given:
        text = _text_of(url)
        try:
            spelling = text if text in at_hand else parse(text).canonical if isinstance(url, str) else None
        except FetchRefused as refused:
            failed.setdefault(text, refused.reason)
            continue
        if spelling is None:
            failed.setdefault(text, reason("url_type"))
        elif spelling in valid or spelling in surplus:
            continue
        elif len(valid) < MOST_URLS:
            valid[spelling] = text
        else:
            surplus.add(spelling)
            failed.setdefault(text, reason("url_surplus", limit=MOST_URLS))
    plain = sum(spelling.startswith("http://") for spelling in valid)
    if plain:
        logger.warning(
            "%d of %d addresses use http://, which others can read and change; prefer https://", plain, len(valid)
        )
    return CheckedUrls(
        valid=tuple(valid.values()),
        failed=tuple(FailedPage(url=url, error=why) for url, why in failed.items()),
        asked=tuple(dict.fromkeys(map(_text_of, given))),
    )


def _text_of(url: object) -> str:
    return url.strip() if isinstance(url, str) else _shown(url)


def listed(values: object) -> list[Any] | None:
    """`values` as a list, a string as a list of one; None if it is neither."""
    if isinstance(values, str):
        return [values]
    if isinstance(values, Iterable) and not isinstance(values, bytes | dict):
        return list(cast("Iterable[Any]", values))
    return None


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    whole = repr(value)
    return whole if len(whole) <= _SHOWN else whole[: _SHOWN - 1] + "…"
