"""Ingestion: adds and updates documents, removes deleted ones, and reports each after its commit."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from ..messages import reason
from ..provider import errors_in
from ..request import CrawlOptions, check_crawl_options, check_positive
from .database import IndexWriter, NewDocument, StoredState
from .documents import MAX_BYTES, Failed, FileFound, Outcome, Same, Skipped, Touched, read_file, read_page
from .index import LocalIndex
from .sources import IngestPlan, PageFound, plan

if TYPE_CHECKING:
    from ..pages.fetch import Fetcher

logger = logging.getLogger("hikidashi")

# Documents are committed in batches, since a commit costs as much as several documents.
_PASSAGES_AT_ONCE = 500
_SECONDS_AT_ONCE = 0.5
_READ_AHEAD = 4


IngestKind = Literal["added", "updated", "unchanged", "removed", "skipped", "failed"]
""""skipped" documents do not belong in the index; "failed" ones could not be read and are tried again next time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestEvent:
    """The outcome for one document, reported after its commit."""

    kind: IngestKind
    url: str
    done: int
    """Number of documents processed, including this one."""
    total: int
    passages: int = 0
    reason: str = ""
    """Why it was skipped or failed."""


@dataclass(slots=True)
class _Unreported:
    """Events to report after the next commit."""

    total: int
    done: int = 0
    passages: int = 0
    waiting: list[IngestEvent] = field(default_factory=list[IngestEvent])
    since: float = field(default_factory=time.monotonic)

    def add(self, kind: IngestKind, url: str, *, passages: int = 0, reason: str = "") -> None:
        self.done += 1
        self.passages += passages
        event = IngestEvent(kind=kind, url=url, done=self.done, total=self.total, passages=passages, reason=reason)
        self.waiting.append(event)

    @property
    def is_due(self) -> bool:
        return self.passages >= _PASSAGES_AT_ONCE or time.monotonic() - self.since >= _SECONDS_AT_ONCE

    def taken(self) -> list[IngestEvent]:
        events, self.waiting = self.waiting, []
        self.passages, self.since = 0, time.monotonic()
        return events


async def ingest(
    index: LocalIndex,
    sources: Sequence[str | os.PathLike[str]],
    *,
    fetcher: Fetcher | None = None,
    max_bytes: int = MAX_BYTES,
    crawl: CrawlOptions | None = None,
) -> AsyncGenerator[IngestEvent, None]:
    """Update `index` from `sources`, and report each document after its commit.

        async for event in ingest(LocalIndex(), ["docs", "https://example.com/sitemap.xml"]):
            print(event.kind, event.url)

    Documents deleted from a folder are removed. A document that cannot be read is reported, and ingestion goes on. If
    the process is killed, everything reported is in the index.

    Args:
        index: The index; created if it does not exist.
        sources: Folders, files, URLs of pages and of sitemaps; a string counts as a list of one.
        fetcher: How pages are fetched; the guarded fetch of public addresses if None.
        max_bytes: Limit of a file's size.
        crawl: Limits for following the links of pages, as robots.txt allows; None follows no links.

    Raises:
        TavilyAPIError: an option, `sources` or `max_bytes` is refused; VALIDATION_ERROR.
        WebIndexError: another process is writing, or the index cannot be written; what was reported is kept.
    """
    with errors_in("en"):
        options = check_crawl_options(crawl) if crawl else None
        check_positive(max_bytes, "max_bytes")
        made = await plan(sources, fetcher, options)
    with ExitStack() as stack:
        writer = await asyncio.to_thread(stack.enter_context, index.writing())
        known, gone = await asyncio.to_thread(_compared, writer, made)
        batch = _Unreported(len(made.documents) + len(made.failed) + len(made.skipped) + len(gone))
        for url, reason in made.failed.items():
            batch.add("failed", url, reason=reason)
        for url, reason in made.skipped.items():
            batch.add("skipped", url, reason=reason)
        async with aclosing(_read(made, known, partial(_outcome, fetcher=fetcher, max_bytes=max_bytes))) as outcomes:
            async for url, outcome in outcomes:
                await asyncio.to_thread(_apply, writer, batch, url, outcome)
                if batch.is_due:
                    await asyncio.to_thread(writer.commit)
                    for event in batch.taken():
                        yield event
        for url in gone:
            await asyncio.to_thread(writer.remove, url)
            batch.add("removed", url)
        await asyncio.to_thread(writer.commit)
        for event in batch.taken():
            yield event


def _compared(writer: IndexWriter, made: IngestPlan) -> tuple[dict[str, StoredState], list[str]]:
    """The stored values of the planned documents, and the addresses of those that were deleted."""
    known = {url: found for url in made.documents if (found := writer.known(url))}
    stored = dict.fromkeys(url for folder in made.folders for url in writer.urls_below(folder))
    gone = [url for url in stored if url not in made.documents and not url.startswith(tuple(made.unread))]
    return known, gone


async def _outcome(
    document: FileFound | PageFound, known: StoredState | None, *, fetcher: Fetcher | None, max_bytes: int
) -> Outcome:
    try:
        if isinstance(document, FileFound):
            return await read_file(document, known, max_bytes=max_bytes)
        return await read_page(document.url, known, fetcher=fetcher, fetched=document.fetched, page=document.text)
    except Exception as error:  # one bad document must not stop the others
        logger.exception("A document could not be read")
        return Failed(reason("unexpected", kind=type(error).__name__))


async def _read(
    made: IngestPlan, known: dict[str, StoredState], read: Callable[..., Coroutine[Any, Any, Outcome]]
) -> AsyncGenerator[tuple[str, Outcome], None]:
    """The documents in order, reading ahead."""
    ahead: deque[tuple[str, asyncio.Task[Outcome]]] = deque()
    left = iter(made.documents.items())
    try:
        while True:
            for url, document in islice(left, _READ_AHEAD - len(ahead)):
                ahead.append((url, asyncio.create_task(read(document, known.get(url)))))
            if not ahead:
                return
            url, task = ahead[0]
            outcome = await task
            ahead.popleft()
            yield url, outcome
    finally:
        for _, task in ahead:
            task.cancel()
        await asyncio.gather(*(task for _, task in ahead), return_exceptions=True)


def _apply(writer: IndexWriter, batch: _Unreported, url: str, outcome: Outcome) -> None:
    """Apply `outcome` to the index, and add an event."""
    match outcome:
        case NewDocument():
            replaced = writer.remove(url)
            writer.put(outcome)
            batch.add("updated" if replaced else "added", url, passages=len(outcome.passages))
        case Same():
            batch.add("unchanged", url)
        case Touched():
            writer.touched(url, size=outcome.size, mtime_ns=outcome.mtime_ns)
            batch.add("unchanged", url)
        case Skipped():
            # The indexed content is out of date.
            batch.add("removed" if writer.remove(url) else "skipped", url, reason=outcome.reason)
        case _:
            batch.add("failed", url, reason=outcome.reason)
