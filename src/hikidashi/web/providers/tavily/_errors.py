"""What `tavily-python` raises, as `TavilyAPIError`: the one table of the border.

The library keeps neither status nor headers on its exceptions, so both are read from the HTTP answer itself.
"""

from __future__ import annotations

import re
from typing import Any, cast

from ....errors import ErrorType, MissingExtra, TavilyAPIError
from ...redact import redacted
from ...wording.messages import said_wait, say
from ...wording.said import Language
from ..retry import parse_retry_after

try:
    import httpx
    from tavily import errors as tavily_errors  # pyright: ignore[reportMissingTypeStubs]
except ImportError as error:
    raise MissingExtra("tavily-python", "tavily") from error

__all__ = ["translate", "unexpected_shape"]

_TYPE_OF_STATUS = {
    400: ErrorType.VALIDATION_ERROR,
    401: ErrorType.AUTH_ERROR,
    403: ErrorType.AUTH_ERROR,
    408: ErrorType.TIMEOUT_ERROR,
    422: ErrorType.VALIDATION_ERROR,
    429: ErrorType.RATE_LIMIT_ERROR,
    # The credits of the plan are spent. The key is good, and waiting for seconds does not help: neither
    # AUTH_ERROR nor RATE_LIMIT_ERROR, which would be tried again in vain.
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
    failure: Exception, answer: httpx.Response | None, *, timeout: float, language: Language, secret: str | None
) -> TavilyAPIError:
    """The `TavilyAPIError` that `failure` is.

    Args:
        failure: What the library, or HTTP below it, raised.
        answer: The last HTTP answer of the request, if one began.
        timeout: The seconds that were allowed.
        language: That of the message.
        secret: The key, which must not appear in the message whatever a server says.
    """
    if isinstance(failure, TimeoutError | tavily_errors.TimeoutError | httpx.TimeoutException):
        return TavilyAPIError(say("TIMEOUT_ERROR", language, seconds=timeout), ErrorType.TIMEOUT_ERROR)
    if isinstance(failure, httpx.TransportError | OSError):
        reason = _clean(str(failure) or type(failure).__name__, secret)
        return TavilyAPIError(say("NETWORK_ERROR", language, reason=reason), ErrorType.NETWORK_ERROR)
    if answer is None:  # nothing was sent
        return unexpected_shape(_clean(repr(failure), secret), language)
    if answer.status_code == 200:
        return _unreadable(failure, answer, language, secret)
    return _refused(answer, language, secret)


def unexpected_shape(reason: str, language: Language, status: int | None = None) -> TavilyAPIError:
    """An API_ERROR for an answer that is JSON, but not as the API writes it."""
    return TavilyAPIError(say("shape", language, reason=reason), ErrorType.API_ERROR, status)


def _unreadable(failure: Exception, answer: httpx.Response, language: Language, secret: str | None) -> TavilyAPIError:
    # Bytes that cannot be decompressed, decoded or parsed; nesting that the parser cannot follow.
    if isinstance(failure, ValueError | RecursionError | httpx.DecodingError):
        return TavilyAPIError(say("no_json", language, status=200), ErrorType.API_ERROR, 200)
    # A list or a number, on which the library calls `.get`.
    return unexpected_shape(repr(redacted(answer.text, [secret])[:_LONGEST_SHAPE]), language, 200)


def _refused(answer: httpx.Response, language: Language, secret: str | None) -> TavilyAPIError:
    status = answer.status_code
    kind = _TYPE_OF_STATUS.get(status, ErrorType.SERVER_ERROR if status >= 500 else ErrorType.API_ERROR)
    body = _body(answer)
    retry_after = parse_retry_after(answer.headers.get("retry-after"))
    if retry_after is None:
        retry_after = _seconds_in(body)
    said = _clean(_detail(body, answer), secret)
    detail = say("detail", language, text=said) if said else ""
    wait = said_wait(retry_after, language)
    key = _MESSAGE_OF_STATUS.get(status, "redirect" if 300 <= status < 400 else kind.value)
    message = say(key, language, status=status, detail=detail, wait=wait)
    return TavilyAPIError(message, kind, status, retry_after)


def _body(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except (ValueError, RecursionError, httpx.HTTPError, httpx.StreamError):
        return None


def _detail(body: Any, answer: httpx.Response) -> str:
    """The server's own words, in any of the shapes that errors come in; empty where it has none for a reader."""
    if not isinstance(body, dict):
        plain = answer.headers.get("content-type", "").startswith("text/plain")
        return body if isinstance(body, str) else answer.text if plain else ""
    fields = cast("dict[str, Any]", body)
    for name in ("detail", "error", "message"):
        if found := _words(fields.get(name)):
            return found
    return ""


def _words(value: Any) -> str:
    match value:
        case str():
            return value
        case {"error": str(text)} | {"message": str(text)} | {"msg": str(text)}:
            return text
        case [first, *_]:  # the list of a body with wrong types; the first says enough
            return _words(first)
        case _:
            return ""


def _seconds_in(body: Any) -> float | None:
    """The wait in the answer to a caller without a key, who gets an error of another shape."""
    match body:
        case {"error": {"retry_after_seconds": int() | float() as seconds}}:
            return parse_retry_after(str(seconds))
        case _:
            return None


def _clean(text: str, secret: str | None) -> str:
    # Before and after: a key may be broken by what is not printed, and the text be cut in the middle of one.
    line = redacted(_UNPRINTABLE.sub(" ", redacted(text[:_MOST_LOOKED_AT], [secret])).strip(), [secret])
    return line if len(line) <= _LONGEST_DETAIL else line[: _LONGEST_DETAIL - 1] + "…"
