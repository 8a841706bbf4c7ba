"""Retries with exponential backoff, jitter and `Retry-After`."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from ...errors import TavilyAPIError

__all__ = ["RetryPolicy", "parse_retry_after"]

logger = logging.getLogger("hikidashi")

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Up to `max_retries` retries after a transient failure; invalid keys and input fail at once.

    `sleep` and `jitter` (a random number from 0 to 1) can be replaced in tests.
    """

    max_retries: int = 3
    first: float = 1.0
    """Seconds before the first retry, without jitter; each further wait is `factor` times as long, up to `cap`."""
    factor: float = 2.0
    cap: float = 10.0
    patience: float = 60.0
    """The longest `Retry-After` to wait for, in seconds; a longer one fails at once."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The result of the first successful `attempt`.

        Raises:
            TavilyAPIError: the last attempt failed.
        """
        retries = 0
        while True:
            try:
                return await attempt()
            except TavilyAPIError as error:
                wait = self.wait_after(error, retries)
                if wait is None:
                    raise
                logger.info("%s; try %d follows in %.1f s", error.error_type, retries + 2, wait)
            await self.sleep(wait)
            retries += 1

    def wait_after(self, error: TavilyAPIError, retries: int) -> float | None:
        """Seconds to wait after `retries` retries; None to give up."""
        if not error.is_retryable or retries >= self.max_retries:
            return None
        if error.retry_after is None:
            # "Equal jitter": half of the wait is fixed, half random.
            return min(self.cap, self.first * self.factor**retries) * (1 + self.jitter()) / 2
        if error.retry_after > self.patience:
            return None  # an earlier retry would fail
        return error.retry_after * (1 + self.jitter() / 10)


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Seconds from a `Retry-After` header, a number or an HTTP date; None if it is neither."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _seconds_until(value, now or datetime.now(UTC))
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):  # raised for malformed dates
        return None
