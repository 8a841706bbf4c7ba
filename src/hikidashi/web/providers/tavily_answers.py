"""What Tavily answers, as results and errors: tolerant of fields that are missing, null or of another type.

The exceptions of `tavily-python` have neither status nor headers, so both are read from the HTTP response.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ...common.json import as_list, as_object, is_list, is_object
from ...errors import ErrorType, FetchRefused, MissingExtra, TavilyAPIError
from ..messages import api_error, message, reason, wait_message
from ..pages.address import check_url
from ..redact import redacted
from ..results import ExtractedPage, FailedPage, SearchHit
from .transport import LARGEST_ANSWER, AnswerTooLarge, parse_retry_after

try:
    import httpx
    from tavily import errors as tavily_errors  # pyright: ignore[reportMissingTypeStubs]
except ImportError as error:
    raise MissingExtra("tavily-python", "tavily") from error


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
    cost = _number(as_object(answer.get("usage")).get("credits"))
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
    if items is not None and not is_list(items):
        raise unexpected_shape(f"`results` is {type(items).__name__}", 200)
    return tuple(dict.fromkeys(url for url in as_list(items) if isinstance(url, str) and url))


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
    if not is_list(items):
        raise unexpected_shape(f"`{name}` is {type(items).__name__}", 200)
    return [item for item in as_list(items) if is_object(item)]


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


_TYPE_OF_STATUS = {
    400: ErrorType.VALIDATION_ERROR,
    401: ErrorType.AUTH_ERROR,
    403: ErrorType.AUTH_ERROR,
    408: ErrorType.TIMEOUT_ERROR,
    422: ErrorType.VALIDATION_ERROR,
    429: ErrorType.RATE_LIMIT_ERROR,
    # The credits of the plan are used up: not AUTH_ERROR, since the key is valid, nor RATE_LIMIT_ERROR, which would be
    # retried in vain.
    432: ErrorType.API_ERROR,
    433: ErrorType.API_ERROR,
    502: ErrorType.SERVICE_UNAVAILABLE,
    503: ErrorType.SERVICE_UNAVAILABLE,
    504: ErrorType.SERVICE_UNAVAILABLE,
    529: ErrorType.SERVICE_UNAVAILABLE,
}
_MESSAGE_OF_STATUS = {408: "late", 432: "plan_limit", 433: "plan_limit"}
_LONGEST_DETAIL = 300
_LONGEST_SHAPE = 40
_MOST_LOOKED_AT = 10_000
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f\u2028\u2029]+")


def translate(
    failure: Exception, answer: httpx.Response | None, *, timeout: float, secret: str | None
) -> TavilyAPIError:
    """The `TavilyAPIError` for `failure`.

    Args:
        failure: The exception of the library or of httpx.
        answer: The last HTTP response, if any.
        timeout: The timeout in seconds.
        secret: The key, which is redacted from the message.
    """
    if isinstance(failure, TimeoutError | tavily_errors.TimeoutError | httpx.TimeoutException):
        return api_error("TIMEOUT_ERROR", ErrorType.TIMEOUT_ERROR, seconds=timeout)
    if isinstance(failure, httpx.TransportError | OSError):
        reason = _clean(str(failure) or type(failure).__name__, secret)
        return api_error("NETWORK_ERROR", ErrorType.NETWORK_ERROR, reason=reason)
    if isinstance(failure, AnswerTooLarge):
        return api_error("too_large", ErrorType.API_ERROR, limit=LARGEST_ANSWER // 1024**2)
    if answer is None:  # nothing was sent
        return unexpected_shape(_clean(repr(failure), secret))
    if answer.status_code == 200:
        return _unreadable(failure, answer, secret)
    return _refused(answer, secret)


def unexpected_shape(reason: str, status: int | None = None) -> TavilyAPIError:
    """An API_ERROR for a JSON response of unexpected structure."""
    return api_error("shape", ErrorType.API_ERROR, status, reason=reason)


def _unreadable(failure: Exception, answer: httpx.Response, secret: str | None) -> TavilyAPIError:
    # The body cannot be decompressed, decoded or parsed, or nests too deeply.
    if isinstance(failure, ValueError | RecursionError | httpx.DecodingError):
        return api_error("no_json", ErrorType.API_ERROR, 200, status=200)
    # Not an object, so the library failed on `.get`.
    return unexpected_shape(repr(redacted(answer.text, [secret])[:_LONGEST_SHAPE]), 200)


def _refused(answer: httpx.Response, secret: str | None) -> TavilyAPIError:
    status = answer.status_code
    kind = _TYPE_OF_STATUS.get(status, ErrorType.SERVER_ERROR if status >= 500 else ErrorType.API_ERROR)
    body = _body(answer)
    retry_after = parse_retry_after(answer.headers.get("retry-after"))
    if retry_after is None:
        retry_after = _seconds_in(body)
    text = _clean(_detail(body, answer), secret)
    detail = message("detail", text=text) if text else ""
    wait = wait_message(retry_after)
    key = _MESSAGE_OF_STATUS.get(status, "redirect" if 300 <= status < 400 else kind.value)
    return api_error(key, kind, status, retry_after, status=status, detail=detail, wait=wait)


def _body(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except (ValueError, RecursionError, httpx.HTTPError, httpx.StreamError):
        return None


def _detail(body: Any, answer: httpx.Response) -> str:
    """The server's error message, from any of the known structures; empty if there is none."""
    if not is_object(body):
        plain = answer.headers.get("content-type", "").startswith("text/plain")
        return body if isinstance(body, str) else answer.text if plain else ""
    for name in ("detail", "error", "message"):
        if found := _words(body.get(name)):
            return found
    return ""


def _words(value: Any) -> str:
    match value:
        case str():
            return value
        case {"error": str(text)} | {"message": str(text)} | {"msg": str(text)}:
            return text
        case [first, *_]:  # FastAPI's list of validation errors; the first is enough
            return _words(first)
        case _:
            return ""


def _seconds_in(body: Any) -> float | None:
    """The wait from the error for keyless callers, which has another structure."""
    match body:
        case {"error": {"retry_after_seconds": int() | float() as seconds}}:
            return parse_retry_after(str(seconds))
        case _:
            return None


def _clean(text: str, secret: str | None) -> str:
    # Twice: unprintable characters may split a key, and the text may be cut inside one.
    line = redacted(_UNPRINTABLE.sub(" ", redacted(text[:_MOST_LOOKED_AT], [secret])).strip(), [secret])
    return line if len(line) <= _LONGEST_DETAIL else line[: _LONGEST_DETAIL - 1] + "…"
