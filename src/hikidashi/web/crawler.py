"""A breadth-first crawler: the pages of a site by their links, within limits, and as robots.txt allows.

Links are followed in the order of the page, so that the same site gives the same pages in the same order. Every
request goes through the guarded `Fetcher`. A page that fails is reported, and the crawl goes on.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from html import unescape
from itertools import islice
from typing import Generic, TypeVar
from urllib.parse import urldefrag, urljoin, urlsplit

from ..errors import FetchRefused, MissingExtra, PageError
from .messages import reason
from .pages.address import check_url
from .pages.decode import decode_page
from .pages.extract import shared_extractor
from .pages.fetch import Fetched, Fetcher
from .passages import extracted_as
from .request import CrawlOptions, ExtractOptions, crawl_start, matches_any
from .results import CrawlResults, ExtractedPage, FailedPage, MapResults

try:
    from protego import Protego
except ImportError as error:
    raise MissingExtra("protego", "web") from error

logger = logging.getLogger("hikidashi")

_AT_ONCE = 4
_MAX_CHARACTERS = 20_000_000  # in all pages of one crawl
_HTML = frozenset({"", "text/html", "application/xhtml+xml"})

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit(Generic[T]):
    """One page of a crawl: its content, or the reason why it could not be read."""

    url: str
    depth: int
    value: T | None = None
    error: str = ""
    links: tuple[str, ...] = ()
    """New pages it links to that belong to the crawl."""


async def visits(
    start: str,
    options: CrawlOptions,
    *,
    fetcher: Fetcher,
    read: Callable[[Fetched], Awaitable[T]] | None = None,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[Visit[T], None]:
    """The pages of a site from `start` on, as they are reached; at most `options.limit` are read.

    Args:
        start: An address that `crawl_start` gave.
        options: Limits and filters, checked.
        fetcher: How pages are fetched.
        read: Turns each page into a value; a `PageError` fails that page alone. None only follows links, and not
            those of the last level.
        pause: Waits between two pages of a host that asks for a delay.
    """
    crawl = _Crawl(start, options, fetcher, read, pause)
    levels = options.max_depth + (0 if read is None else 1)
    level, left = [start], options.limit
    try:
        for depth in range(levels):
            following: list[str] = []
            async for visit in crawl.level(level[:left], depth, is_last=depth == options.max_depth):
                following += visit.links
                yield visit
            left -= len(level[:left])
            level = following
            if not level or left <= 0:
                return
    finally:
        await crawl.robots.aclose()


async def crawl_site(
    url: str,
    options: CrawlOptions,
    *,
    fetcher: Fetcher | None = None,
    provider: str = "",
) -> CrawlResults:
    """The text of the pages of a site.

    Raises:
        TavilyAPIError: `url` or an option is refused; VALIDATION_ERROR.
    """
    fetcher = fetcher or Fetcher()
    start = crawl_start(url, allowed_hosts=fetcher.allowed_hosts)
    form = ExtractOptions(format=options.format)
    pages: list[ExtractedPage] = []
    failed: list[FailedPage] = []
    left = _MAX_CHARACTERS

    async def read(fetched: Fetched) -> ExtractedPage:
        return extracted_as(await shared_extractor().extract(fetched), form)

    async with aclosing(visits(start, options, fetcher=fetcher, read=read)) as found:
        async for visit in found:
            if visit.value is not None:
                left -= len(visit.value.raw_content)
                if left < 0:
                    failed.append(FailedPage(url=visit.url, error=reason("crawl_size", limit=f"{_MAX_CHARACTERS:,}")))
                    break
                pages.append(visit.value)
            elif visit.error:
                failed.append(FailedPage(url=visit.url, error=visit.error))
    return CrawlResults(base_url=start, results=tuple(pages), failed_results=tuple(failed), provider=provider)


async def map_site(
    url: str,
    options: CrawlOptions,
    *,
    fetcher: Fetcher | None = None,
    provider: str = "",
) -> MapResults:
    """The addresses of the pages of a site; those of the last level are listed without being fetched.

    Raises:
        TavilyAPIError: `url` or an option is refused; VALIDATION_ERROR.
    """
    fetcher = fetcher or Fetcher()
    start = crawl_start(url, allowed_hosts=fetcher.allowed_hosts)
    urls: dict[str, None] = {}
    failed: dict[str, str] = {}
    followed: AsyncGenerator[Visit[None], None] = visits(start, options, fetcher=fetcher)
    async with aclosing(followed) as found:
        async for visit in found:
            if visit.error:
                failed[visit.url] = visit.error
            elif is_wanted(visit.url, options):
                urls[visit.url] = None
            urls |= dict.fromkeys(visit.links)
    listed = [one for one in urls if one not in failed][: options.limit]
    return MapResults(
        base_url=start,
        results=tuple(listed),
        failed_results=tuple(FailedPage(url=one, error=error) for one, error in failed.items()),
        provider=provider,
    )


def is_wanted(url: str, options: CrawlOptions) -> bool:
    """Whether `url` passes the selected and excluded paths and domains."""
    parts = urlsplit(url)
    path, host = parts.path or "/", parts.hostname or ""
    selected = not options.select_paths or matches_any(options.select_paths, path)
    selected = selected and (not options.select_domains or matches_any(options.select_domains, host))
    return selected and not matches_any(options.exclude_paths, path) and not matches_any(options.exclude_domains, host)


class _Crawl(Generic[T]):
    """The state of one crawl."""

    def __init__(
        self,
        start: str,
        options: CrawlOptions,
        fetcher: Fetcher,
        read: Callable[[Fetched], Awaitable[T]] | None,
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        self.robots = Robots(fetcher)
        self._site = _site_of(start)
        self._options = options
        self._fetcher = fetcher
        self._read = read
        self._pause = pause
        self._seen = {start}
        self._turns: dict[str, asyncio.Lock] = {}
        self._end = None if options.timeout is None else asyncio.get_running_loop().time() + options.timeout

    async def level(self, urls: list[str], depth: int, *, is_last: bool) -> AsyncIterator[Visit[T]]:
        """The pages of one level, in order, several fetched at a time."""
        for first in range(0, len(urls), _AT_ONCE):
            batch = urls[first : first + _AT_ONCE]
            for url, outcome in zip(batch, await self._all(batch), strict=True):
                if isinstance(outcome, str):
                    yield Visit(url=url, depth=depth, error=outcome)
                    continue
                fetched, value = outcome
                if fetched.final_url != url and fetched.final_url in self._seen:
                    continue  # the same page through a redirect
                self._seen.add(fetched.final_url)
                links, refused = ((), []) if is_last else await self._links(fetched, depth)
                is_given = value if is_wanted(url, self._options) else None
                yield Visit(url=url, depth=depth, value=is_given, links=links)
                for visit in refused:
                    yield visit

    async def _all(self, urls: list[str]) -> list[tuple[Fetched, T | None] | str]:
        """The result of each of `urls`, or why there is none, within the time limit of the crawl."""
        tasks = [asyncio.create_task(self._visit(url)) for url in urls]
        try:
            left = None if self._end is None else max(0.0, self._end - asyncio.get_running_loop().time())
            await asyncio.wait(tasks, timeout=left)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        over = reason("crawl_time", seconds=f"{self._options.timeout or 0:g}")
        return [over if task.cancelled() else task.result() for task in tasks]

    async def _visit(self, url: str) -> tuple[Fetched, T | None] | str:
        try:
            if refusal := await self.robots.refusal(url):
                return refusal
            await self._wait_for_turn(url)
            fetched = await self._fetcher.fetch(url, refusal=self._refused_redirect)
            return fetched, None if self._read is None else await self._read(fetched)
        except (FetchRefused, PageError) as error:
            return error.reason
        except Exception as error:  # one bad page must not end the crawl
            logger.exception("A page of a crawl could not be read")
            return reason("unexpected", kind=type(error).__name__)

    async def _wait_for_turn(self, url: str) -> None:
        """Wait for the delay that the host asks for."""
        delay = (await self.robots.rules(url)).delay
        if not delay:
            return
        host = _site_of(url)
        is_first = host not in self._turns
        async with self._turns.setdefault(host, asyncio.Lock()):
            if not is_first:
                await self._pause(delay)

    async def _refused_redirect(self, url: str) -> str | None:
        if not self._is_inside(url):
            return reason("outside", url=url[:200])
        return await self.robots.refusal(url)

    async def _links(self, fetched: Fetched, depth: int) -> tuple[tuple[str, ...], list[Visit[T]]]:
        """The new pages that a page links to, and those that must not be read."""
        if fetched.content_type not in _HTML:
            return (), []
        found = await asyncio.to_thread(links_of, fetched.body, fetched.final_url, charset=fetched.charset)
        links: list[str] = []
        refused: list[Visit[T]] = []
        for link in found:
            if len(links) == self._options.max_breadth:
                break
            try:
                url = check_url(link, allowed_hosts=self._fetcher.allowed_hosts)
            except FetchRefused as error:
                url, refusal = link, error.reason if self._options.allow_external else ""
            else:
                refusal = ""
                if url in self._seen or not self._is_followed(url):
                    continue
                self._seen.add(url)
                refusal = await self.robots.known_refusal(url) or ""
                if not refusal:
                    links.append(url)
            if refusal and len(refused) < self._options.max_breadth:
                refused.append(Visit(url=url, depth=depth + 1, error=refusal))
        return tuple(links), refused

    def _is_inside(self, url: str) -> bool:
        site = _site_of(url)
        return bool(self._options.allow_external) or site == self._site or site.endswith(f".{self._site}")

    def _is_followed(self, url: str) -> bool:
        return is_page(urlsplit(url).path) and self._is_inside(url) and is_wanted(url, self._options)


def _site_of(url: str) -> str:
    """Host and port, which identify a site; ports 80 and 443 count as the same."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    return f"{host}:{parts.port}" if parts.port not in (None, 80, 443) else host


