"""Options and results of crawls and maps, the same for every provider."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ..errors import FetchRefused
from ..providers import providers_that_can
from .filters import PageFormat
from .messages import reason, validation_error
from .pages.address import check_url
from .results import ExtractedPage, FailedPage
from .validate import check_choice, check_instance, check_texts

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
