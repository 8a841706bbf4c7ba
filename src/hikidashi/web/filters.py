"""Filters of a search and options of an extraction, which providers support to different degrees.

A provider applies every option it is given, or refuses it by name (`refuse_unsupported`); none is ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, TypedDict, Unpack, cast, get_args

from ..providers import providers_that_can
from .messages import validation_error
from .pages.address import host_of
from .validate import check_choice, check_instance, check_query, check_texts

__all__ = [
    "EXTRACT_DEFAULTS",
    "MOST_DOMAINS",
    "NO_FILTERS",
    "ExtractOptions",
    "FilterArguments",
    "PageFormat",
    "SearchFilters",
    "TimeRange",
    "Topic",
    "check_extract_options",
    "check_filters",
    "refuse_unsupported",
]

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