AGENT = "hikidashi"
"""The product token of this crawler in robots.txt."""
LONGEST_DELAY = 10.0
"""The longest delay between two pages of a host that is honoured, in seconds."""

_MAX_BYTES = 500 * 1024  # the minimum that the standard requires a crawler to parse
_MOST_LINES = 10_000  # each rule with a wildcard costs time at each address
_LATER = (408, 429)  # statuses of a server that may have a robots.txt
_VERSION_OF_AGENT = re.compile(rf"^(\s*user-agent\s*:\s*{AGENT})/[^\s#]*", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules of one host, by Protego: the longest matching rule decides."""

    parsed: Protego | None = None
    """None allows everything."""
    refused: str | None = None
    """Why nothing may be read, if robots.txt could not be fetched."""

    @property
    def delay(self) -> float:
        """Seconds between two pages."""
        asked = self.parsed.crawl_delay(AGENT) if self.parsed is not None else None
        return min(max(0.0, asked or 0.0), LONGEST_DELAY)  # max(0.0, nan) is 0.0, and protego 0.4 passes on less than 0

    def allows(self, url: str) -> bool:
        """Whether `url` may be read."""
        return self.parsed is None or self.parsed.can_fetch(url, AGENT)


def parse_robots(body: bytes) -> RobotsRules:
    """The rules of a robots.txt."""
    lines = body[:_MAX_BYTES].decode("utf-8-sig", "replace").splitlines()[:_MOST_LINES]
    return RobotsRules(Protego.parse(_VERSION_OF_AGENT.sub(r"\1", "\n".join(lines))))


class Robots:
    """The rules of each host, fetched once through a guarded fetcher."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._hosts: dict[str, asyncio.Task[RobotsRules]] = {}

    async def rules(self, url: str) -> RobotsRules:
        """The rules of the host of `url`."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._hosts:
            self._hosts[origin] = asyncio.create_task(self._fetched(f"{origin}/robots.txt"))
        return await asyncio.shield(self._hosts[origin])

    async def refusal(self, url: str) -> str | None:
        """Why `url` must not be read; None if it may."""
        rules = await self.rules(url)
        if rules.refused is not None:
            return rules.refused
        return None if rules.allows(url) else reason("robots")

    async def known_refusal(self, url: str) -> str | None:
        """As `refusal`, but only if the rules of the host are known; none are fetched for a link alone."""
        parts = urlsplit(url)
        return await self.refusal(url) if f"{parts.scheme}://{parts.netloc}" in self._hosts else None

    async def aclose(self) -> None:
        """Cancel the requests that are running."""
        for task in self._hosts.values():
            task.cancel()
        await asyncio.gather(*self._hosts.values(), return_exceptions=True)

    async def _fetched(self, url: str) -> RobotsRules:
        try:
            fetched = await self._fetcher.fetch(url)
        except FetchRefused:
            return RobotsRules()  # fetching the pages is guarded as well
        except PageError as error:
            status = error.status_code or 0
            endless = error.reason == reason("redirects", limit=self._fetcher.max_redirects)
            if endless or (400 <= status < 500 and status not in _LATER):
                return RobotsRules()  # a host without robots.txt allows everything
            return RobotsRules(refused=reason("robots_unreadable", why=error.reason))
        return await asyncio.to_thread(parse_robots, fetched.body)


# Each stops at the next bracket, so matching takes linear time on any page.
_ANCHOR = re.compile(r"<a\b([^<>]*)>", re.IGNORECASE)
_BASE = re.compile(r"<base\b([^<>]*)>", re.IGNORECASE)
_HREF = re.compile(r"(?<![\w-])href\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)'|([^\s\"'<>]+))", re.IGNORECASE)
_MOST_ANCHORS = 10_000
_WEB = re.compile(r"https?://", re.IGNORECASE)
_LONGEST = 8192
_NO_PAGES = re.compile(
    r"\.(?:png|jpe?g|gif|webp|avif|svg|ico|bmp|tiff?|css|js|mjs|map|json|woff2?|ttf|otf|eot|mp[34]|m4[av]|webm|ogg|wav|"
    r"avi|mov|zip|gz|bz2|xz|zst|7z|rar|tar|tgz|whl|jar|exe|msi|dmg|pkg|deb|rpm|apk|iso|bin)$",
    re.IGNORECASE,
)


def links_of(body: bytes, url: str, *, charset: str | None = None) -> list[str]:
    """The web addresses that the HTML page at `url` links to, without fragments or duplicates, in order.

    At most the first 10,000 links are read.
    """
    text = "".join(_outside_comments(decode_page(body, charset)))
    base = _BASE.search(text)
    start = _joined(url, _href(base[1])) if base else url
    anchors = islice(_ANCHOR.finditer(text), _MOST_ANCHORS)
    found = (_joined(start or url, _href(anchor[1])) for anchor in anchors)
    return list(dict.fromkeys(link for link in found if link))


def is_page(path: str) -> bool:
    """Whether `path` may be a page rather than an image, a style sheet or an archive."""
    return not _NO_PAGES.search(path)


def _outside_comments(text: str) -> Iterator[str]:
    at = 0
    while (begin := text.find("<!--", at)) >= 0:
        yield text[at:begin]
        end = text.find("-->", begin)
        if end < 0:  # browsers treat the rest as a comment, too
            return
        at = end + len("-->")
    yield text[at:]


def _href(attributes: str) -> str:
    found = _HREF.search(attributes)
    return unescape(found[1] or found[2] or found[3] or "").strip() if found else ""


def _joined(base: str, href: str) -> str:
    if not href or len(href) > _LONGEST:
        return ""
    try:
        link = urldefrag(urljoin(base, href)).url
    except ValueError:  # such as `http://[`
        return ""
    return link if _WEB.match(link) else ""
