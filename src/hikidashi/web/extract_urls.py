"""The text of many addresses at once, without any search API: for the providers that have none of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..errors import FetchRefused
from .extract import Extractor, shared_extractor
from .failures import PageError
from .fetch import Fetcher
from .reasons import Language, in_language
from .results import ExtractedPage, ExtractResults, FailedPage
from .validate import sort_urls

__all__ = ["extract_urls"]


async def extract_urls(
    urls: Sequence[str],
    *,
    fetcher: Fetcher | None = None,
    extractor: Extractor | None = None,
    concurrency: int = 8,
    language: Language = "ja",
    provider: str = "",
) -> ExtractResults:
    """The pages of `urls` that could be fetched and read, and why the others could not, each in the order given.

    Raises:
        TavilyAPIError: `urls` is empty; VALIDATION_ERROR.
    """
    fetcher = fetcher or Fetcher()
    extractor = extractor or shared_extractor()
    sorted_urls = sort_urls(urls, language=language, allowed_hosts=fetcher.allowed_hosts)
    turn = asyncio.Semaphore(concurrency)

    async def read(url: str) -> ExtractedPage | FailedPage:
        async with turn:
            try:
                return await extractor.extract(await fetcher.fetch(url))
            except (FetchRefused, PageError) as error:
                return FailedPage(url=url, error=in_language(error.reason, language))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(url)) for url in sorted_urls.valid]
    pages = [task.result() for task in tasks]
    return ExtractResults(
        results=tuple(page for page in pages if isinstance(page, ExtractedPage)),
        failed_results=sorted_urls.all_failed(page for page in pages if isinstance(page, FailedPage)),
        provider=provider,
    )
