"""Extraction of many URLs at once, for providers without an extraction API."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from ...errors import FetchRefused, PageError
from ..filters import EXTRACT_DEFAULTS, ExtractOptions
from ..messages import reason
from ..pages.extract import Extractor, shared_extractor
from ..pages.fetch import Fetcher
from ..passages import extracted_as
from ..results import ExtractedPage, ExtractResults, FailedPage
from ..validate import check_urls

__all__ = ["extract_urls", "read_pages"]

logger = logging.getLogger("hikidashi")


async def extract_urls(
    urls: Sequence[str],
    *,
    fetcher: Fetcher | None = None,
    extractor: Extractor | None = None,
    concurrency: int = 8,
    provider: str = "",
    options: ExtractOptions = EXTRACT_DEFAULTS,
) -> ExtractResults:
    """The pages of `urls`, and why others could not be read, both in the order requested.

    Raises:
        TavilyAPIError: `urls` is empty; VALIDATION_ERROR.
    """
    fetcher = fetcher or Fetcher()
    checked = check_urls(urls, allowed_hosts=fetcher.allowed_hosts)
    pages = await read_pages(checked.valid, fetcher=fetcher, extractor=extractor, concurrency=concurrency)
    return ExtractResults(
        results=tuple(extracted_as(page, options) for page in pages if isinstance(page, ExtractedPage)),
        failed_results=checked.all_failed(page for page in pages if isinstance(page, FailedPage)),
        provider=provider,
    )


async def read_pages(
    urls: Sequence[str],
    *,
    fetcher: Fetcher | None = None,
    extractor: Extractor | None = None,
    concurrency: int = 8,
) -> list[ExtractedPage | FailedPage]:
    """The page of each of `urls`, checked by `check_urls`, or why it could not be read."""
    fetcher = fetcher or Fetcher()
    extractor = extractor or shared_extractor()
    turn = asyncio.Semaphore(concurrency)

    async def read(url: str) -> ExtractedPage | FailedPage:
        async with turn:
            try:
                return await extractor.extract(await fetcher.fetch(url))
            except (FetchRefused, PageError) as error:
                return FailedPage(url=url, error=error.reason)
            except Exception as error:  # one bad page must not fail the others
                logger.exception("Reading a page failed unexpectedly")
                return FailedPage(url=url, error=reason("unexpected", kind=type(error).__name__))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(url)) for url in urls]
    return [task.result() for task in tasks]
