from __future__ import annotations

import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.texts import in_language
from hikidashi.web.pages.extract import extract_urls
from hikidashi.web.pages.fetch import Fetcher
from hikidashi.web.results import ExtractedPage, ExtractResults, FailedPage


class Site(LoopbackServer):
    """A site whose page `/n` says n; `/missing` is missing, `/out` leads inside, `/empty` is empty."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once = 0
        self.most_at_once = 0
        self._lock = threading.Lock()

    def handle(self, exchange: Exchange) -> None:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        exchange.wait(0.01)
        with self._lock:
            self.at_once -= 1
        match exchange.path:
            case "/missing":
                exchange.answer(404, b"", {})
            case "/out":
                exchange.answer(302, b"", {"location": "http://169.254.169.254/"})
            case "/nowhere":
                exchange.answer(302, b"", {"location": "http://["})
            case "/empty":
                exchange.answer(200, b"<p></p>", {"content-type": "text/html"})
            case path:
                exchange.answer(200, f"page {path}".encode(), {"content-type": "text/plain"})

    @property
    def fetcher(self) -> Fetcher:
        return Fetcher(allowed_hosts={urlsplit(self.url).netloc})


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        yield server


async def test_pages_come_in_order_and_each_failure_says_why(site: Site) -> None:
    urls = [f"{site.url}/{path}" for path in ("missing", "1", "out", "2", "empty")]
    urls.insert(1, "example.com")
    found = await extract_urls(urls, fetcher=site.fetcher, provider="local")
    assert found == ExtractResults(
        results=(
            ExtractedPage(url=f"{site.url}/1", raw_content="page /1"),
            ExtractedPage(url=f"{site.url}/2", raw_content="page /2"),
        ),
        failed_results=(
            FailedPage(url=f"{site.url}/missing", error="the server answered 404"),
            FailedPage(url="example.com", error="it does not begin with http:// or https://"),
            FailedPage(url=f"{site.url}/out", error="it leads to a private, local or reserved address"),
            FailedPage(url=f"{site.url}/empty", error="the page has no text"),
        ),
        provider="local",
    )


async def test_a_redirect_to_no_address_is_the_failure_of_that_page_alone(site: Site) -> None:
    urls = [f"{site.url}/{path}" for path in ("1", "nowhere", "2")]
    found = await extract_urls(urls, fetcher=site.fetcher)
    assert [page.raw_content for page in found.results] == ["page /1", "page /2"]
    assert found.failed_results == (
        FailedPage(url=f"{site.url}/nowhere", error="it redirects to 'http://[', which is not a URL"),
    )


async def test_whatever_a_page_does_the_others_are_read(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    async def resolver(host: str, port: int) -> list[str]:
        raise ZeroDivisionError("sk-test")

    fetcher = Fetcher(allowed_hosts=site.fetcher.allowed_hosts, resolver=resolver)
    found = await extract_urls(["https://example.com/", f"{site.url}/1"], fetcher=fetcher)
    assert [page.raw_content for page in found.results] == ["page /1"]
    assert found.failed_results == (
        FailedPage(url="https://example.com/", error="reading it failed with an unexpected ZeroDivisionError"),
    )
    assert "A page could not be fetched" in caplog.text


async def test_reasons_are_known_in_japanese_too(site: Site) -> None:
    found = await extract_urls([f"{site.url}/missing"], fetcher=site.fetcher)
    (failed,) = found.failed_results
    assert in_language(failed.error, "ja") == "サーバーの応答は 404 でした"


async def test_no_more_pages_are_fetched_at_once_than_allowed(site: Site) -> None:
    urls = [f"{site.url}/{number}" for number in range(20)]
    found = await extract_urls(urls, fetcher=site.fetcher)
    assert [page.url for page in found.results] == urls
    assert site.most_at_once <= 8


async def test_addresses_inside_the_network_are_not_asked_for(site: Site) -> None:
    found = await extract_urls([site.url])
    assert found.results == ()
    assert [failed.error for failed in found.failed_results] == ["only the ports 80 and 443 are allowed"]


async def test_an_empty_list_is_an_error() -> None:
    with pytest.raises(TavilyAPIError) as refused:
        await extract_urls([])
    assert refused.value.error_type is ErrorType.VALIDATION_ERROR
