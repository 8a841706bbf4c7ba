"""Faults of the Messages API, as steps of a script.

MessagesServer([fault.rate_limited(retry_after=0), fault.cut(after_events=3), say("at last")])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .script import Answer, Reply

__all__ = [
    "Cut",
    "ErrorStatus",
    "Fault",
    "Hang",
    "Malformed",
    "Slow",
    "cut",
    "hang",
    "malformed",
    "overloaded",
    "rate_limited",
    "server_error",
    "slow",
    "status",
]


@dataclass(frozen=True)
class ErrorStatus:
    """An HTTP error with Anthropic's error body."""

    code: int
    type: str
    message: str
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Slow:
    """A delay, then an answer."""

    seconds: float
    then: Answer


@dataclass(frozen=True)
class Cut:
    """An answer that breaks off; the connection is closed."""

    after_events: int
    reply: Reply | str


@dataclass(frozen=True)
class Malformed:
    """An answer that is not JSON."""


@dataclass(frozen=True)
class Hang:
    """No answer until the server closes."""


Fault = ErrorStatus | Slow | Cut | Malformed | Hang
"""A step of a script that is not a `Reply`."""


def status(
    code: int,
    type: str,  # noqa: A002 - the API's word
    message: str,
    *,
    headers: dict[str, str] | None = None,
) -> ErrorStatus:
    """HTTP `code` with the error body the API sends: `type` such as `permission_error`."""
    return ErrorStatus(code, type, message, headers or {})


def rate_limited(*, retry_after: float | None = None) -> ErrorStatus:
    """HTTP 429, with a `retry-after` header in seconds if given."""
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return ErrorStatus(429, "rate_limit_error", "This request would exceed your rate limit.", headers)


def server_error() -> ErrorStatus:
    """HTTP 500."""
    return ErrorStatus(500, "api_error", "Internal server error")


def overloaded() -> ErrorStatus:
    """HTTP 529: the service is overloaded."""
    return ErrorStatus(529, "overloaded_error", "Overloaded")


def slow(seconds: float, then: Answer) -> Slow:
    """No byte for `seconds`, then the answer `then`."""
    return Slow(seconds, then)


def cut(after_events: int = 3, reply: Reply | str = "This sentence is never") -> Cut:
    """`reply`, broken off: a stream after so many events, a plain answer in the middle of its body."""
    return Cut(after_events, reply)


def malformed() -> Malformed:
    """Status 200 and broken JSON: as the body, or in a stream as the data of its second event."""
    return Malformed()


def hang() -> Hang:
    """The request is taken and never answered until the server closes."""
    return Hang()
