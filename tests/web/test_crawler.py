"""A crawl reads the pages of a site in a fixed order, within its limits, and a bad page is that page's failure."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.web import crawler
from hikidashi.web.crawler import LONGEST_DELAY, Robots, crawl_site, is_page, links_of, map_site, parse_robots, visits
from hikidashi.web.local import LocalSearchProvider
from hikidashi.web.pages.fetch import Fetched, Fetcher
from hikidashi.web.request import CrawlOptions, check_crawl_options
from hikidashi.web.results import CrawlResults, MapResults


class Site(LoopbackServer):
    """A site of pages that link to one another."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, tuple[int, bytes, dict[str, str]]] = {}
        self.asked: list[str] = []
        self.hangs: set[str] = set()

    def handle(self, exchange: Exchange) -> None:
        self.asked.append(exchange.path)
        if exchange.path in self.hangs:
            exchange.wait(None)
        status, body, headers = self.pages.get(exchange.path, (404, b"", {}))
        exchange.answer(status, body, {"content-type": "text/html", **headers})

    def page(self, path: str, *links: str, text: str = "") -> None:
        anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
        sentence = text or f"This is the page {path}, and it says something about drawers."
        html = (
            f"<html><head><title>{path}</title></head><body><article><p>{sentence}</p>{anchors}</article></body></html>"
        )
        self.pages[path] = (200, html.encode(), {})

    def robots(self, text: str) -> None:
        self.pages["/robots.txt"] = (200, text.encode(), {"content-type": "text/plain"})

    @property
    def fetcher(self) -> Fetcher:
        return Fetcher(allowed_hosts={urlsplit(self.url).netloc})

    @property
    def read(self) -> list[str]:
        return [path for path in self.asked if path != "/robots.txt"]


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        server.page("/", "/a", "/b#part", "b", "mailto:x@y.example", "/c.png", "https://example.com/out")
        server.page("/a", "/a/1", "/a/2", "/")
        server.page("/b", "/b/1", "/gone", "/a/1")
        server.page("/a/1", "/deep")
        server.page("/a/2")
        server.page("/b/1")
        server.page("/deep")
        yield server


def paths(site: Site, results: CrawlResults | MapResults) -> list[str]:
    found = results.results
    urls = [one if isinstance(one, str) else one.url for one in found]
    return [url.removeprefix(site.url) for url in urls]


def failures(site: Site, results: CrawlResults | MapResults) -> dict[str, str]:
    return {page.url.removeprefix(site.url): page.error for page in results.failed_results}


async def crawl(site: Site, url: str = "/", **options: Any) -> CrawlResults:
    return await crawl_site(f"{site.url}{url}", CrawlOptions(**options), fetcher=site.fetcher)


async def map_of(site: Site, url: str = "/", **options: Any) -> MapResults:
    return await map_site(f"{site.url}{url}", CrawlOptions(**options), fetcher=site.fetcher)


async def test_pages_come_level_by_level_in_the_order_of_their_links(site: Site) -> None:
    found = await crawl(site, max_depth=2)
    assert paths(site, found) == ["/", "/a", "/b", "/a/1", "/a/2", "/b/1"]
    assert failures(site, found) == {"/gone": "the server answered 404"}
    assert "says something about drawers" in found.results[1].raw_content
    assert found.results[1].title == "/a"
    assert len(site.asked) == len(set(site.asked))
    assert paths(site, await crawl(site, max_depth=2)) == ["/", "/a", "/b", "/a/1", "/a/2", "/b/1"]


async def test_depth_breadth_and_number_have_limits(site: Site) -> None:
    assert paths(site, await crawl(site)) == ["/", "/a", "/b"]
    assert paths(site, await crawl(site, max_depth=5, max_breadth=1)) == ["/", "/a", "/a/1", "/deep"]
    site.asked.clear()
    assert paths(site, await crawl(site, max_depth=5, limit=4)) == ["/", "/a", "/b", "/a/1"]
    assert len(site.read) == 4


async def test_paths_and_domains_are_selected_and_excluded(site: Site) -> None:
    assert paths(site, await crawl(site, max_depth=3, select_paths=("^/a",))) == ["/a", "/a/1", "/a/2"]
    assert paths(site, await crawl(site, max_depth=2, exclude_paths=(r"/\d$", "gone"))) == ["/", "/a", "/b"]
    assert paths(site, await crawl(site, max_depth=2, select_domains=(r"^docs\.",))) == []
    assert paths(site, await crawl(site, max_depth=2, exclude_domains=("127",))) == []


