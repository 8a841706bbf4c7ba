"""Which pages a search may find, and how much of a page an extraction gives: the options that providers differ in.

A provider carries out every option it is given, or refuses it by name (`refuse_unsupported`); none is ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, TypedDict, Unpack, cast, get_args

from ..errors import ErrorType, TavilyAPIError
from .pages.address import host_of
from .validate import check_choice, check_query, check_texts
from .wording.said import Language, said

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

_SAYINGS: dict[str, tuple[str, str]] = {
    "unsupported": (
        "{provider} は {name} に対応していません（受け取った値: {value}）。{name} を省くか、"
        "対応しているプロバイダー（{instead}）を指定してください。",
        "{provider} cannot do `{name}` ({value}). Leave `{name}` out, or choose a provider that can: {instead}.",
    ),
    "date": (
        "{name} が不正です（受け取った値: {value}）。YYYY-MM-DD の形式で指定してください。",
        "`{name}` is {value}. It must be a date such as 2026-11-16.",
    ),
    "order": (
        "start_date {start} が end_date {end} より後です。入れ替えてください。",
        "`start_date` {start} is after `end_date` {end}. Swap them.",
    ),
    "both": (
        "time_range と start_date・end_date は同時に指定できません。どちらか一方にしてください。",
        "`time_range` cannot go with `start_date` or `end_date`. Give one or the other.",
    ),
    "domain": (
        "{name} が不正です（受け取った値: {value}）。example.com のようなドメイン名を指定してください。",
        "`{name}` has {value}. Give domain names such as example.com.",
    ),
    "domains": (
        "{name} は{limit}件までです（受け取った件数: {count}）。",
        "`{name}` has {count} domains. It takes at most {limit}.",
    ),
    "country": (
        'country が不正です（受け取った値: {value}）。"japan" のような英語の国名を指定してください。',
        '`country` is {value}. It must be the English name of a country, such as "japan".',
    ),
    "chunks": (
        "chunks_per_source が不正です（受け取った値: {value}）。1以上{limit}以下の整数を、query とともに"
        "指定してください。",
        "`chunks_per_source` is {value}. It must be an integer from 1 to {limit}, given together with `query`.",
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchFilters:
    """Which pages a search may find; what is not given restricts nothing."""

    topic: Topic | None = None
    time_range: TimeRange | None = None
    """Only pages of the last day, week, month or year."""
    start_date: str | None = None
    """Only pages of this day or later, as YYYY-MM-DD."""
    end_date: str | None = None
    """Only pages of this day or earlier."""
    include_domains: tuple[str, ...] = ()
    """Only pages of these domains and their subdomains."""
    exclude_domains: tuple[str, ...] = ()
    country: str | None = None
    """Pages of this country first; its English name in lower case."""

    def given(self) -> dict[str, Any]:
        """The filters that restrict something, by name."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, (), "general")}

    def allows_host(self, url: str) -> bool:
        """Whether the domains that are included and excluded let `url` through."""
        host = host_of(url)
        wanted = not self.include_domains or _is_within(host, self.include_domains)
        return wanted and not _is_within(host, self.exclude_domains)

    def days(self, today: date | None = None) -> tuple[str | None, str | None]:
        """The first and the last day that pages may be of, as YYYY-MM-DD; None is open."""
        if self.time_range is None:
            return self.start_date, self.end_date
        first = (today or datetime.now(UTC).date()) - timedelta(days=_DAYS[self.time_range])
        return first.isoformat(), None


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractOptions:
    """How much of a page is extracted, and in which form."""

    depth: Literal["basic", "advanced"] = "basic"
    """"advanced" also reads tables and embedded content, where the provider can."""
    format: PageFormat = "markdown"
    query: str | None = None
    """Only the passages that matter for this question."""
    chunks_per_source: int | None = None
    """How many passages of each page, 1 to 5; needs `query`."""


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


