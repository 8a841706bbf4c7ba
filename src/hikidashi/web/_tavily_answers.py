"""Tavily's answers, read with care: a field that is missing, null or of another type never stops a search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

from ..errors import FetchRefused
from ._messages import say
from ._tavily_errors import unexpected_shape
from .address import check_url
from .reasons import Language, reason
from .results import ExtractedPage, FailedPage, SearchHit

__all__ = ["read_answer", "read_credits", "read_hits", "read_pages"]


def read_hits(answer: dict[str, Any], *, limit: int, language: Language) -> tuple[SearchHit, ...]:
    """The first `limit` hits in the answer to a search.

    Raises:
        TavilyAPIError: the results are no list.
    """
    hits: list[SearchHit] = []
    for item in _items(answer, "results", language)[:limit]:
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
    """The summary in the answer to a search, if there is one."""
    return _text(answer.get("answer")) or None


def read_credits(answer: dict[str, Any]) -> float | None:
    """What the API says the request cost; None where it does not."""
    usage: Any = answer.get("usage")
    cost = _number(cast("dict[str, Any]", usage).get("credits")) if isinstance(usage, dict) else None
    return cost if cost is not None and cost >= 0 else None


def read_pages(
    answer: dict[str, Any], asked: Sequence[str], language: Language
) -> tuple[dict[str, ExtractedPage], tuple[FailedPage, ...]]:
    """The pages that an extraction gave, by the address that was asked for, and those it did not give.

    The API may spell an address differently, or name the place it was sent on to.

    Raises:
        TavilyAPIError: the results are no list.
    """
    pages: dict[str, ExtractedPage] = {}
    failed: list[FailedPage] = []
    by_spelling = {_spelling(url): url for url in asked}
    open_ = dict(by_spelling)
    strangers: list[dict[str, Any]] = []
    for item in _items(answer, "results", language):
        spelling = _spelling(_text(item.get("url")))
        if spelling not in by_spelling:
            strangers.append(item)
        elif url := open_.pop(spelling, None):
            _keep(item, url, pages, failed, language)
    for item in _items(answer, "failed_results", language):
        url = open_.pop(_spelling(_text(item.get("url"))), None)
        if url is not None:
            failed.append(FailedPage(url=url, error=_text(item.get("error")) or say("page_failed", language)))
    if len(strangers) == len(open_) == 1:  # the one that is left was sent on
        _keep(strangers.pop(), open_.popitem()[1], pages, failed, language)
    failed.extend(FailedPage(url=url, error=say("page_unanswered", language)) for url in open_.values())
    return pages, tuple(failed)


def _keep(
    item: dict[str, Any],
    url: str,
    pages: dict[str, ExtractedPage],
    failed: list[FailedPage],
    language: Language,
) -> None:
    content = _text(item.get("raw_content"))
    if content.strip():
        pages[url] = ExtractedPage(url=url, raw_content=content, title=_text(item.get("title")) or None)
    else:
        failed.append(FailedPage(url=url, error=reason("empty", language)))


def _items(answer: dict[str, Any], name: str, language: Language) -> list[dict[str, Any]]:
    items: Any = answer.get(name)
    if items is None:
        return []
    if not isinstance(items, list):
        raise unexpected_shape(f"`{name}` is {type(items).__name__}", language, 200)
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
    """What two spellings of one address share."""
    try:
        return check_url(url).rstrip("/")
    except FetchRefused:  # none that we asked for
        return url