async def test_robots_txt_is_obeyed(site: Site) -> None:
    site.robots("User-agent: *\nDisallow: /b\nDisallow: /a/2")
    found = await crawl(site, max_depth=2)
    assert paths(site, found) == ["/", "/a", "/a/1"]
    assert failures(site, found) == dict.fromkeys(("/b", "/a/2"), "robots.txt does not allow it")
    assert not {"/b", "/a/2"} & set(site.asked)
    assert site.asked.count("/robots.txt") == 1
    site.robots("User-agent: hikidashi\nDisallow: /")
    nothing = await crawl(site)
    assert (nothing.results, failures(site, nothing)) == ((), {"/": "robots.txt does not allow it"})


async def test_a_host_that_asks_for_time_between_pages_gets_it(site: Site) -> None:
    site.robots("User-agent: *\nCrawl-delay: 7")
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    options = check_crawl_options(CrawlOptions())
    urls = [visit.url async for visit in visits(f"{site.url}/", options, fetcher=site.fetcher, read=_body, pause=pause)]
    assert (len(urls), pauses) == (3, [7.0, 7.0])


async def _body(fetched: Fetched) -> bytes:
    return fetched.body


async def test_other_sites_are_left_alone_unless_they_are_allowed(site: Site) -> None:
    with Site() as other:
        other.page("/out")
        site.page("/", f"{other.url}/out", "/a", "http://10.0.0.1/router", "http://metadata.google.internal/")
        assert paths(site, await crawl(site)) == ["/", "/a"]
        assert other.asked == []
        hosts = {urlsplit(server.url).netloc for server in (site, other)}
        fetcher = Fetcher(allowed_hosts=hosts)
        options = CrawlOptions(allow_external=True)
        found = await crawl_site(f"{site.url}/", options, fetcher=fetcher)
        assert paths(site, found) == ["/", f"{other.url}/out", "/a"]
        private = "it leads to a private, local or reserved address"
        assert failures(site, found) == {"http://10.0.0.1/router": private, "http://metadata.google.internal/": private}
        assert other.asked == ["/robots.txt", "/out"]


async def test_a_redirect_out_of_the_site_or_against_its_rules_is_not_followed(site: Site) -> None:
    with Site() as other:
        other.page("/out")
        site.pages["/a"] = (302, b"", {"location": f"{other.url}/out"})
        site.pages["/b"] = (301, b"", {"location": "/b/1"})
        site.page("/", "/a", "/b", "/c")
        site.pages["/c"] = (302, b"", {"location": "/closed"})
        site.robots("User-agent: *\nDisallow: /closed")
        fetcher = Fetcher(allowed_hosts={urlsplit(server.url).netloc for server in (site, other)})
        found = await crawl_site(f"{site.url}/", CrawlOptions(), fetcher=fetcher)
        assert paths(site, found) == ["/", "/b"]
        assert failures(site, found) == {
            "/a": f"it redirects to {other.url}/out, which is outside this crawl",
            "/c": "robots.txt does not allow it",
        }
        assert (other.asked, "/closed" in site.asked) == ([], False)


async def test_two_ways_to_one_page_give_it_once(site: Site) -> None:
    site.page("/", "/old", "/new")
    site.page("/new")
    site.pages["/old"] = (301, b"", {"location": "/new"})
    assert paths(site, await crawl(site)) == ["/", "/new"]


async def test_a_map_lists_addresses_and_does_not_fetch_the_last_level(site: Site) -> None:
    assert paths(site, await map_of(site)) == ["/", "/a", "/b"]
    assert site.read == ["/"]
    site.asked.clear()
    found = await map_of(site, max_depth=2)
    assert paths(site, found) == ["/", "/a", "/b", "/a/1", "/a/2", "/b/1", "/gone"]
    assert sorted(site.read) == ["/", "/a", "/b"]
    assert paths(site, await map_of(site, max_depth=2, limit=3)) == ["/", "/a", "/b"]
    assert paths(site, await map_of(site, max_depth=2, select_paths=("^/a",))) == ["/a", "/a/1", "/a/2"]
    site.robots("User-agent: *\nDisallow: /b")
    assert paths(site, await map_of(site)) == ["/", "/a"]


async def test_a_crawl_gives_what_it_has_when_its_time_is_over(site: Site) -> None:
    site.hangs.add("/b")
    options = check_crawl_options(CrawlOptions(timeout=2.0))
    found = [visit async for visit in visits(f"{site.url}/", options, fetcher=site.fetcher, read=_body)]
    assert {visit.url.removeprefix(site.url): visit.error for visit in found} == {
        "/": "",
        "/a": "",
        "/b": "the crawl's limit of 2 s was reached",
    }


