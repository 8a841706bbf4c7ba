"""When to try again, and how long to wait before: exponential, with jitter, and as long as the server asks."""

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
    """Up to `max_retries` further tries after a failure that may pass; bad keys and bad input fail at once.

    `sleep` and `jitter` are what waits and what rolls the dice (0 to 1): tests give their own.
    """

    max_retries: int = 3
    first: float = 1.0
    """Seconds before the second try, jitter aside; each further wait is `factor` times as long, up to `cap`."""
    factor: float = 2.0
    cap: float = 10.0
    patience: float = 60.0
    """The longest wait a server may ask for; with a longer one the failure is reported at once."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What `attempt` gives, in this or a later try.

        Raises:
            TavilyAPIError: the failure of the last try, as it was.
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
        """Seconds to wait when `retries` retries were made already; None to give up."""
        if not error.is_retryable or retries >= self.max_retries:
            return None
        if error.retry_after is None:
            # Half of it is certain: so neither all clients come at once, nor any of them at once.
            return min(self.cap, self.first * self.factor**retries) * (1 + self.jitter()) / 2
        if error.retry_after > self.patience:
            return None  # an earlier try would fail, and nobody waits that long for a search
        return error.retry_after * (1 + self.jitter() / 10)


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Seconds from a `Retry-After` header: a number or an HTTP date; None where it says neither."""
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
    except (ValueError, TypeError, IndexError, OverflowError):  # what strange dates make the parser raise
        return None
