"""robots.txt as RFC 9309 has it: groups, the longest rule, wildcards, and what a host without one allows."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.web.crawler import LONGEST_DELAY, Robots, parse_robots
from hikidashi.web.pages.fetch import Fetcher


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
