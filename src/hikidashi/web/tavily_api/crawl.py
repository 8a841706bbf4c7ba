"""Tavily's `/crawl` and `/map` as data: parsing and validation of requests, and responses."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from ...errors import TavilyAPIError
from ...texts import in_language
from ..crawl_options import CrawlOptions, CrawlResults, MapResults, check_crawl_options
from .requests import APIAnswer, answered, bad_request, failures, one_of, read_body

__all__ = ["CrawlRequest", "MapRequest", "crawl_answer", "crawl_request", "map_answer", "map_request"]

_PAGES_PER_CREDIT = 10
_EXTRACTIONS_PER_CREDIT = 5


class MapRequest(BaseModel):
    """The body of `POST /map`; `read_body` says how other fields are handled."""

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
        """The options, with a timeout of at most `most_seconds`."""
        given = self.model_dump()
        known = {item.name: given[item.name] for item in fields(CrawlOptions) if item.name in given}
        return CrawlOptions(**cast("dict[str, Any]", known | {"timeout": min(self.timeout, most_seconds)}))

    def credits(self, pages: int) -> int:
        """Tavily's price for mapping so many pages."""
        return math.ceil(pages / _PAGES_PER_CREDIT) * (2 if self.instructions else 1)


class CrawlRequest(MapRequest):
    """The body of `POST /crawl`."""

    extract_depth: str = "basic"
    format: str = "markdown"
    chunks_per_source: int | None = None

    def credits(self, pages: int) -> int:
        """Tavily's price for mapping and extracting so many pages."""
        read = math.ceil(pages / _EXTRACTIONS_PER_CREDIT) * (2 if self.extract_depth == "advanced" else 1)
        return super().credits(pages) + read


def map_request(body: bytes, *, strict: bool = False) -> MapRequest:
    """The map request in `body`.

    Raises:
        Refused: the request is invalid, or with `strict`, has an unknown field.
    """
    return _checked(read_body(MapRequest, body, strict=strict))


def crawl_request(body: bytes, *, strict: bool = False) -> CrawlRequest:
    """The crawl request in `body`.

    Raises:
        Refused: the request is invalid, or with `strict`, has an unknown field.
    """
    request = read_body(CrawlRequest, body, strict=strict)
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
    """The response to `POST /crawl`; failed pages are listed as in `/extract`."""
    body: dict[str, Any] = {
        "base_url": request.url,
        "results": [{"url": page.url, "raw_content": page.raw_content, "images": []} for page in crawled.results],
        "failed_results": failures(crawled.failed_results),
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
    """The response to `POST /map`; failed pages are listed as in `/extract`."""
    body: dict[str, Any] = {
        "base_url": request.url,
        "results": list(found.results),
        "failed_results": failures(found.failed_results),
    }
    charged = request.credits(len(found.results)) if credits is None else credits
    return answered(body, seconds, request.include_usage, charged)


def _checked(request: MapRequest) -> MapRequest:
    if not request.url.strip():
        raise bad_request("No starting url provided.")
    try:
        check_crawl_options(request.options(most_seconds=request.timeout))
    except TavilyAPIError as error:
        raise bad_request(in_language(error.message, "en")) from error
    return request
