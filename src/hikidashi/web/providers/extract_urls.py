"""The text of many addresses at once, without any search API: for the providers that have none of their own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from ...errors import FetchRefused, PageError
from ..filters import EXTRACT_DEFAULTS, ExtractOptions
from ..pages.extract import Extractor, shared_extractor
from ..pages.fetch import Fetcher
from ..pages.reasons import in_language, reason
from ..results import ExtractedPage, ExtractResults, FailedPage
from ..text.passages import extracted_as
from ..validate import sort_urls
from ..wording.said import Language

__all__ = ["extract_urls", "read_pages"]

logger = logging.getLogger("hikidashi")


async def extract_urls(
    urls: Sequence[str],
    *,
    fetcher: Fetcher | None = None,
    extractor: Extractor | None = None,
    concurrency: int = 8,
    language: Language = "ja",
    provider: str = "",
    options: ExtractOptions = EXTRACT_DEFAULTS,
) -> ExtractResults:
    """The pages of `urls` that could be fetched and read, and why the others could not, each in the order given.

    Raises:
        TavilyAPIError: `urls` is empty; VALIDATION_ERROR.
    """
    fetcher = fetcher or Fetcher()
    sorted_urls = sort_urls(urls, language=language, allowed_hosts=fetcher.allowed_hosts)
    pages = await read_pages(
        sorted_urls.valid, fetcher=fetcher, extractor=extractor, concurrency=concurrency, language=language
    )
    return ExtractResults(
        results=tuple(extracted_as(page, options) for page in pages if isinstance(page, ExtractedPage)),
        failed_results=sorted_urls.all_failed(page for page in pages if isinstance(page, FailedPage)),
        provider=provider,
    )


async def read_pages(
    urls: Sequence[str],
    *,
    fetcher: Fetcher | None = None,
    extractor: Extractor | None = None,
    concurrency: int = 8,
    language: Language = "ja",
) -> list[ExtractedPage | FailedPage]:
    """The page of each of `urls`, which `sort_urls` found valid, or why it could not be read."""
    fetcher = fetcher or Fetcher()
    extractor = extractor or shared_extractor()
    turn = asyncio.Semaphore(concurrency)

    async def read(url: str) -> ExtractedPage | FailedPage:
        async with turn:
            try:
                return await extractor.extract(await fetcher.fetch(url))
            except (FetchRefused, PageError) as error:
                return FailedPage(url=url, error=in_language(error.reason, language))
            except Exception as error:  # whatever one page does, the others are answered
                logger.exception("Reading a page failed unexpectedly")
                return FailedPage(url=url, error=reason("unexpected", language, kind=type(error).__name__))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(url)) for url in urls]
    return [task.result() for task in tasks]
