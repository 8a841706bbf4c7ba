"""Cost of requests in credits: price list, counter and limit."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Self

from ....errors import ErrorType
from ...messages import api_error

if TYPE_CHECKING:
    from ...provider import SearchDepth

__all__ = ["Charge", "CreditMeter", "crawl_cost", "extract_cost", "map_cost", "search_cost"]

_PAGES_PER_CREDIT = 5
_MAPPED_PER_CREDIT = 10


def search_cost(depth: SearchDepth) -> float:
    """Credits of a search by Tavily's price list."""
    return 2.0 if depth == "advanced" else 1.0


def extract_cost(pages: int, depth: SearchDepth = "basic") -> float:
    """Credits of an extraction: one for every five pages or part thereof, two with "advanced"."""
    return math.ceil(pages / _PAGES_PER_CREDIT) * search_cost(depth)


def map_cost(pages: int, *, instructed: bool = False) -> float:
    """Credits of a map: one for every ten pages or part thereof, two with instructions."""
    return math.ceil(pages / _MAPPED_PER_CREDIT) * (2.0 if instructed else 1.0)


def crawl_cost(pages: int, depth: SearchDepth = "basic", *, instructed: bool = False) -> float:
    """Credits of a crawl: those of mapping and of extracting its pages."""
    return map_cost(pages, instructed=instructed) + extract_cost(pages, depth)


class CreditMeter:
    """Counter of credits used, with an optional limit; thread-safe."""

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._used = 0.0
        self._reserved = 0.0
        self._lock = threading.Lock()

    @property
    def used(self) -> float:
        """Credits of all successful requests."""
        return self._used

    def charge(self, expected: float) -> Charge:
        """Reserve `expected` credits for a request; running requests count towards the limit, too.

        Raises:
            TavilyAPIError: the limit would be exceeded; an API_ERROR, which is not retried.
        """
        with self._lock:
            taken = self._used + self._reserved
            if self.limit is not None and taken + expected > self.limit:
                raise api_error("credit_limit", ErrorType.API_ERROR, limit=self.limit, used=taken, cost=expected)
            self._reserved += expected
        return Charge(self, expected)

    def settle(self, expected: float, cost: float) -> None:
        """Replace a reservation of `expected` credits with the actual `cost`."""
        with self._lock:
            self._reserved -= expected
            self._used += cost


class Charge:
    """The reservation for one request, as a context manager; costs nothing unless `cost` is set."""

    __slots__ = ("_expected", "_meter", "cost")

    def __init__(self, meter: CreditMeter, expected: float) -> None:
        self._meter = meter
        self._expected = expected
        self.cost = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._meter.settle(self._expected, self.cost)
