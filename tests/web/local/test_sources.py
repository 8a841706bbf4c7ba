"""Pages and sitemaps of the web come into the index through the guarded fetch."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable, Iterator
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import TavilyAPIError
from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.web.local import IngestEvent, LocalIndex, sources
from hikidashi.web.local.sources import is_sitemap, locations
from hikidashi.web.pages.fetch import Fetcher
from hikidashi.web.request import CrawlOptions

Ingested = Callable[..., Awaitable[list[IngestEvent]]]


class Site(LoopbackServer):
    """A site with pages that can be changed, and that counts what is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []

    def handle(self, exchange: Exchange) -> None:
        self.asked.append(exchange.path)
        if (body := self.pages.get(exchange.path)) is None:
            exchange.answer(404, b"", {})
        else:
            kind = "application/xml" if body.startswith((b"<?xml", b"\x1f")) else "text/html"
            exchange.answer(200, body, {"content-type": kind})

    def page(self, path: str, text: str) -> None:
        html = f"<html><head><title>{path}</title></head><body><article><p>{text}</p></article></body></html>"
        self.pages[path] = html.encode()

    def sitemap(self, path: str, *addresses: str, element: str = "urlset") -> bytes:
        listed = "".join(f"<url><loc>{address}</loc></url>" for address in addresses)
        self.pages[path] = f'<?xml version="1.0"?><{element}>{listed}</{element}>'.encode()
        return self.pages[path]

    @property
    def fetcher(self) -> Fetcher:
        return Fetcher(allowed_hosts={urlsplit(self.url).netloc})


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        server.page("/oak", "Oak is heavy and lasts for centuries in any drawer.")
        server.page("/pine", "Pine is light and warps when it gets damp.")
        yield server


def outcomes(site: Site, events: list[IngestEvent]) -> dict[str, tuple[str, str]]:
    return {event.url.removeprefix(site.url): (event.kind, event.reason) for event in events}


async def test_a_page_is_fetched_once_and_found_by_its_address(
    site: Site, index: LocalIndex, ingested: Ingested
) -> None:
    events = await ingested(f"{site.url}/oak", fetcher=site.fetcher)
    assert outcomes(site, events) == {"/oak": ("added", "")}
    assert site.asked == ["/oak"]
    (found,) = index.search("centuries")
    assert (found.url, found.title) == (f"{site.url}/oak", "/oak")


async def test_a_page_is_taken_in_again_only_if_its_text_changed(
    site: Site, index: LocalIndex, ingested: Ingested
) -> None:
    await ingested(f"{site.url}/oak", fetcher=site.fetcher)
    assert outcomes(site, await ingested(f"{site.url}/oak", fetcher=site.fetcher)) == {"/oak": ("unchanged", "")}
    site.page("/oak", "Oak is now about tannin, which blackens near iron.")
    assert outcomes(site, await ingested(f"{site.url}/oak", fetcher=site.fetcher)) == {"/oak": ("updated", "")}
    assert index.search("centuries") == []
    assert index.search("tannin")


async def test_a_sitemap_brings_its_pages_and_says_which_failed(
    site: Site, index: LocalIndex, ingested: Ingested
) -> None:
    site.sitemap("/sitemap.xml", f"{site.url}/oak", f"{site.url}/gone", f"{site.url}/pine", "https://example.com/x")
    events = await ingested(f"{site.url}/sitemap.xml", fetcher=site.fetcher)
    assert outcomes(site, events) == {
        "/oak": ("added", ""),
        "/gone": ("failed", "the server answered 404"),
        "/pine": ("added", ""),
        "https://example.com/x": ("skipped", "it is on another host than the sitemap that lists it"),
    }
    assert {event.total for event in events} == {4}
    assert index.totals().documents == 2


async def test_sitemaps_of_sitemaps_are_followed_also_in_circles_and_compressed(
    site: Site, index: LocalIndex, ingested: Ingested
) -> None:
    site.sitemap("/index.xml", f"{site.url}/index.xml", f"{site.url}/packed.xml.gz", element="sitemapindex")
    site.pages["/packed.xml.gz"] = gzip.compress(site.sitemap("/plain.xml", f"{site.url}/pine"))
    await ingested(f"{site.url}/index.xml", fetcher=site.fetcher)
    assert index.urls() == [f"{site.url}/pine"]


