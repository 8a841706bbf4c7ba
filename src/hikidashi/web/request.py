"""What is asked of a provider, as frozen values: a search, its filters, an extraction, a crawl.

Everything is checked once, where a request comes in: `SearchRequest` checks itself, `SearchProvider` the options of its
other methods. A filter or option is applied by the provider, or refused by name; none is ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeGuard, TypeVar, Unpack, get_args

from ..errors import FetchRefused
from ..providers import providers_that_can
from .messages import reason, validation_error
from .pages.address import check_url, host_of, parse_url
from .results import FailedPage

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

logger = logging.getLogger("hikidashi")

SearchDepth = Literal["basic", "advanced", "fast", "ultra-fast"]
""""basic" gives summaries, "advanced" the relevant passages; the other two give summaries faster, if supported."""
AnswerKind = bool | Literal["basic", "advanced"]
"""Whether to include a short answer; Tavily writes it in two lengths, "basic" if True."""
Topic = Literal["general", "news", "finance"]
TimeRange = Literal["day", "week", "month", "year"]
PageFormat = Literal["markdown", "text"]

LONGEST_QUERY = 1000
MOST_RESULTS = 20
MOST_URLS = 20
MOST_DOMAINS = 300
MOST_BREADTH = 500
_MOST_CHUNKS = 5
_MOST_DEPTH = 5
_MOST_PAGES = 10_000
_MOST_PATTERNS = 100
_LONGEST_PATTERN = 500
_SHOWN = 60  # characters of a refused value shown in a message

_DAYS: dict[TimeRange, int] = {"day": 1, "week": 7, "month": 31, "year": 366}
_SHORT_RANGES: dict[str, TimeRange] = {"d": "day", "w": "week", "m": "month", "y": "year"}

_Choice = TypeVar("_Choice", bound=str)
_Object = TypeVar("_Object")


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


class FilterArguments(TypedDict, total=False):
    """The filters as keyword arguments, before they are checked."""

    topic: str | None
    time_range: str | None
    start_date: str | None
    end_date: str | None
    include_domains: Sequence[str] | None
    exclude_domains: Sequence[str] | None
    country: str | None


class SearchOptions(FilterArguments, total=False):
    """The parts of a `SearchRequest` besides its query, as keyword arguments."""

    search_depth: SearchDepth
    max_results: int
    include_answer: AnswerKind
    filters: SearchFilters | None


NO_FILTERS = SearchFilters()


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search, checked when it is made: a provider takes it as it is.

    Raises:
        TavilyAPIError: a value is not allowed, or two contradict each other; VALIDATION_ERROR.
    """

    query: str
    """1 to 1,000 characters, not only blanks."""
    _: KW_ONLY
    search_depth: SearchDepth = "basic"
    max_results: int = 5
    """1 to 20."""
    include_answer: AnswerKind = False
    filters: SearchFilters = NO_FILTERS

    def __post_init__(self) -> None:
        _check_query(self.query)
        check_choice(self.search_depth, "search_depth", get_args(SearchDepth))
        _check_integer(self.max_results, "max_results", 1, MOST_RESULTS)
        checked = check_filters(_check_instance(self.filters, SearchFilters, "filters"))
        object.__setattr__(self, "filters", checked)

    @classmethod
    def of(cls, query: str, **options: Unpack[SearchOptions]) -> SearchRequest:
        """The request of a query and options, where a filter by name goes before the same one in `filters`."""
        given: dict[str, Any] = dict(options)
        names = FilterArguments.__annotations__
        named = {name: value for name in names if (value := given.pop(name, None)) is not None}
        filters = _check_instance(given.pop("filters", None) or NO_FILTERS, SearchFilters, "filters")
        return cls(query, filters=replace(filters, **named) if named else filters, **given)


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


EXTRACT_DEFAULTS = ExtractOptions()
CRAWL_DEFAULTS = CrawlOptions()


def check_filters(filters: SearchFilters) -> SearchFilters:
    """`filters`, checked: a domain may be given as a URL, and a time range by its first letter.

    Raises:
        TavilyAPIError: a value is not allowed, or two contradict each other; VALIDATION_ERROR.
    """
    if filters == NO_FILTERS:
        return filters
    time_range = filters.time_range
    if time_range is not None:
        time_range = check_choice(_SHORT_RANGES.get(time_range, time_range), "time_range", get_args(TimeRange))
    start, end = _day(filters.start_date, "start_date"), _day(filters.end_date, "end_date")
    if time_range is not None and (start or end):
        raise validation_error("dates_and_range")
    if start and end and start > end:
        raise validation_error("date_order", start=start, end=end)
    return SearchFilters(
        topic=None if filters.topic is None else check_choice(filters.topic, "topic", get_args(Topic)),
        time_range=time_range,
        start_date=start,
        end_date=end,
        include_domains=_domains(filters.include_domains, "include_domains"),
        exclude_domains=_domains(filters.exclude_domains, "exclude_domains"),
        country=_country(filters.country),
    )


