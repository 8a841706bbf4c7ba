"""Results of searches, extractions and contexts, the same for every provider."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchHit:
    """A page, or a passage of one, found by a search."""

    title: str
    url: str
    content: str
    """A summary of the page, or the passage itself."""
    score: float
    """Relevance, from 0 to 1."""
    published_date: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResults:
    """The hits of one query, best first."""

    query: str
    """The query as given, even if a shortened one was sent."""
    results: tuple[SearchHit, ...]
    answer: str | None = None
    """A summary by the provider, if requested."""
    provider: str = ""
    cached: bool = False
    """Whether this came from the cache."""
    credits: float | None = None
    """The cost in credits; None if the provider does not say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedPage:
    """The text of one page."""

    url: str
    raw_content: str
    title: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedPage:
    """A page that could not be read, and why."""

    url: str
    error: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractResults:
    """The pages that could be read and those that could not, both in the order requested."""

    results: tuple[ExtractedPage, ...]
    failed_results: tuple[FailedPage, ...] = ()
    provider: str = ""
    cached: bool = False
    credits: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchContext:
    """Passages about a query, packed into a token budget, ready for a prompt."""

    query: str
    text: str
    sources: tuple[str, ...]
    """The addresses of the passages, in order, without duplicates."""
    tokens: int
    """Estimated tokens of `text`."""
    provider: str = ""
    cached: bool = False
    credits: float | None = None


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