async def test_a_sitemap_without_end_is_cut_and_says_so(
    site: Site, ingested: Ingested, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_MOST_PAGES", 1)
    site.sitemap("/sitemap.xml", f"{site.url}/oak", f"{site.url}/pine")
    events = await ingested(f"{site.url}/sitemap.xml", fetcher=site.fetcher)
    assert outcomes(site, events) == {
        "/oak": ("added", ""),
        "/pine": ("skipped", "only 1 pages are indexed at once"),
    }


async def test_an_address_inside_the_network_is_refused(site: Site, ingested: Ingested) -> None:
    (event,) = await ingested(f"{site.url}/oak")
    assert event.kind == "failed"
    assert site.asked == []


async def test_a_page_that_cannot_be_fetched_any_more_stays_in_the_index(
    site: Site, index: LocalIndex, ingested: Ingested
) -> None:
    await ingested(f"{site.url}/oak", fetcher=site.fetcher)
    del site.pages["/oak"]
    assert outcomes(site, await ingested(f"{site.url}/oak", fetcher=site.fetcher))["/oak"][0] == "failed"
    assert index.search("centuries")


def test_addresses_of_a_sitemap_are_read_without_an_xml_parser() -> None:
    body = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "&b;&b;">]><urlset>
    <url><loc> https://example.com/a?x=1&amp;y=2 </loc></url><url><LOC><![CDATA[https://example.com/b]]></LOC></url>
    <url><loc>https://example.com/a?x=1&amp;y=2</loc></url><url><loc></loc></url></urlset>"""
    assert locations(body) == ["https://example.com/a?x=1&y=2", "https://example.com/b"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<urlset>", True),
        (b'<s:urlset xmlns:s="x">', True),
        (b"<sitemapindex>", True),
        (b"<html>", False),
        (b"", False),
        (b"\x1f\x8b broken", False),
    ],
)
def test_a_sitemap_is_known_by_its_first_element(body: bytes, expected: bool) -> None:
    assert is_sitemap(body) is expected


@given(st.binary())
def test_any_bytes_are_read_as_a_sitemap_without_an_error(body: bytes) -> None:
    assert isinstance(locations(body), list)


async def test_a_sitemap_with_an_address_that_is_none_leaves_the_others_indexed(
    site: Site, index: LocalIndex, ingested: Ingested
) -> None:
    site.sitemap("/sitemap.xml", f"{site.url}/oak", "http://[", f"{site.url}/pine")
    events = await ingested(f"{site.url}/sitemap.xml", fetcher=site.fetcher)
    assert {event.url: event.kind for event in events} == {
        f"{site.url}/oak": "added",
        f"{site.url}/pine": "added",
        "http://[": "skipped",
    }


async def test_a_site_is_indexed_by_its_links_as_far_as_it_is_asked_for(
    site: Site, index: LocalIndex, ingested: Ingested
) -> None:
    site.page("/", 'Start here with oak. <a href="/oak">oak</a> <a href="/closed">no</a> <a href="/gone">gone</a>')
    site.page("/oak", 'Oak is heavy. <a href="/pine">pine</a>')
    site.pages["/robots.txt"] = b"User-agent: *\nDisallow: /closed"
    events = await ingested(f"{site.url}/", fetcher=site.fetcher, crawl=CrawlOptions(max_depth=1))
    assert outcomes(site, events) == {
        "/": ("added", ""),
        "/oak": ("added", ""),
        "/closed": ("failed", "robots.txt does not allow it"),
        "/gone": ("failed", "the server answered 404"),
    }
    assert sorted(path for path in site.asked if path != "/robots.txt") == ["/", "/gone", "/oak"]
    again = await ingested(f"{site.url}/", fetcher=site.fetcher, crawl=CrawlOptions(max_depth=2, limit=4))
    assert outcomes(site, again)["/oak"] == ("unchanged", "")
    assert outcomes(site, again)["/pine"] == ("added", "")
    assert len(await ingested(f"{site.url}/", fetcher=site.fetcher, crawl=CrawlOptions(max_depth=3, limit=2))) == 3
    (refused,) = await ingested("http://10.0.0.1/", crawl=CrawlOptions())
    assert (refused.kind, refused.reason) == ("failed", "it leads to a private, local or reserved address")
    with pytest.raises(TavilyAPIError, match="`limit` is 0"):
        await ingested(f"{site.url}/", fetcher=site.fetcher, crawl=CrawlOptions(limit=0))


async def test_a_page_without_text_is_skipped_and_others_are_indexed(
    site: Site, index: LocalIndex, ingested: Ingested
) -> None:
    site.pages["/blank"] = b"<html><body></body></html>"
    events = await ingested(f"{site.url}/blank", f"{site.url}/oak", fetcher=site.fetcher)
    assert outcomes(site, events) == {"/blank": ("skipped", "the page has no text"), "/oak": ("added", "")}
