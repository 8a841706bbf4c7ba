"""Maps exceptions of `tavily-python` and httpx to `TavilyAPIError`.

The library's exceptions have neither status nor headers, so both are read from the HTTP response.
"""

from __future__ import annotations

import re
from typing import Any, cast

from ....errors import ErrorType, MissingExtra, TavilyAPIError
from ...messages import api_error, message, wait_message
from ...redact import redacted
from ..httpx_pool import LARGEST_ANSWER, AnswerTooLarge
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