def check_extract_options(options: ExtractOptions) -> ExtractOptions:
    """`options`, checked.

    Raises:
        TavilyAPIError: a value is not allowed; VALIDATION_ERROR.
    """
    _check_instance(options, ExtractOptions, "options")
    check_choice(options.depth, "extract_depth", ("basic", "advanced"))
    check_choice(options.format, "format", get_args(PageFormat))
    query = options.query or None
    if query is not None:
        _check_query(query)
    chunks = options.chunks_per_source
    if chunks is not None and (query is None or not _is_integer(chunks) or not 1 <= chunks <= _MOST_CHUNKS):
        raise validation_error("chunks", value=repr(chunks), limit=_MOST_CHUNKS)
    return replace(options, query=query)


def check_crawl_options(options: CrawlOptions) -> CrawlOptions:
    """`options`, checked.

    Raises:
        TavilyAPIError: a value is not allowed; VALIDATION_ERROR.
    """
    _check_instance(options, CrawlOptions, "options")
    for name, limit in (("max_depth", _MOST_DEPTH), ("max_breadth", MOST_BREADTH), ("limit", _MOST_PAGES)):
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


def refuse_filters(names: Iterable[str], filters: SearchFilters, *, provider: str) -> None:
    """Raise if one of the filters `names` is set, which the provider does not support.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming the filter, its value and the providers that support all.
    """
    given = filters.given()
    for name in names:
        if name in given:
            able = ", ".join(providers_that_can("all_filters"))
            value = repr(given[name])
            raise validation_error("filter_unsupported", provider=provider, name=name, value=value, instead=able)


def refuse_crawl_options(options: CrawlOptions, names: Sequence[str], *, provider: str) -> None:
    """Raise if one of the options `names` is set, which the provider does not support.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming the option and its value.
    """
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


def _day(value: object, name: str) -> str | None:
    if value is None:
        return None
    try:
        if isinstance(value, str) and len(value) == 10:  # `fromisoformat` takes 20261119 too
            return date.fromisoformat(value).isoformat()
    except ValueError:
        pass
    raise validation_error("date", name=name, value=repr(value)[:60])


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


def check_max_tokens(max_tokens: int | None) -> int | None:
    """`max_tokens`; raises unless it is None or a positive integer.

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    return None if max_tokens is None else _check_integer(max_tokens, "max_tokens", 1)


def check_offset(offset: int) -> int:
    """`offset`; raises unless it is a non-negative integer.

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    return _check_integer(offset, "offset", 0)


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


def check_positive(value: float, name: str) -> float:
    """`value`; raises unless it is a number above 0.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming `name`.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise validation_error("positive", name=name, value=_shown(value))
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
    return list(values) if _is_iterable(values) else None


def _is_iterable(values: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(values, Iterable) and not isinstance(values, bytes | dict)


def _check_query(query: object) -> None:
    """Raise unless `query`, in which a model may send anything, has 1 to 1,000 characters and is not blank."""
    if not isinstance(query, str):
        raise validation_error("query_type", value=_shown(query))
    if not query.strip():
        raise validation_error("query_empty", value=_shown(query), limit=LONGEST_QUERY)
    if len(query) > LONGEST_QUERY:
        raise validation_error("query_long", value=_shown(query), length=len(query), limit=LONGEST_QUERY)


def _check_integer(value: int, name: str, low: int, high: int | None = None) -> int:
    if not _is_integer(value) or value < low or (high is not None and value > high):
        key = "integer_from" if high is None else "integer_between"
        raise validation_error(key, name=name, value=_shown(value), low=low, high=high)
    return value


def _check_instance(value: object, kind: type[_Object], name: str) -> _Object:
    if not isinstance(value, kind):
        raise validation_error("object", name=name, value=_shown(value), kind=kind.__name__)
    return value


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    whole = repr(value)
    return whole if len(whole) <= _SHOWN else whole[: _SHOWN - 1] + "…"