async def test_a_crawl_ends_before_its_answer_grows_without_end(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = (await crawl(site, limit=1)).results
    monkeypatch.setattr(crawler, "_MAX_CHARACTERS", len(first.raw_content) + 10)
    found = await crawl(site, max_depth=2)
    assert paths(site, found) == ["/"]
    assert list(failures(site, found)) == ["/a"]
    assert "so it ended here" in failures(site, found)["/a"]


async def test_a_crawl_that_is_left_ends(site: Site) -> None:
    site.hangs.add("/a")
    task = asyncio.create_task(crawl(site))
    while "/a" not in site.asked:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1/", "it leads to a private, local or reserved address"),
        ("http://[::1]/", "it leads to a private, local or reserved address"),
        ("ftp://example.com", "it does not begin with http"),
        ("", "it names no valid host"),
    ],
)
async def test_an_address_that_must_not_be_fetched_is_no_start(tmp_path: Any, url: str, why: str) -> None:
    provider = LocalSearchProvider(tmp_path / "none.db", language="en")
    for asked in (provider.crawl(url), provider.map(url)):
        with pytest.raises(TavilyAPIError, match=why) as caught:
            await asked
        assert caught.value.error_type is ErrorType.VALIDATION_ERROR


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_depth": 0}, "`max_depth` is 0. It must be an integer from 1 to 5."),
        ({"max_breadth": 501}, "`max_breadth` is 501"),
        ({"limit": True}, "`limit` is True"),
        ({"timeout": float("nan")}, "`timeout` is nan"),
        ({"select_paths": ("(",)}, "`select_paths` has '(', which is not a regular expression"),
        ({"exclude_paths": ("x" * 600,)}, "more than 500 characters"),
        ({"select_domains": tuple(f"d{n}" for n in range(101))}, "`select_domains` has 101 patterns"),
        ({"format": "html"}, "format"),
        ({"instructions": "find the API"}, "The local index cannot do `instructions` ('find the API')"),
        ({"categories": ("Docs",)}, "The local index cannot do `categories`"),
        ({"chunks_per_source": 2}, "The local index cannot do `chunks_per_source`"),
    ],
)
async def test_options_are_carried_out_or_refused_by_name(tmp_path: Any, options: dict[str, Any], words: str) -> None:
    provider = LocalSearchProvider(tmp_path / "none.db", language="en")
    with pytest.raises(TavilyAPIError) as caught:
        await provider.crawl("https://example.com/", options=CrawlOptions(**options))
    assert words in caught.value.message
    assert caught.value.error_type is ErrorType.VALIDATION_ERROR


async def test_text_is_given_where_it_is_asked_for(site: Site) -> None:
    site.page("/", text="<b>Bold</b> words stand in this sentence about drawers of oak.")
    (page,) = (await crawl(site, format="text")).results
    assert "**" not in page.raw_content


def test_links_are_read_as_a_browser_reads_them() -> None:
    html = b"""<base href="/docs/"><!-- <a href="no"> --><a class=x HREF='a?x=1&amp;y=2'>A</a>
    <a data-href="no" href = b>B</a><a name="no"><a href="//other.example/c#d"></a><a href="javascript:no()">
    <a href="http://["><a href="\xe6\x9c\xa8">"""
    assert links_of(html, "https://example.com/start") == [
        "https://example.com/docs/a?x=1&y=2",
        "https://example.com/docs/b",
        "https://other.example/c",
        "https://example.com/docs/木",
    ]
    assert not is_page("/a/photo.JPG")
    assert is_page("/a/paper.pdf")


@pytest.mark.parametrize("piece", [b"<!--", b"<a ", b"<a href=", b"<a href=x>", b'<a href="', b"href = "])
def test_a_page_made_of_one_piece_is_read_once(piece: bytes) -> None:
    assert len(links_of(piece * 200_000, "https://e.example/")) <= 1


