"""Parsing of Tavily's responses, tolerant of fields that are missing, null or of another type."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

from ....errors import FetchRefused
from ...messages import reason
from ...pages.address import check_url
from ...redact import redacted
from ...results import ExtractedPage, FailedPage, SearchHit
from ._errors import unexpected_shape

__all__ = ["read_answer", "read_credits", "read_found_pages", "read_hits", "read_pages", "read_urls"]


def read_hits(answer: dict[str, Any], *, limit: int) -> tuple[SearchHit, ...]:
    """The first `limit` hits of a search response.

    Raises:
        TavilyAPIError: `results` is not a list.
    """
    hits: list[SearchHit] = []
    for item in _items(answer, "results")[:limit]:
        url, content = _text(item.get("url")), _text(item.get("content"))
        if url or content:
            date = item.get("published_date")
            hits.append(
                SearchHit(
                    title=_text(item.get("title")) or url,
                    url=url,
                    content=content,
                    score=min(1.0, max(0.0, _number(item.get("score")) or 0.0)),
                    published_date=date if isinstance(date, str) and date else None,
                )
            )
    return tuple(hits)


def read_answer(answer: dict[str, Any]) -> str | None:
    """The summary in a search response, if any."""
    return _text(answer.get("answer")) or None


def read_credits(answer: dict[str, Any]) -> float | None:
    """The cost of the request as the API reports it, if it does."""
    usage: Any = answer.get("usage")
    cost = _number(cast("dict[str, Any]", usage).get("credits")) if isinstance(usage, dict) else None
    return cost if cost is not None and cost >= 0 else None


def read_pages(
    answer: dict[str, Any], asked: Sequence[str], *, secret: str | None = None
) -> tuple[dict[str, ExtractedPage], tuple[FailedPage, ...]]:
    """The extracted pages by requested address, and those that failed.

    The API may spell an address differently, or return the address after a redirect. `secret`, the key, is removed from
    reasons.

    Raises:
        TavilyAPIError: `results` is not a list.
    """
    pages: dict[str, ExtractedPage] = {}
    failed: list[FailedPage] = []
    read, unread = _items(answer, "results"), _items(answer, "failed_results")
    owners = _owners(read, unread, asked)
    for item, url in zip(read, owners, strict=False):
        if url is not None:
            _keep(item, url, pages, failed)
    for item, url in zip(unread, owners[len(read) :], strict=True):
        if url is not None:
            given = redacted(_text(item.get("error")), [secret])
            failed.append(FailedPage(url=url, error=given or reason("page_failed")))
    unanswered = (url for url in asked if url not in owners)
    failed.extend(FailedPage(url=url, error=reason("page_unanswered")) for url in unanswered)
    return pages, tuple(failed)


def read_found_pages(
    answer: dict[str, Any], *, secret: str | None = None
) -> tuple[tuple[ExtractedPage, ...], tuple[FailedPage, ...]]:
    """The pages of a crawl response, and those that failed; `secret`, the key, is removed from reasons.

    Raises:
        TavilyAPIError: `results` is not a list.
    """
    pages: dict[str, ExtractedPage] = {}
    failed: list[FailedPage] = []
    for item in _items(answer, "results"):
        if url := _text(item.get("url")):
            _keep(item, url, pages, failed)
    failed += [
        FailedPage(url=url, error=redacted(_text(item.get("error")), [secret]) or reason("page_failed"))
        for item in _items(answer, "failed_results")
        if (url := _text(item.get("url")))
    ]
    return tuple(pages.values()), tuple(failed)


def read_urls(answer: dict[str, Any]) -> tuple[str, ...]:
    """The addresses of a map response, without duplicates.

    Raises:
        TavilyAPIError: `results` is not a list.
    """
    items: Any = answer.get("results")
    if items is not None and not isinstance(items, list):
        raise unexpected_shape(f"`results` is {type(items).__name__}", 200)
    listed = cast("list[object]", items or [])
    return tuple(dict.fromkeys(url for url in listed if isinstance(url, str) and url))


def _owners(read: Sequence[dict[str, Any]], unread: Sequence[dict[str, Any]], asked: Sequence[str]) -> list[str | None]:
    """The requested address of each of `read` and `unread`; None if it was not requested."""
    given = [_text(item.get("url")) for item in (*read, *unread)]
    owners: list[str | None] = [None] * len(given)
    # Addresses with and without a trailing slash may be two pages, so exact matches go first.
    for spelling in (_spelling, _loose_spelling):
        open_ = {spelling(url): url for url in reversed(asked) if url not in owners}
        for place, url in enumerate(given):
            if owners[place] is None:
                owners[place] = open_.pop(spelling(url), None)
    known = {_loose_spelling(url) for url in asked}
    strangers = [place for place in range(len(read)) if _loose_spelling(given[place]) not in known]
    left = [url for url in asked if url not in owners]
    if len(strangers) == len(left) == 1:  # the remaining one was redirected
        owners[strangers[0]] = left[0]
    return owners


def _keep(
    item: dict[str, Any],
    url: str,
    pages: dict[str, ExtractedPage],
    failed: list[FailedPage],
) -> None:
    content = _text(item.get("raw_content"))
    if content.strip():
        pages[url] = ExtractedPage(url=url, raw_content=content, title=_text(item.get("title")) or None)
    else:
        failed.append(FailedPage(url=url, error=reason("empty")))


def _items(answer: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items: Any = answer.get(name)
    if items is None:
        return []
    if not isinstance(items, list):
        raise unexpected_shape(f"`{name}` is {type(items).__name__}", 200)
    return [cast("dict[str, Any]", item) for item in cast("Iterable[object]", items) if isinstance(item, dict)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None or isinstance(value, list | dict) else str(value)


def _number(value: Any) -> float | None:
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _spelling(url: str) -> str:
    """The normalized address."""
    try:
        return check_url(url, any_port=True)
    except FetchRefused:  # not one of the requested ones
        return url


def _loose_spelling(url: str) -> str:
    return _spelling(url).rstrip("/")
