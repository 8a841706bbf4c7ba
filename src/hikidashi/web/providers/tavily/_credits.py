"""What searches and extractions cost, counted, and refused beyond a limit."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Self

from ....errors import ErrorType, TavilyAPIError
from ...wording.messages import say

if TYPE_CHECKING:
    from ...provider import SearchDepth
    from ...wording.said import Language

__all__ = ["Charge", "CreditMeter", "crawl_cost", "extract_cost", "map_cost", "search_cost"]

_PAGES_PER_CREDIT = 5
_MAPPED_PER_CREDIT = 10


def search_cost(depth: SearchDepth) -> float:
    """Credits of one search by Tavily's price list."""
    return 2.0 if depth == "advanced" else 1.0


def extract_cost(pages: int, depth: SearchDepth = "basic") -> float:
    """Credits of `pages` pages extracted: one for each five begun, or two with "advanced"."""
    return math.ceil(pages / _PAGES_PER_CREDIT) * search_cost(depth)


def map_cost(pages: int, *, instructed: bool = False) -> float:
    """Credits of a map that found `pages` pages: one for each ten begun, or two with instructions."""
    return math.ceil(pages / _MAPPED_PER_CREDIT) * (2.0 if instructed else 1.0)


def crawl_cost(pages: int, depth: SearchDepth = "basic", *, instructed: bool = False) -> float:
    """Credits of a crawl of `pages` pages: those of finding them and of extracting them."""
    return map_cost(pages, instructed=instructed) + extract_cost(pages, depth)


class CreditMeter:
    """Credits used so far, of at most `limit`; may be shared by threads."""

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._used = 0.0
        self._reserved = 0.0
        self._lock = threading.Lock()

    @property
    def used(self) -> float:
        """Credits of all requests that were answered."""
        return self._used

    def charge(self, expected: float, language: Language = "ja") -> Charge:
        """Room for one request that costs about `expected`; requests under way count against the limit, too.

        Raises:
            TavilyAPIError: the limit would be passed. It is an API_ERROR, which nobody tries again.
        """
        with self._lock:
            taken = self._used + self._reserved
            if self.limit is not None and taken + expected > self.limit:
                message = say("credit_limit", language, limit=self.limit, used=taken, cost=expected)
                raise TavilyAPIError(message, ErrorType.API_ERROR)
            self._reserved += expected
        return Charge(self, expected)

    def settle(self, expected: float, cost: float) -> None:
        """Turns room for `expected` credits into `cost` credits used."""
        with self._lock:
            self._reserved -= expected
            self._used += cost


class Charge:
    """What one request costs, as a `with` block around it: nothing, unless it says so."""

    __slots__ = ("_expected", "_meter", "cost")

    def __init__(self, meter: CreditMeter, expected: float) -> None:
        self._meter = meter
        self._expected = expected
        self.cost = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._meter.settle(self._expected, self.cost)
