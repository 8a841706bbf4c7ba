"""Folders, files, pages, sitemaps and sites resolved into the documents to index, and watched for changes."""

from __future__ import annotations

import asyncio
import os
import re
import time
import zlib
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import FetchRefused, PageError
from ..messages import reason, validation_error
from ..pages.address import check_url, host_of
from ..request import CrawlOptions, listed
from .documents import FileFound, PageText, Unreadable, has_no_text, kind_of, page_text, walk

if TYPE_CHECKING:
    from ..pages.fetch import Fetched, Fetcher

_MOST_PAGES = 10_000
_MOST_SITEMAPS = 200


@dataclass(frozen=True, slots=True)
class PageFound:
    """A page to index, with its response or text if it was fetched or parsed already."""

    url: str
    fetched: Fetched | None = None
    text: PageText | None = None


@dataclass(slots=True)
class IngestPlan:
    """The documents to index by address, and what was skipped or failed."""

    documents: dict[str, FileFound | PageFound] = field(default_factory=dict[str, "FileFound | PageFound"])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    folders: list[str] = field(default_factory=list[str])
    """Address prefixes: documents below them that were not found are deleted."""
    unread: list[str] = field(default_factory=list[str])
    """Address prefixes that could not be read, whose documents are kept."""


def is_web_address(source: str | os.PathLike[str]) -> bool:
    """Whether `source` is a URL rather than a path."""
    return isinstance(source, str) and source.strip().lower().startswith(("http://", "https://"))


def source_list(sources: object) -> list[str | os.PathLike[str]]:
    """`sources` as a list; a single path or URL counts as a list of one.

    Raises:
        TavilyAPIError: one of them is neither a non-blank string nor a path; VALIDATION_ERROR.
    """
    given: list[Any] | None = [sources] if isinstance(sources, Path) else listed(sources)
    if given is None or not all(one.strip() if isinstance(one, str) else isinstance(one, os.PathLike) for one in given):
        raise validation_error("texts", name="sources", value=repr(sources)[:100])
    return given


async def plan(
    sources: Sequence[str | os.PathLike[str]], fetcher: Fetcher | None, crawl: CrawlOptions | None = None
) -> IngestPlan:
    """The plan for `sources`; fetches sitemaps, and with `crawl` follows the links of pages.

    Raises:
        TavilyAPIError: `sources` are not paths or URLs; VALIDATION_ERROR.
    """
    made = IngestPlan()
    for source in source_list(sources):
        if is_web_address(source):
            address, by = str(source).strip(), _fetcher(fetcher)
            await (_add_address(made, address, by) if crawl is None else _add_site(made, address, by, crawl))
        else:
            await asyncio.to_thread(_add_path, made, source)
    return made


def _fetcher(fetcher: Fetcher | None) -> Fetcher:
    from ..pages.fetch import Fetcher

    return fetcher or Fetcher()


def _add_path(made: IngestPlan, source: str | os.PathLike[str]) -> None:
    # Symlinks are not resolved, so that a document is always below the folder it was found in.
    path = Path(os.path.abspath(Path(source).expanduser()))  # noqa: PTH100
    if path.is_dir():
        made.folders.append(path.as_uri().removesuffix("/") + "/")
        for found in walk(path):
            if isinstance(found, Unreadable):
                made.failed[found.path.as_uri()] = found.reason
                made.unread.append(found.path.as_uri())
            else:
                made.documents.setdefault(found.path.as_uri(), found)
        return
    try:
        status = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        made.failed[path.as_uri()] = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return
    if not path.is_file():
        made.failed[path.as_uri()] = reason("no_file")
        return
    made.documents[path.as_uri()] = FileFound(path, kind_of(path) or "text", status.st_size, status.st_mtime_ns)


