"""Bodies in tiny pieces: joined, with other tasks running in between."""

from __future__ import annotations

import asyncio
import datetime as dt
import gzip
import pickle
import socket
import ssl
import threading
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, FetchRefused, PageError, TavilyAPIError
from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.web.messages import reason
from hikidashi.web.pages import fetch as _chunks
from hikidashi.web.pages.fetch import (
    Decompressor,
    Fetched,
    Fetcher,
    Resolver,
    TooLarge,
    TooManyChunks,
    Undecodable,
    in_larger_chunks,
    resolve,
)
from hikidashi.web.providers.tavily import TavilyAPIClient

PAGE = b"<title>Drawers</title><p>Every tool has its place."
HTML = {"content-type": "text/html; charset=UTF-8"}


class Pages(LoopbackServer):
    """A web server whose paths are answered by functions."""

    def __init__(self, **paths: Callable[[Exchange], None]) -> None:
        super().__init__()
        self.paths = {f"/{name}": answer for name, answer in paths.items()}
        self.asked: list[Exchange] = []

    def handle(self, exchange: Exchange) -> None:
        self.asked.append(exchange)
        self.paths.get(exchange.path, page)(exchange)

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    def fetcher(
        self, *, timeout: float = 20.0, max_bytes: int = 1_000_000, max_redirects: int = 5, proxied: bool = False
    ) -> Fetcher:
        """A fetcher for this server, or through it."""
        return Fetcher(
            timeout=timeout,
            max_bytes=max_bytes,
            max_redirects=max_redirects,
            allowed_hosts=frozenset() if proxied else {self.host},
            egress_proxy=f"http://user:sk-test@{self.host}" if proxied else None,
        )


def page(exchange: Exchange) -> None:
    exchange.answer(200, PAGE, HTML)


def redirect_to(location: str, status: int = 302) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(status, b"elsewhere", {"location": location})


def status(code: int, **headers: str) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(
        code, b"", {name.replace("_", "-"): value for name, value in headers.items()}
    )


def encoded(body: bytes, encoding: str) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(200, body, {**HTML, "content-encoding": encoding})


def answering(*addresses: str) -> Resolver:
    async def resolver(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolver


@pytest.fixture
def pages() -> Iterator[Pages]:
    with Pages() as server:
        yield server


async def test_a_page_comes_with_its_type_encoding_and_address(pages: Pages) -> None:
    fetched = await pages.fetcher().fetch(f"{pages.url}/a?b=1#part")
    assert fetched == Fetched(
        url=f"{pages.url}/a?b=1#part",
        final_url=f"{pages.url}/a?b=1#part",
        status=200,
        content_type="text/html",
        charset="UTF-8",
        body=PAGE,
        headers=fetched.headers,
    )
    [asked] = pages.asked
    assert (asked.method, asked.path, asked.query) == ("GET", "/a", "b=1")
    assert asked.headers["host"] == pages.host
    assert asked.headers["accept-encoding"] == "gzip, deflate"
    assert "cookie" not in asked.headers


async def test_an_address_without_a_path_asks_for_the_root(pages: Pages) -> None:
    await pages.fetcher().fetch(pages.url + "?q=1")
    assert (pages.asked[0].path, pages.asked[0].query) == ("/", "q=1")


async def test_proxies_of_the_environment_are_not_used(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert (await pages.fetcher().fetch(pages.url)).body == PAGE


async def test_redirects_are_followed_and_carry_no_cookies(pages: Pages) -> None:
    pages.paths["/old"] = lambda exchange: exchange.answer(301, b"", {"location": "/temp", "set-cookie": "id=1"})
    pages.paths["/temp"] = redirect_to("新しい?x=1".encode().decode("latin-1"), 307)
    fetched = await pages.fetcher().fetch(f"{pages.url}/old")
    assert (fetched.url, fetched.final_url) == (f"{pages.url}/old", f"{pages.url}/%E6%96%B0%E3%81%97%E3%81%84?x=1")
    assert all("cookie" not in asked.headers for asked in pages.asked)


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "//169.254.169.254/latest/",
        "http://2130706433/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:25/",
        "http://user:sk-test@example.com/",
        "http://example.com:22/",
    ],
)
async def test_a_redirect_to_where_nothing_may_be_fetched_is_refused(pages: Pages, location: str) -> None:
    pages.paths["/out"] = redirect_to(location)
    with pytest.raises(FetchRefused) as refused:
        await pages.fetcher().fetch(f"{pages.url}/out")
    assert "sk-test" not in str(refused.value)


