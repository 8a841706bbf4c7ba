"""Tavily's `/crawl` and `/map` as data: requests read and checked, answers in the shapes its clients expect."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from ...errors import TavilyAPIError
from ..crawl.options import CrawlOptions, CrawlResults, MapResults, check_crawl_options
from .requests import APIAnswer, answered, bad_request, one_of, read_body

__all__ = ["CrawlRequest", "MapRequest", "crawl_answer", "crawl_request", "map_answer", "map_request"]

_PAGES_PER_CREDIT = 10
_EXTRACTIONS_PER_CREDIT = 5


class MapRequest(BaseModel):
    """The body of `POST /map`; fields that only add to an answer (images) are accepted and left out."""

    model_config = ConfigDict(frozen=True)

    url: str
    max_depth: int = 1
    max_breadth: int = 20
    limit: int = 50
    instructions: str | None = None
    select_paths: tuple[str, ...] = ()
    select_domains: tuple[str, ...] = ()
    exclude_paths: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    allow_external: bool | None = None
    categories: tuple[str, ...] = ()
    timeout: float = 150.0
    include_usage: bool = False

    def options(self, *, most_seconds: float) -> CrawlOptions:
        """What is asked for, within `most_seconds`."""
        given = self.model_dump()
        known = {item.name: given[item.name] for item in fields(CrawlOptions) if item.name in given}
        return CrawlOptions(**cast("dict[str, Any]", known | {"timeout": min(self.timeout, most_seconds)}))

    def credits(self, pages: int) -> int:
        """What Tavily charges for finding so many pages."""
        return math.ceil(pages / _PAGES_PER_CREDIT) * (2 if self.instructions else 1)


class CrawlRequest(MapRequest):
    """The body of `POST /crawl`; fields that only add to an answer (images, favicons) are accepted and left out."""

    extract_depth: str = "basic"
    format: str = "markdown"
    chunks_per_source: int | None = None

    def credits(self, pages: int) -> int:
        """What Tavily charges for finding and reading so many pages."""
        read = math.ceil(pages / _EXTRACTIONS_PER_CREDIT) * (2 if self.extract_depth == "advanced" else 1)
        return super().credits(pages) + read


def map_request(body: bytes) -> MapRequest:
    """The map that `body` asks for.

    Raises:
        Refused: the API would not take it.
    """
    return _checked(read_body(MapRequest, body))


def crawl_request(body: bytes) -> CrawlRequest:
    """The crawl that `body` asks for.

    Raises:
        Refused: the API would not take it.
    """
    request = read_body(CrawlRequest, body)
    _checked(request)
    one_of("extract depth", request.extract_depth, ("basic", "advanced"))
    one_of("format", request.format, ("markdown", "text"))
    return request


def crawl_answer(
    request: CrawlRequest,
    crawled: CrawlResults,
    *,
    seconds: float = 0.0,
    credits: float | None = None,  # noqa: A002 - the API's word
) -> APIAnswer:
    """What `POST /crawl` answers; pages that could not be read are listed as in `/extract`."""
    body: dict[str, Any] = {
        "base_url": request.url,
        "results": [{"url": page.url, "raw_content": page.raw_content, "images": []} for page in crawled.results],
        "failed_results": _failed(crawled),
    }
    charged = request.credits(len(crawled.results)) if credits is None else credits
    return answered(body, seconds, request.include_usage, charged)


def map_answer(
    request: MapRequest,
    found: MapResults,
    *,
    seconds: float = 0.0,
    credits: float | None = None,  # noqa: A002 - the API's word
) -> APIAnswer:
    """What `POST /map` answers; pages that could not be read are listed as in `/extract`."""
    body: dict[str, Any] = {
        "base_url": request.url,
        "results": list(found.results),
        "failed_results": _failed(found),
    }
    charged = request.credits(len(found.results)) if credits is None else credits
    return answered(body, seconds, request.include_usage, charged)


def _checked(request: MapRequest) -> MapRequest:
    if not request.url.strip():
        raise bad_request("No starting url provided.")
    try:
        check_crawl_options(request.options(most_seconds=request.timeout), language="en")
    except TavilyAPIError as error:
        raise bad_request(error.message) from error
    return request


def _failed(results: CrawlResults | MapResults) -> list[dict[str, str]]:
    return [{"url": page.url, "error": page.error} for page in results.failed_results]