def check_filters(*, language: Language = "ja", **given: Unpack[FilterArguments]) -> SearchFilters:
    """The filters that are given, each checked; `None` is a filter that is not given.

    Raises:
        TavilyAPIError: a value is not allowed, or two contradict each other; VALIDATION_ERROR.
    """
    topic, time_range = given.get("topic"), given.get("time_range")
    if time_range is not None:
        time_range = _SHORT_RANGES.get(time_range, time_range)
        time_range = check_choice(time_range, "time_range", get_args(TimeRange), language=language)
    start = _day(given.get("start_date"), "start_date", language)
    end = _day(given.get("end_date"), "end_date", language)
    if time_range is not None and (start or end):
        raise _refused("both", language)
    if start and end and start > end:
        raise _refused("order", language, start=start, end=end)
    return SearchFilters(
        topic=None if topic is None else check_choice(topic, "topic", get_args(Topic), language=language),
        time_range=time_range,
        start_date=start,
        end_date=end,
        include_domains=_domains(given.get("include_domains"), "include_domains", language),
        exclude_domains=_domains(given.get("exclude_domains"), "exclude_domains", language),
        country=_country(given.get("country"), language),
    )


def check_extract_options(options: ExtractOptions, *, language: Language = "ja") -> ExtractOptions:
    """`options`, if every value is allowed.

    Raises:
        TavilyAPIError: one is not; VALIDATION_ERROR.
    """
    check_choice(options.depth, "extract_depth", ("basic", "advanced"), language=language)
    check_choice(options.format, "format", get_args(PageFormat), language=language)
    query = options.query or None
    if query is not None:
        check_query(query, language=language)
    chunks = cast("Any", options.chunks_per_source)
    if chunks is not None:
        valid = isinstance(chunks, int) and not isinstance(chunks, bool) and 1 <= chunks <= MOST_CHUNKS
        if not valid or query is None:
            raise _refused("chunks", language, value=repr(chunks), limit=MOST_CHUNKS)
    return replace(options, query=query)


def refuse_unsupported(
    filters: SearchFilters, supported: Collection[str], *, provider: str, instead: str, language: Language
) -> None:
    """Raise if a filter is given that the provider cannot carry out.

    Raises:
        TavilyAPIError: one is, named with its value and the providers that can; VALIDATION_ERROR.
    """
    for name, value in filters.given().items():
        if name not in supported:
            raise _refused("unsupported", language, provider=provider, name=name, value=repr(value), instead=instead)


def _day(value: object, name: str, language: Language) -> str | None:
    if value is None:
        return None
    try:
        return date.fromisoformat(value).isoformat() if isinstance(value, str) and len(value) == 10 else _not_a_day()
    except ValueError:
        raise _refused("date", language, name=name, value=repr(value)[:60]) from None


def _not_a_day() -> str:
    raise ValueError


def _domains(given: Iterable[str] | None, name: str, language: Language) -> tuple[str, ...]:
    texts = check_texts(given, name, language=language)
    if len(texts) > MOST_DOMAINS:
        raise _refused("domains", language, name=name, count=len(texts), limit=MOST_DOMAINS)
    return tuple(dict.fromkeys(_domain(text, name, language) for text in texts))


def _domain(text: str, name: str, language: Language) -> str:
    """The domain that `text` names: people also give addresses, paths and `*.example.com`."""
    host = host_of(text if "://" in text else f"//{text}").removeprefix("*.").removeprefix("www.")
    if not host or any(character.isspace() for character in host) or "*" in host:
        raise _refused("domain", language, name=name, value=repr(text)[:60])
    return host


def _country(value: object, language: Language) -> str | None:
    if value is None:
        return None
    text = value.strip().lower() if isinstance(value, str) else ""
    if not text or not text.replace(" ", "").replace("-", "").replace("'", "").isalpha():
        raise _refused("country", language, value=repr(value)[:60])
    return text


def _is_within(host: str, domains: Iterable[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _refused(key: str, language: Language, **values: object) -> TavilyAPIError:
    return TavilyAPIError(said(*_SAYINGS[key], language, **values), ErrorType.VALIDATION_ERROR)