@pytest.mark.parametrize("location", ["http://[", "//[::1", "http://[v1.x]:y/", "http://[]"])
async def test_a_redirect_to_what_is_no_address_is_a_failure_of_the_page(pages: Pages, location: str) -> None:
    pages.paths["/bad"] = redirect_to(location)
    with pytest.raises((PageError, FetchRefused)):
        await pages.fetcher().fetch(f"{pages.url}/bad")


async def test_redirects_that_never_end_are_given_up(pages: Pages) -> None:
    pages.paths["/loop"] = redirect_to("/loop")
    with pytest.raises(PageError, match="it redirects more than 3 times"):
        await pages.fetcher(max_redirects=3).fetch(f"{pages.url}/loop")
    assert len(pages.asked) == 4


async def test_a_loopback_server_is_not_reached_without_leave(pages: Pages) -> None:
    with pytest.raises(FetchRefused):
        await Fetcher().fetch(pages.url)
    assert pages.asked == []


@pytest.mark.parametrize(
    "answers",
    [["127.0.0.1"], ["93.184.215.14", "10.0.0.1"], ["::1"], ["fe80::1%2"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"]],
)
async def test_a_name_that_leads_inside_is_refused_by_any_of_its_answers(answers: list[str]) -> None:
    with pytest.raises(FetchRefused) as refused:
        await Fetcher(resolver=answering(*answers)).fetch("http://rebind.example/")
    assert (refused.value.url, refused.value.code) == ("http://rebind.example/", "private")


async def test_the_address_that_was_checked_is_the_one_connected_to(pages: Pages) -> None:
    port = urlsplit(pages.url).port
    asked: list[str] = []

    async def changes_its_mind(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["192.0.2.1"]

    fetcher = Fetcher(allowed_hosts={f"pages.example:{port}"}, resolver=changes_its_mind)
    assert (await fetcher.fetch(f"http://pages.example:{port}/")).body == PAGE
    assert asked == ["pages.example"]
    assert pages.asked[0].headers["host"] == f"pages.example:{port}"


async def test_a_name_that_moves_inside_between_two_redirects_is_refused(pages: Pages) -> None:
    port = urlsplit(pages.url).port
    pages.paths["/"] = redirect_to("http://rebind.example/")

    async def resolver(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    with pytest.raises(FetchRefused):
        await Fetcher(allowed_hosts={f"start.example:{port}"}, resolver=resolver).fetch(f"http://start.example:{port}/")
    assert len(pages.asked) == 1


async def test_the_next_address_is_tried_when_one_does_not_answer(pages: Pages) -> None:
    port = urlsplit(pages.url).port
    resolver = answering("::1", "127.0.0.1")
    fetcher = Fetcher(allowed_hosts={f"two.example:{port}"}, resolver=resolver)
    assert (await fetcher.fetch(f"http://two.example:{port}/")).body == PAGE


@pytest.mark.parametrize("answers", [[], ["not an address"]])
async def test_a_name_without_addresses_is_a_failure_of_the_network(answers: list[str]) -> None:
    with pytest.raises(PageError, match="its host name was not found") as failed:
        await Fetcher(resolver=answering(*answers)).fetch("http://gone.example/")
    assert failed.value.error_type is ErrorType.NETWORK_ERROR


async def test_a_resolver_that_fails_is_a_failure_of_the_network() -> None:
    async def broken(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(PageError, match="its host name was not found"):
        await Fetcher(resolver=broken).fetch("http://gone.example/")


async def test_the_system_resolves_names() -> None:
    assert set(await resolve("localhost", 80)) & {"127.0.0.1", "::1"}


@pytest.mark.parametrize(
    ("code", "error_type"),
    [
        (401, ErrorType.API_ERROR),
        (403, ErrorType.API_ERROR),
        (404, ErrorType.API_ERROR),
        (408, ErrorType.TIMEOUT_ERROR),
        (429, ErrorType.RATE_LIMIT_ERROR),
        (500, ErrorType.SERVER_ERROR),
        (503, ErrorType.SERVICE_UNAVAILABLE),
        (304, ErrorType.API_ERROR),
    ],
)
async def test_an_answer_that_is_no_page_says_its_status(pages: Pages, code: int, error_type: ErrorType) -> None:
    pages.paths["/"] = status(code, retry_after="7")
    with pytest.raises(TavilyAPIError) as failed:
        await pages.fetcher().fetch(f"{pages.url}/")
    assert (failed.value.error_type, failed.value.status_code, failed.value.retry_after) == (error_type, code, 7.0)
    assert str(failed.value) == f"'{pages.url}/' could not be read: the server answered {code}."


async def test_a_redirect_without_a_place_is_its_status(pages: Pages) -> None:
    pages.paths["/"] = status(302, retry_after="soon")
    with pytest.raises(PageError, match="the server answered 302") as failed:
        await pages.fetcher().fetch(f"{pages.url}/")
    assert failed.value.retry_after is None


async def test_a_server_that_is_not_there_is_a_failure_of_the_network() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(PageError, match="could not be reached") as failed:
            await Fetcher(allowed_hosts={host}).fetch(f"http://{host}/")
    assert failed.value.error_type is ErrorType.NETWORK_ERROR
    assert failed.value.is_retryable


def breaks_off(exchange: Exchange) -> None:
    exchange.answer_in_part(200, PAGE, HTML)


def floods_headers(exchange: Exchange) -> None:
    exchange.answer(200, PAGE, {f"x-{number}": "y" * 1000 for number in range(300)})


@pytest.mark.parametrize("answer", [breaks_off, floods_headers])
async def test_an_answer_that_breaks_off_or_floods_is_a_failure(
    pages: Pages, answer: Callable[[Exchange], None]
) -> None:
    pages.paths["/"] = answer
    with pytest.raises(PageError, match="is incomplete or not HTTP"):
        await pages.fetcher().fetch(f"{pages.url}/")


def never_answers(exchange: Exchange) -> None:
    exchange.wait(None)


def drips(exchange: Exchange) -> None:
    exchange.begin_stream(200, HTML)
    while True:
        exchange.send(b"<p>")
        exchange.wait(0.01)


def redirects_slowly(exchange: Exchange) -> None:
    exchange.wait(0.05)
    redirect_to("/")(exchange)


@pytest.mark.parametrize("answer", [never_answers, drips, redirects_slowly])
async def test_one_deadline_covers_everything(pages: Pages, answer: Callable[[Exchange], None]) -> None:
    pages.paths["/"] = answer
    with pytest.raises(PageError, match=r"no complete answer within 0\.2 s") as failed:
        await pages.fetcher(timeout=0.2, max_redirects=1000).fetch(f"{pages.url}/")
    assert failed.value.error_type is ErrorType.TIMEOUT_ERROR


async def test_a_resolver_that_hangs_falls_under_the_deadline() -> None:
    async def hangs(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(PageError, match="no complete answer"):
        await Fetcher(timeout=0.05, resolver=hangs).fetch("http://slow.example/")


async def test_a_cancelled_fetch_closes_its_connection(pages: Pages) -> None:
    arrived, left = threading.Event(), threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.begin_stream(200, HTML)
        arrived.set()
        try:
            while True:
                exchange.send(b"<p>")
                exchange.wait(0.01)
        except ConnectionError:
            left.set()

    pages.paths["/"] = answer
    task = asyncio.create_task(pages.fetcher().fetch(f"{pages.url}/"))
    assert await asyncio.to_thread(arrived.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(left.wait, 10)


def test_one_fetcher_serves_several_event_loops(pages: Pages) -> None:
    fetcher = pages.fetcher()
    bodies = [asyncio.run(fetcher.fetch(pages.url)).body for _ in range(2)]
    assert bodies == [PAGE, PAGE]


@pytest.mark.parametrize("kind", ["image/png", "video/mp4", "AUDIO/ogg; x=y"])
async def test_media_are_not_downloaded(pages: Pages, kind: str) -> None:
    pages.paths["/"] = lambda exchange: exchange.answer(200, b"\x00" * 100, {"content-type": kind})
    with pytest.raises(PageError, match="which has no text to extract"):
        await pages.fetcher().fetch(f"{pages.url}/")


def endless(exchange: Exchange) -> None:
    exchange.begin_stream(200, HTML)
    while True:
        exchange.send(b"x" * 60_000)


BOMB = b"\x00" * 50_000_000


@pytest.mark.parametrize(
    "answer",
    [
        endless,
        encoded(b"x" * 1_000_001, "identity"),
        encoded(gzip.compress(BOMB), "gzip"),
        encoded(zlib.compress(BOMB), "deflate"),
        encoded(gzip.compress(b"\x00" * 600_000) * 2, "gzip"),
    ],
)
async def test_a_page_larger_than_the_limit_is_given_up(pages: Pages, answer: Callable[[Exchange], None]) -> None:
    pages.paths["/"] = answer
    with pytest.raises(PageError, match="it is larger than 977 KB"):
        await pages.fetcher(max_bytes=1_000_000).fetch(f"{pages.url}/")


@pytest.mark.parametrize(
    "answer",
    [
        encoded(PAGE, "gzip"),
        encoded(PAGE, "deflate"),
        encoded(gzip.compress(PAGE)[:-12], "gzip"),
        encoded(b"\x1b\x00\x00", "br"),
        encoded(b"(\xb5/\xfd", "zstd"),
        encoded(gzip.compress(gzip.compress(PAGE)), "gzip, gzip"),
    ],
)
async def test_compression_that_cannot_be_undone_is_a_failure(pages: Pages, answer: Callable[[Exchange], None]) -> None:
    pages.paths["/"] = answer
    with pytest.raises(PageError, match="it could not be decompressed"):
        await pages.fetcher().fetch(f"{pages.url}/")


def _raw_deflate(data: bytes) -> bytes:
    compress = zlib.compressobj(wbits=-15)
    return compress.compress(data) + compress.flush()


COMPRESS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "none": ("", bytes),
    "gzip": ("gzip", gzip.compress),
    "two members": ("x-gzip", lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])),
    "padded": ("gzip", lambda data: gzip.compress(data) + b"\x00\x00"),
    "zlib": ("Deflate", zlib.compress),
    "bare": ("deflate", _raw_deflate),
}


@given(
    data=st.binary(max_size=500),
    how=st.sampled_from(sorted(COMPRESS)),
    piece=st.integers(1, 600),
)
def test_any_body_comes_back_from_any_compression_in_any_pieces(data: bytes, how: str, piece: int) -> None:
    encoding, compress = COMPRESS[how]
    sent = compress(data)
    body = Decompressor(encoding, 2000)
    for start in range(0, len(sent), piece):
        body.feed(sent[start : start + piece])
    assert body.finish() == data


@given(data=st.binary(max_size=300), limit=st.integers(0, 400), encoding=st.sampled_from(["", "gzip", "deflate"]))
def test_no_bytes_at_all_break_the_limit(data: bytes, limit: int, encoding: str) -> None:
    body = Decompressor(encoding, limit)
    try:
        body.feed(data)
        assert len(body.finish()) <= limit
    except (TooLarge, Undecodable):
        pass


async def test_a_proxy_is_asked_for_every_address_and_gets_its_password(pages: Pages) -> None:
    fetched = await pages.fetcher(proxied=True).fetch("http://news.example/a")
    assert (fetched.final_url, fetched.body) == ("http://news.example/a", PAGE)
    [asked] = pages.asked
    assert asked.headers["host"] == "news.example"
    assert asked.headers["proxy-authorization"].startswith("Basic ")


async def test_behind_a_proxy_private_addresses_are_still_refused(pages: Pages) -> None:
    with pytest.raises(FetchRefused):
        await pages.fetcher(proxied=True).fetch("http://10.0.0.1/")
    assert pages.asked == []


async def test_a_proxy_that_refuses_to_connect_is_a_failure_of_the_network(pages: Pages) -> None:
    with pytest.raises(PageError) as failed:
        await pages.fetcher(proxied=True).fetch("https://news.example/")
    assert failed.value.error_type is ErrorType.NETWORK_ERROR


@pytest.mark.parametrize("proxy", ["proxy:3128", "socks5://sk-test@proxy:1080", "http://"])
def test_a_proxy_that_is_none_is_refused_without_its_password(proxy: str) -> None:
    with pytest.raises(FetchRefused, match="looks like http://proxy:3128") as refused:
        Fetcher(egress_proxy=proxy)
    assert "sk-test" not in str(refused.value)


def test_a_failure_survives_pickle() -> None:
    error = PageError("https://a.example/", reason("status", status=429), ErrorType.RATE_LIMIT_ERROR, 429, 3.0)
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.url, copy.reason, copy.error_type, copy.status_code, copy.retry_after, str(copy)) == (
        "https://a.example/",
        "the server answered 429",
        ErrorType.RATE_LIMIT_ERROR,
        429,
        3.0,
        str(error),
    )


def certificate_for(name: str, folder: Path) -> Path:
    """A file with a certificate for `name` that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=1))
        .not_valid_after(today + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


@asynccontextmanager
async def serving(certificate: Path) -> AsyncGenerator[tuple[int, list[str | None]], None]:
    """The port of an HTTPS server, and the names its clients asked for."""
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda connection, name, context: names.append(name)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1], names


async def loopback(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


async def test_tls_asks_for_the_name_and_checks_it_though_the_connection_goes_to_an_address(tmp_path: Path) -> None:
    certificate = certificate_for("pages.example", tmp_path)
    trusting = ssl.create_default_context(cafile=certificate)
    async with serving(certificate) as (port, names):
        hosts = {f"pages.example:{port}", f"other.example:{port}"}
        fetcher = Fetcher(allowed_hosts=hosts, resolver=loopback, ssl_context=trusting)
        fetched = await fetcher.fetch(f"https://pages.example:{port}/")
        assert (fetched.body, fetched.content_type, names) == (b"hello", "", ["pages.example"])
        with pytest.raises(PageError, match="certificate was not accepted"):
            await fetcher.fetch(f"https://other.example:{port}/")


async def test_a_certificate_nobody_signed_is_not_accepted(tmp_path: Path) -> None:
    async with serving(certificate_for("pages.example", tmp_path)) as (port, _):
        fetcher = Fetcher(allowed_hosts={f"pages.example:{port}"}, resolver=loopback)
        with pytest.raises(PageError, match="certificate was not accepted") as failed:
            await fetcher.fetch(f"https://pages.example:{port}/")
    assert failed.value.error_type is ErrorType.NETWORK_ERROR


async def each(pieces: list[bytes]) -> AsyncGenerator[bytes]:
    for piece in pieces:
        yield piece


@given(st.lists(st.binary(max_size=100_000), max_size=5))
def test_no_byte_is_lost_or_moved(pieces: list[bytes]) -> None:
    async def joined() -> bytes:
        return b"".join([piece async for piece in in_larger_chunks(each(pieces))])

    assert asyncio.run(joined()) == b"".join(pieces)


class ByteByByte(LoopbackServer):
    """Sends a body in chunks of one byte."""

    def __init__(self, body: bytes, kind: str) -> None:
        super().__init__()
        self._body = body
        self._kind = kind

    def handle(self, exchange: Exchange) -> None:
        exchange.begin_stream(200, {"content-type": self._kind})
        for byte in self._body:
            exchange.send(bytes([byte]))
        exchange.end_stream()


async def turns_during(work: asyncio.Task[object]) -> int:
    """How often another task had its turn before `work` was done."""
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    return turns


async def test_other_tasks_run_while_a_page_comes_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chunks, "_LONGEST_TURN", 0)
    pieces = [b"a"] * 2_000

    async def read() -> object:
        return b"".join([piece async for piece in in_larger_chunks(each(pieces))])

    work = asyncio.create_task(read())
    assert await turns_during(work) > 100
    assert await work == b"a" * 2_000


async def test_far_too_many_pieces_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chunks, "_MOST_TINY", 1_000)
    monkeypatch.setattr(_chunks, "_LONGEST_TURN", 0)
    with pytest.raises(TooManyChunks):
        [piece async for piece in in_larger_chunks(each([b"a"] * 2_000))]  # pyright: ignore[reportUnusedExpression]
    assert b"".join([piece async for piece in in_larger_chunks(each([b"a" * 20] * 2_000))]) == b"a" * 40_000


async def test_a_page_and_an_answer_that_come_byte_by_byte_are_read_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ByteByByte(b"<p>Hello</p>" * 100, "text/html") as server:
        fetcher = Fetcher(allowed_hosts=[server.url.removeprefix("http://")])
        assert (await fetcher.fetch(server.url)).body == b"<p>Hello</p>" * 100
        monkeypatch.setattr(_chunks, "_MOST_TINY", 100)
        monkeypatch.setattr(_chunks, "_LONGEST_TURN", 0)
        with pytest.raises(PageError):
            await fetcher.fetch(server.url)
    with ByteByByte(b'{"results": []}' + b" " * 1_000, "application/json") as server:
        async with TavilyAPIClient("tvly-test", base_url=server.url, max_retries=0, language="en") as client:
            with pytest.raises(TavilyAPIError, match="too many tiny pieces"):
                await client.search("x")
            monkeypatch.undo()
            assert (await client.search("x")).results == ()
