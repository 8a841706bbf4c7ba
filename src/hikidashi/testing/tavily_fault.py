"""Faults of Tavily's API, which a `TavilyServer` answers with instead of results.

TavilyServer(pages, faults=[tavily_fault.rate_limited(retry_after=0), tavily_fault.cut(), None])

The statuses and sentences are those of the real API. The values of `hikidashi.testing.fault` are taken too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..web.tavily_api import error_answer
from .fault import Cut, Fault, Hang, Malformed

__all__ = [
    "Late",
    "Raw",
    "TavilyFault",
    "bad_request",
    "cut",
    "forbidden",
    "hang",
    "keyless_limit",
    "malformed",
    "not_json",
    "out_of_credits",
    "out_of_paygo",
    "rate_limited",
    "raw",
    "server_error",
    "slow",
    "status",
    "unauthorized",
    "unavailable",
]


@dataclass(frozen=True)
class Raw:
    """An answer with this status and body, whatever the request."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Late:
    """A delay, then an answer: `then`, or the ordinary one."""

    seconds: float
    then: TavilyFault | None = None


OUT_OF_CREDITS = "This request exceeds your plan's set usage limit. Please upgrade your plan."

TavilyFault = Fault | Raw | Late
"""An answer of a `TavilyServer` other than results."""


def status(code: int, message: str, *, headers: Mapping[str, str] | None = None) -> Raw:
    """HTTP `code` with the error body the API sends."""
    answer = error_answer(code, message, headers)
    return Raw(answer.status, answer.wire(), answer.headers)


def raw(code: int, body: bytes | str = b"", *, content_type: str = "application/json") -> Raw:
    """HTTP `code` with exactly this body: 201 and 204, which the client does not know, or the page of a proxy."""
    return Raw(code, body.encode() if isinstance(body, str) else body, {"content-type": content_type})


def bad_request(message: str = "Invalid topic. Must be 'general', 'news' or 'finance'.") -> Raw:
    """HTTP 400."""
    return status(400, message)


def unauthorized() -> Raw:
    """HTTP 401: an unknown or revoked key."""
    return status(401, "Unauthorized: missing or invalid API key.")


def forbidden(message: str = "URL is not supported") -> Raw:
    """HTTP 403."""
    return status(403, message)


def rate_limited(*, retry_after: float | str | None = None) -> Raw:
    """HTTP 429, with a `retry-after` header if given: seconds, or a date as HTTP writes it."""
    waits = f"{retry_after:g}" if isinstance(retry_after, int | float) else retry_after
    message = "Your request has been blocked due to excessive requests. Please reduce rate of requests."
    return status(429, message, headers=None if waits is None else {"retry-after": waits})


def out_of_credits() -> Raw:
    """HTTP 432: the plan's credits are spent."""
    return status(432, OUT_OF_CREDITS)


def out_of_paygo() -> Raw:
    """HTTP 433: the pay-as-you-go limit is reached."""
    return status(433, "This request exceeds the pay-as-you-go limit. You can increase your limit on the dashboard.")


def keyless_limit(*, retry_after: int = 3600) -> Raw:
    """HTTP 429 in the other shape, which callers without a key get when their share is used up."""
    reason = {"code": "keyless_limit_reached", "message": "Keyless limit reached.", "window": "day"}
    body: dict[str, Any] = {"error": {**reason, "retry_after_seconds": retry_after, "next_actions": []}}
    headers = {"content-type": "application/json", "retry-after": str(retry_after)}
    return Raw(429, json.dumps(body).encode(), headers)


def server_error() -> Raw:
    """HTTP 500."""
    return status(500, "Internal Server Error")


def unavailable(*, retry_after: float | None = None) -> Raw:
    """HTTP 503 of a gateway, with an HTML body."""
    wait = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    page = b"<html><head><title>503 Service Temporarily Unavailable</title></head></html>"
    return Raw(503, page, {"content-type": "text/html", **wait})


def not_json() -> Raw:
    """Status 200 and a page of HTML, as a captive portal sends it."""
    return raw(200, "<html><body>Please log in to the network.</body></html>", content_type="text/html")


def slow(seconds: float, then: TavilyFault | None = None) -> Late:
    """No byte for `seconds`, then the fault `then`, or with `None` the ordinary answer."""
    return Late(seconds, then)


def cut() -> Cut:
    """The answer, broken off in the middle of its body."""
    return Cut(0, "")


def malformed() -> Malformed:
    """Status 200 and half of the JSON."""
    return Malformed()


def hang() -> Hang:
    """The request is taken and never answered until the server closes."""
    return Hang()