async def _add_address(made: IngestPlan, url: str, fetcher: Fetcher) -> None:
    """Add the page at `url`, or the pages in it if it is a sitemap."""
    waiting, seen = [url], {url}
    while waiting:
        address = waiting.pop(0)
        try:
            fetched = await fetcher.fetch(address)
        except (FetchRefused, PageError) as error:
            made.failed[address] = error.reason
            continue
        if not is_sitemap(fetched.body):
            made.documents.setdefault(address, PageFound(address, fetched))
            continue
        nested = bool(_INDEX.search(_unpacked(fetched.body)[:_HEAD]))
        for location in locations(fetched.body):
            if host_of(location) != host_of(fetched.final_url):
                made.skipped[location] = reason("other_host")
            elif nested and location not in seen and len(seen) < _MOST_SITEMAPS:
                seen.add(location)
                waiting.append(location)
            elif not nested and len(made.documents) < _MOST_PAGES:
                made.documents.setdefault(location, PageFound(location))
            elif location not in made.documents and location not in seen:
                made.skipped[location] = reason("too_many_pages", limit=f"{_MOST_PAGES:,}")


async def _add_site(made: IngestPlan, url: str, fetcher: Fetcher, options: CrawlOptions) -> None:
    """Crawl the site at `url` and add its pages as text, which takes less memory than HTML."""
    from ..crawler import visits

    try:
        start = check_url(url, allowed_hosts=fetcher.allowed_hosts)
    except FetchRefused as error:
        made.failed[url] = error.reason
        return
    async with aclosing(visits(start, options, fetcher=fetcher, read=page_text)) as found:
        async for visit in found:
            if visit.value is not None:
                made.documents.setdefault(visit.url, PageFound(visit.url, text=visit.value))
            elif visit.error:
                (made.skipped if has_no_text(visit.error) else made.failed)[visit.url] = visit.error


_LOCATION = re.compile(rb"<loc>\s*(?:<!\[CDATA\[)?\s*([^<\]]{1,8192}?)\s*(?:\]\]>)?\s*</loc>", re.IGNORECASE)
_SITEMAP = re.compile(rb"<(?:\w+:)?urlset\b", re.IGNORECASE)
_INDEX = re.compile(rb"<(?:\w+:)?sitemapindex\b", re.IGNORECASE)
_HEAD = 4096
_GZIP = b"\x1f\x8b"
_MAX_BYTES = 50 * 1024 * 1024  # the limit of the sitemap protocol


def is_sitemap(body: bytes) -> bool:
    """Whether `body` is a list of pages, or of other sitemaps."""
    head = _unpacked(body)[:_HEAD]
    return bool(_SITEMAP.search(head) or _INDEX.search(head))


def locations(body: bytes) -> list[str]:
    """The addresses in order, without duplicates."""
    found = (unescape(match.decode("utf-8", "replace")) for match in _LOCATION.findall(_unpacked(body)))
    return list(dict.fromkeys(found))


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return body
    try:
        return zlib.decompressobj(wbits=31).decompress(body, _MAX_BYTES)
    except zlib.error:
        return b""


Snapshot = frozenset[tuple[str, int, int]]
"""Path, size and modification time of each document."""


def snapshot(sources: Sequence[str | os.PathLike[str]]) -> Snapshot:
    """The current state of the documents in `sources`, without web pages."""
    found: set[tuple[str, int, int]] = set()
    for source in source_list(sources):
        if is_web_address(source):
            continue
        path = Path(source).expanduser().absolute()
        if path.is_dir():
            found.update((str(one.path), one.size, one.mtime_ns) for one in walk(path) if isinstance(one, FileFound))
        else:
            try:
                status = path.stat()
            except (OSError, ValueError):  # ValueError: a path with a NUL character
                continue
            found.add((str(path), status.st_size, status.st_mtime_ns))
    return frozenset(found)


def changed(sources: Sequence[str | os.PathLike[str]], before: Snapshot, *, every: float = 1.0) -> Snapshot:
    """Wait until the documents of `sources` differ from `before`, polling `every` so many seconds; their new state.

    If polling is slow, the interval grows, so that it takes at most a tenth of the time.
    """
    while True:
        began = time.monotonic()
        now = snapshot(sources)
        if now != before:
            return now
        time.sleep(max(every, 9 * (time.monotonic() - began)))
