"""Title and text of pages: one or many at a time, parsed in a worker process that is killed on timeout."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib.util import find_spec

from ...errors import FetchRefused, MissingExtra, PageError
from ..messages import reason
from ..request import check_urls
from ..results import ExtractedPage, ExtractResults, FailedPage
from .fetch import Fetched, Fetcher, page_error
from .worker import WorkerDied, WorkerProcess

logger = logging.getLogger("hikidashi")

_AT_ONCE = 8


class Extractor:
    """Parses HTML, PDF and text in worker processes, from any event loop and thread.

    Args:
        timeout: Seconds for a page before its process is killed; two faster parsers then get half of it each. A PDF
            gets four times as long, and then gives the pages read so far.
        memory: Limit of a process's address space in bytes, where the system supports it.
        processes: Number of pages parsed at the same time.
    """

    def __init__(self, *, timeout: float = 5.0, memory: int = 1 << 30, processes: int | None = None) -> None:
        for package in ("trafilatura", "selectolax", "pypdf"):
            if find_spec(package) is None:
                raise MissingExtra(package, "web")
        self.timeout = timeout
        self._memory = memory
        self._threads = ThreadPoolExecutor(processes or min(4, os.cpu_count() or 1), "hikidashi-extract")
        self._mine = threading.local()
        self._workers: list[WorkerProcess] = []

    @property
    def pids(self) -> list[int]:
        """The ids of the running processes."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    async def extract(self, fetched: Fetched) -> ExtractedPage:
        """The title and text of a fetched page.

        Raises:
            PageError: it has no text, or could not be parsed in time.
        """
        return await self.read(
            fetched.body, content_type=fetched.content_type, charset=fetched.charset, url=fetched.url
        )

    async def read(
        self, body: bytes, *, content_type: str = "", charset: str | None = None, url: str = ""
    ) -> ExtractedPage:
        """The title and text of a document, such as a local file; otherwise as `extract`."""
        return await asyncio.wrap_future(self._threads.submit(self._read, body, content_type, charset, url))

    def close(self) -> None:
        """End the processes, including busy ones; may be called twice."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _read(self, body: bytes, content_type: str, charset: str | None, url: str) -> ExtractedPage:
        is_pdf = content_type == "application/pdf" or body.startswith(b"%PDF-")
        for parser, share in enumerate((4.0,) if is_pdf else (1.0, 0.5, 0.5)):
            seconds = share * self.timeout
            question = {
                "content_type": content_type,
                "charset": charset,
                "parser": parser,
                "pdf_seconds": 0.8 * seconds,
            }
            try:
                answer, text = self._worker().call(question, body, seconds=seconds)
            except WorkerDied:
                continue
            failed = answer.get("failed")
            if failed is None:
                return ExtractedPage(url=url, raw_content=text.decode("utf-8"), title=answer["title"])
            if failed != "too_much":
                raise page_error(url, failed, kind=content_type or "a binary file")
        raise page_error(url, "pdf_too_long" if is_pdf else "unreadable")

    def _worker(self) -> WorkerProcess:
        worker: WorkerProcess | None = getattr(self._mine, "worker", None)
        if worker is None:
            worker = self._mine.worker = WorkerProcess(memory=self._memory)
            self._workers.append(worker)
        return worker


@cache
def shared_extractor() -> Extractor:
    """The extractor shared within this program; its processes start at the first page and end with the program."""
    extractor = Extractor()
    atexit.register(extractor.close)
    if hasattr(os, "register_at_fork"):
        # Threads do not survive a fork, so a child needs an extractor of its own.
        os.register_at_fork(after_in_child=shared_extractor.cache_clear)
        os.register_at_fork(after_in_child=partial(atexit.unregister, extractor.close))
    return extractor


async def extract_urls(
    urls: Sequence[str],
    *,
    fetcher: Fetcher | None = None,
    provider: str = "",
) -> ExtractResults:
    """The pages of `urls`, and why others could not be read, both in the order requested.

    Raises:
        TavilyAPIError: `urls` is empty; VALIDATION_ERROR.
    """
    fetcher = fetcher or Fetcher()
    checked = check_urls(urls, allowed_hosts=fetcher.allowed_hosts)
    pages = await read_pages(checked.valid, fetcher=fetcher)
    return ExtractResults(
        results=tuple(page for page in pages if isinstance(page, ExtractedPage)),
        failed_results=checked.all_failed(page for page in pages if isinstance(page, FailedPage)),
        provider=provider,
    )


async def read_pages(urls: Sequence[str], *, fetcher: Fetcher | None = None) -> list[ExtractedPage | FailedPage]:
    """The page of each of `urls`, checked by `check_urls`, or why it could not be read."""
    fetcher = fetcher or Fetcher()
    extractor, turn = shared_extractor(), asyncio.Semaphore(_AT_ONCE)

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
