"""What a web search, an extraction and a context give back: the same values from every provider."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ExtractResults", "ExtractedPage", "FailedPage", "SearchContext", "SearchHit", "SearchResults"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchHit:
    """One page, or one passage of it, that answers a query."""

    title: str
    url: str
    content: str
    """A summary of the page, or the passage itself."""
    score: float
    """How well it answers, from 0 to 1."""
    published_date: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResults:
    """The hits of one query, best first."""

    query: str
    """The query as it was asked, also where a shorter one was sent."""
    results: tuple[SearchHit, ...]
    answer: str | None = None
    """A summary by the provider, where one was asked for."""
    provider: str = ""
    cached: bool = False
    """Whether this came from the cache rather than the provider."""
    credits: float | None = None
    """What the provider charged for it; None where it does not say."""


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
    """The pages that could be read and those that could not, each in the order asked for."""

    results: tuple[ExtractedPage, ...]
    failed_results: tuple[FailedPage, ...] = ()
    provider: str = ""
    cached: bool = False
    credits: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchContext:
    """Passages about a query, packed into a number of tokens, ready for a prompt."""

    query: str
    text: str
    sources: tuple[str, ...]
    """The address of each passage, in order, without repetition."""
    tokens: int
    """About how many tokens `text` is."""
    provider: str = ""
    cached: bool = False
    credits: float | None = None
