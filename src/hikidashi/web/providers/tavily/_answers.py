"""Tavily's answers, read with care: a field that is missing, null or of another type never stops a search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

from ....errors import FetchRefused
from ...pages.address import check_url
from ...pages.reasons import reason
from ...redact import redacted
from ...results import ExtractedPage, FailedPage, SearchHit
from ...wording.messages import say
from ...wording.said import Language
from ._errors import unexpected_shape

__all__ = ["read_answer", "read_credits", "read_found_pages", "read_hits", "read_pages", "read_urls"]


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
    answer: dict[str, Any], asked: Sequence[str], language: Language, *, secret: str | None = None
) -> tuple[dict[str, ExtractedPage], tuple[FailedPage, ...]]:
    """The pages that an extraction gave, by the address that was asked for, and those it did not give.

    The API may spell an address differently, or name the place it was sent on to. A reason that repeats `secret`, the
    key, is told without it.

    Raises:
        TavilyAPIError: the results are no list.
    """
    pages: dict[str, ExtractedPage] = {}
    failed: list[FailedPage] = []
    read, unread = _items(answer, "results", language), _items(answer, "failed_results", language)
    owners = _owners(read, unread, asked)
    for item, url in zip(read, owners, strict=False):
        if url is not None:
            _keep(item, url, pages, failed, language)
    for item, url in zip(unread, owners[len(read) :], strict=True):
        if url is not None:
            told = redacted(_text(item.get("error")), [secret])
            failed.append(FailedPage(url=url, error=told or say("page_failed", language)))
    unanswered = (url for url in asked if url not in owners)
    failed.extend(FailedPage(url=url, error=say("page_unanswered", language)) for url in unanswered)
    return pages, tuple(failed)


def read_found_pages(
    answer: dict[str, Any], language: Language
) -> tuple[tuple[ExtractedPage, ...], tuple[FailedPage, ...]]:
    """The pages that a crawl found, and those it names as failed.

    Raises:
        TavilyAPIError: the results are no list.
    """
    pages: dict[str, ExtractedPage] = {}
    failed: list[FailedPage] = []
    for item in _items(answer, "results", language):
        if url := _text(item.get("url")):
            _keep(item, url, pages, failed, language)
    failed += [
        FailedPage(url=url, error=_text(item.get("error")) or say("page_failed", language))
        for item in _items(answer, "failed_results", language)
        if (url := _text(item.get("url")))
    ]
    return tuple(pages.values()), tuple(failed)


def read_urls(answer: dict[str, Any], language: Language) -> tuple[str, ...]:
    """The addresses that a map found, each once.

    Raises:
        TavilyAPIError: the results are no list.
    """
    items: Any = answer.get("results")
    if items is not None and not isinstance(items, list):
        raise unexpected_shape(f"`results` is {type(items).__name__}", language, 200)
    listed = cast("list[object]", items or [])
    return tuple(dict.fromkeys(url for url in listed if isinstance(url, str) and url))


def _owners(read: Sequence[dict[str, Any]], unread: Sequence[dict[str, Any]], asked: Sequence[str]) -> list[str | None]:
    """The address that was asked for, for each of `read` and `unread`; None where nobody asked for it."""
    said = [_text(item.get("url")) for item in (*read, *unread)]
    owners: list[str | None] = [None] * len(said)
    # A page with and one without a slash at its end may be two pages: exact spellings have the first choice.
    for spelling in (_spelling, _loose_spelling):
        open_ = {spelling(url): url for url in reversed(asked) if url not in owners}
        for place, url in enumerate(said):
            if owners[place] is None:
                owners[place] = open_.pop(spelling(url), None)
    known = {_loose_spelling(url) for url in asked}
    strangers = [place for place in range(len(read)) if _loose_spelling(said[place]) not in known]
    left = [url for url in asked if url not in owners]
    if len(strangers) == len(left) == 1:  # the one that is left was sent on
        owners[strangers[0]] = left[0]
    return owners


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
        return check_url(url, any_port=True)
    except FetchRefused:  # none that we asked for
        return url


def _loose_spelling(url: str) -> str:
    return _spelling(url).rstrip("/")
