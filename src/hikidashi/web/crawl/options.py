"""What a crawl or a map of a site is asked for, and what it gives; checked and worded alike for every provider."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ...errors import ErrorType, FetchRefused, TavilyAPIError
from ..filters import PageFormat
from ..pages.address import check_url
from ..results import ExtractedPage, FailedPage
from ..validate import check_choice, check_texts
from ..wording.said import Language, said

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

__all__ = [
    "CRAWL_DEFAULTS",
    "MOST_BREADTH",
    "MOST_DEPTH",
    "MOST_PAGES",
    "CrawlOptions",
    "CrawlResults",
    "MapResults",
    "check_crawl_options",
    "crawl_start",
    "matches_any",
    "refuse_crawl_options",
]

MOST_DEPTH = 5
MOST_BREADTH = 500
MOST_PAGES = 10_000
_MOST_PATTERNS = 100
_LONGEST_PATTERN = 500

_SAYINGS: dict[str, tuple[str, str]] = {
    "number": (
        "{name} が不正です（受け取った値: {value}）。1以上{limit:,}以下の整数を指定してください。",
        "`{name}` is {value}. It must be an integer from 1 to {limit:,}.",
    ),
    "seconds": (
        "timeout が不正です（受け取った値: {value}）。正の秒数を指定してください。",
        "`timeout` is {value}. It must be a positive number of seconds.",
    ),
    "pattern": (
        "{name} の正規表現 {value} が不正です: {why}",
        "`{name}` has {value}, which is no regular expression: {why}",
    ),
    "patterns": (
        "{name} は{limit}件までです（受け取った件数: {count}）。",
        "`{name}` has {count} patterns. It takes at most {limit}.",
    ),
    "start": ("url が不正です（受け取った値: {url}）: {why}", "`url` is {url}: {why}."),
    "unsupported": (
        "{provider} は {name} に対応していません（受け取った値: {value}）。{name} を省くか、provider に tavily を"
        "指定してください。",
        "{provider} cannot do `{name}` ({value}). Leave `{name}` out, or choose a provider that can: tavily.",
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CrawlOptions:
    """How far a crawl or map goes, and which pages it may give."""

    max_depth: int = 1
    """How many links away from the first page, 1 to 5."""
    max_breadth: int = 20
    """How many links of each page are followed, 1 to 500."""
    limit: int = 50
    """How many pages are read in all, or addresses listed."""
    select_paths: tuple[str, ...] = ()
    """Regular expressions: only pages whose path one of them finds."""
    exclude_paths: tuple[str, ...] = ()
    select_domains: tuple[str, ...] = ()
    """Regular expressions: only pages whose host one of them finds."""
    exclude_domains: tuple[str, ...] = ()
    allow_external: bool | None = None
    """Whether other sites may be read, too; None is the provider's default, which for our own crawler is no."""
    timeout: float | None = None
    """Seconds in all; then it gives what it has."""
    extract_depth: Literal["basic", "advanced"] = "basic"
    format: PageFormat = "markdown"
    instructions: str | None = None
    """What to look for, in words; only Tavily can."""
    categories: tuple[str, ...] = ()
    """Only Tavily can."""
    chunks_per_source: int | None = None
    """Only with `instructions`."""


CRAWL_DEFAULTS = CrawlOptions()


@dataclass(frozen=True, kw_only=True, slots=True)
class CrawlResults:
    """The pages of a site, in the order in which they were reached."""

    base_url: str
    results: tuple[ExtractedPage, ...]
    failed_results: tuple[FailedPage, ...] = ()
    provider: str = ""
    credits: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MapResults:
    """The addresses of a site's pages, in the order in which they were found."""

    base_url: str
    results: tuple[str, ...]
    failed_results: tuple[FailedPage, ...] = ()
    provider: str = ""
    credits: float | None = None


def check_crawl_options(options: CrawlOptions, *, language: Language = "ja") -> CrawlOptions:
    """`options`, if every value is allowed.

    Raises:
        TavilyAPIError: one is not; VALIDATION_ERROR.
    """
    for name, limit in (("max_depth", MOST_DEPTH), ("max_breadth", MOST_BREADTH), ("limit", MOST_PAGES)):
        value: Any = getattr(options, name)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= limit:
            raise _refused("number", language, name=name, value=repr(value)[:60], limit=limit)
    seconds: Any = options.timeout
    if seconds is not None and (not isinstance(seconds, int | float) or not 0 < seconds < 86_400):
        raise _refused("seconds", language, value=repr(seconds)[:60])
    check_choice(options.extract_depth, "extract_depth", ("basic", "advanced"), language=language)
    check_choice(options.format, "format", ("markdown", "text"), language=language)
    patterns = {name: _patterns(getattr(options, name), name, language) for name in _PATTERNS}
    return replace(options, **patterns)


_PATTERNS = ("select_paths", "exclude_paths", "select_domains", "exclude_domains")


def crawl_start(
    url: str, *, language: Language = "ja", allowed_hosts: Iterable[str] = frozenset(), any_port: bool = False
) -> str:
    """The address at which a crawl starts, as a client sends it; `https://` may be left out.

    Raises:
        TavilyAPIError: it must not be fetched, or is no address; VALIDATION_ERROR.
    """
    text = url.strip()
    address = text if "://" in text else f"https://{text}"
    try:
        return check_url(address, allowed_hosts=allowed_hosts, any_port=any_port)
    except FetchRefused as error:
        raise _refused("start", language, url=repr(text)[:200], why=error.reason) from error


def refuse_crawl_options(options: CrawlOptions, names: Sequence[str], *, provider: str, language: Language) -> None:
    """Raise if an option is given that the provider cannot carry out.

    Raises:
        TavilyAPIError: one is, named with its value; VALIDATION_ERROR.
    """
    for name in names:
        if value := getattr(options, name):
            raise _refused("unsupported", language, provider=provider, name=name, value=repr(value)[:60])


def matches_any(patterns: Sequence[str], text: str) -> bool:
    """Whether one of `patterns`, which were checked, finds something in `text`."""
    return any(_compiled(pattern).isinstance_python(text) for pattern in patterns)


def _patterns(given: Sequence[str], name: str, language: Language) -> tuple[str, ...]:
    texts = check_texts(given, name, language=language)
    if len(texts) > _MOST_PATTERNS:
        raise _refused("patterns", language, name=name, count=len(texts), limit=_MOST_PATTERNS)
    for text in texts:
        try:
            if len(text) > _LONGEST_PATTERN:
                raise ValueError(f"more than {_LONGEST_PATTERN} characters")
            _compiled(text)
        except Exception as error:  # the engine's own, which is made of several
            why = str(error).strip().splitlines()[-1].strip()[:200]
            raise _refused("pattern", language, name=name, value=repr(text)[:60], why=why) from error
    return texts


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> SchemaValidator:
    """A pattern on the Rust engine that pydantic carries: its time grows only with the text, whatever is asked."""
    from pydantic_core import SchemaValidator, core_schema

    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


def _refused(key: str, language: Language, **values: object) -> TavilyAPIError:
    return TavilyAPIError(said(*_SAYINGS[key], language, **values), ErrorType.VALIDATION_ERROR)