@given(st.binary(max_size=500))
def test_no_page_is_trouble_for_its_links(body: bytes) -> None:
    assert all(
        link.startswith(("http://", "https://")) for link in map(str.lower, links_of(body, "https://e.example/"))
    )


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /private", "/private/a", False),
        ("User-agent: *\nDisallow: /private", "/public", True),
        ("User-agent: *\nDisallow: /\nAllow: /docs/", "/docs/a", True),
        ("User-agent: *\nAllow: /docs/\nDisallow: /docs/secret", "/docs/secret.html", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow:", "/anything", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?page=1", True),
        ("User-agent: *\nDisallow: /*/edit", "/wiki/page/edit", False),
        ("User-agent: *\nDisallow: /a*b*c$", "/a1b2c", False),
        ("User-agent: *\nDisallow: /a*b*c$", "/a1b2cd", True),
        ("User-agent: *\nDisallow: /?s=", "/?s=x", False),
        ("User-agent: *\nDisallow: /~me", "/%7Eme/x", False),
        ("User-agent: *\nDisallow: /%E6%9C%A8", "/%e6%9c%a8/a", False),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: Hikidashi/1.0\nDisallow: /no", "/yes", True),
        ("User-agent: hikidashi\nUser-agent: other\nDisallow: /no", "/no", False),
        ("User-agent: hikidashi\nDisallow: /a\n\nUser-agent: hikidashi\nDisallow: /b", "/b", False),
        ("\ufeffUSER-AGENT : *\r\nDISALLOW : /x # why", "/x", False),
        ("Disallow: /before-any-agent", "/before-any-agent", True),
        ("<html>not found</html>", "/a", True),
    ],
)
def test_rules_are_those_of_the_standard(rules: str, path: str, allowed: bool) -> None:
    assert parse_robots(rules.encode()).allows(f"https://example.com{path}") is allowed


@pytest.mark.parametrize(
    ("said", "seconds"), [("2.5", 2.5), ("86400", LONGEST_DELAY), ("-3", 0.0), ("nan", 0.0), ("soon", 0.0)]
)
def test_a_delay_is_kept_within_reason(said: str, seconds: float) -> None:
    assert parse_robots(f"User-agent: *\nCrawl-delay: {said}".encode()).delay == seconds


@given(st.binary(max_size=400), st.text(max_size=60))
def test_no_robots_txt_is_trouble(body: bytes, path: str) -> None:
    assert parse_robots(body).allows(f"https://example.com/{path}") in (True, False)


def test_a_pattern_made_of_wildcards_is_matched_at_once() -> None:
    rules = parse_robots(b"User-agent: *\nDisallow: /" + b"*a" * 2_000 + b"$")
    assert rules.allows("https://example.com/" + "a" * 8_000 + "b")


class Host(LoopbackServer):
    def __init__(self, status: int, body: bytes = b"User-agent: *\nDisallow: /no") -> None:
        super().__init__()
        self.asked: list[str] = []
        self._answer = (status, body)

    def handle(self, exchange: Exchange) -> None:
        self.asked.append(exchange.path)
        exchange.answer(*self._answer, {"content-type": "text/plain"})


@pytest.fixture
def hosts() -> Iterator[list[Host]]:
    running: list[Host] = []
    yield running
    for host in running:
        host.close()


@pytest.mark.parametrize(
    ("status", "refused"),
    [
        (200, {"/no": "robots.txt does not allow it"}),
        (404, {}),
        (403, {}),
        (503, dict.fromkeys(("/no", "/yes"), "its robots.txt could not be read: the server answered 503")),
        (429, dict.fromkeys(("/no", "/yes"), "its robots.txt could not be read: the server answered 429")),
    ],
)
async def test_a_host_is_asked_once_and_one_that_cannot_tell_allows_nothing(
    hosts: list[Host], status: int, refused: dict[str, str]
) -> None:
    host = Host(status)
    host.start()
    hosts.append(host)
    robots = Robots(Fetcher(allowed_hosts={urlsplit(host.url).netloc}))
    said = {path: await robots.refusal(f"{host.url}{path}") for path in ("/no", "/yes")}
    assert {path: reason for path, reason in said.items() if reason} == refused
    assert host.asked == ["/robots.txt"]
    assert await robots.known_refusal("http://other.example/") is None
    await robots.aclose()


class Huge(LoopbackServer):
    """A robots.txt without end."""

    def handle(self, exchange: Exchange) -> None:
        exchange.begin_stream(200, {"content-type": "text/plain"})
        while True:
            exchange.send(b"User-agent: *\nDisallow: /\n" * 1_000)


async def test_a_robots_txt_that_cannot_be_read_allows_nothing() -> None:
    with Huge() as host:
        robots = Robots(Fetcher(allowed_hosts={urlsplit(host.url).netloc}, max_bytes=100_000))
        said = await robots.refusal(f"{host.url}/page")
        await robots.aclose()
    assert said == "its robots.txt could not be read: it is larger than 97.7 KB"
