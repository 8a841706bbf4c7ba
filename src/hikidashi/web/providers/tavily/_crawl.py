"""Crawls and maps by Tavily."""

from __future__ import annotations

from typing import Any

from ...crawl_options import CRAWL_DEFAULTS, CrawlOptions, CrawlResults, MapResults, check_crawl_options, crawl_start
from ..per_loop import PerLoop
from ..retry import RetryPolicy
from ._answers import read_credits, read_found_pages, read_urls
from ._connections import Connections
from ._credits import CreditMeter, crawl_cost, map_cost

__all__ = ["TavilyCrawler"]

_NAME = "tavily"
_SECONDS = (10.0, 150.0)  # range of the API's `timeout`
_ANSWER_SECONDS = 10.0  # time for the response after that
_OPTIONS = (
    "select_paths",
    "select_domains",
    "exclude_paths",
    "exclude_domains",
    "allow_external",
    "instructions",
    "categories",
)


class TavilyCrawler:
    """The methods `crawl` and `map` of `TavilyAPIClient`."""

    def __init__(
        self,
        connections: PerLoop[Connections],
        meter: CreditMeter,
        retry: RetryPolicy,
        *,
        secret: str | None = None,
    ) -> None:
        self._connections = connections
        self._meter = meter
        self._retry = retry
        self._secret = secret

    async def crawl(self, url: str, options: CrawlOptions | None) -> CrawlResults:
        """As `TavilyAPIClient.crawl`."""
        chosen = check_crawl_options(options or CRAWL_DEFAULTS)
        sent, seconds = self._sent(url, chosen)
        sent |= {"extract_depth": chosen.extract_depth, "format": chosen.format}
        if chosen.chunks_per_source is not None:
            sent["chunks_per_source"] = chosen.chunks_per_source
        connections = await self._connections.get()
        instructed = chosen.instructions is not None
        expected = crawl_cost(chosen.limit, chosen.extract_depth, instructed=instructed)
        with self._meter.charge(expected) as charge:
            answer = await self._retry.run(lambda: connections.crawl(sent, seconds=seconds))
            pages, failed = read_found_pages(answer, secret=self._secret)
            reported_cost = read_credits(answer)
            cost = crawl_cost(len(pages), chosen.extract_depth, instructed=instructed)
            charge.cost = cost if reported_cost is None else reported_cost
        return CrawlResults(
            base_url=sent["url"], results=pages, failed_results=failed, provider=_NAME, credits=charge.cost
        )

    async def map(self, url: str, options: CrawlOptions | None) -> MapResults:
        """As `TavilyAPIClient.map`."""
        chosen = check_crawl_options(options or CRAWL_DEFAULTS)
        sent, seconds = self._sent(url, chosen)
        connections = await self._connections.get()
        instructed = chosen.instructions is not None
        with self._meter.charge(map_cost(chosen.limit, instructed=instructed)) as charge:
            answer = await self._retry.run(lambda: connections.map(sent, seconds=seconds))
            urls = read_urls(answer)
            reported_cost = read_credits(answer)
            charge.cost = map_cost(len(urls), instructed=instructed) if reported_cost is None else reported_cost
        return MapResults(base_url=sent["url"], results=urls, provider=_NAME, credits=charge.cost)

    def _sent(self, url: str, options: CrawlOptions) -> tuple[dict[str, Any], float]:
        """The arguments of the API call, and its timeout in seconds."""
        start = crawl_start(url, any_port=True)
        shortest, longest = _SECONDS
        seconds = min(max(options.timeout or longest, shortest), longest)
        given = {name: getattr(options, name) for name in _OPTIONS}
        sent: dict[str, Any] = {
            "url": start,
            "max_depth": options.max_depth,
            "max_breadth": options.max_breadth,
            "limit": options.limit,
            **{
                name: list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType]
                for name, value in given.items()
                if value not in (None, ())
            },
            "timeout": seconds,
            "include_usage": True,
        }
        return sent, seconds + _ANSWER_SECONDS
