"""The guarded HTTP client: fetches public web pages only, with limits on time and size.

It uses httpcore rather than httpx, because the check belongs at the connection: httpx takes no network backend, and its
decompression has no limit. It reads nothing from the environment, keeps no cookies, and opens a connection per request,
so one `Fetcher` serves any number of event loops and threads.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from typing import Any, Final, Protocol
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from ...errors import ErrorType, FetchRefused, HikidashiError, MissingExtra, PageError
from ..messages import reason
from .address import Address, is_allowed, is_public, parse_url

try:
    import anyio.to_thread
    import certifi
    import httpcore
except ImportError as error:
    raise MissingExtra("httpx", "web") from error

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host name and port to IP addresses."""

_MAX_ADDRESSES = 4
_SECONDS_PER_ADDRESS = 5.0


class NameNotFound(Exception):  # noqa: N818 - reads as what it says
    """A host name cannot be resolved."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of `host`, by the system's resolver."""
    found = await anyio.to_thread.run_sync(
        lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), abandon_on_cancel=True
    )
    return [str(address[0]) for *_, address in found]


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only, or to any address if `trusted`."""

    def __init__(self, url: str, *, resolver: Resolver, trusted: bool) -> None:
        self._url = url
        self._resolver = resolver
        self._trusted = trusted
        backend: Any = httpcore.AnyIOBackend()
        self._open = backend.connect_tcp

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the name of the overridden method's argument
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first address of `host` that accepts one, after all addresses were checked."""
        last: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in (await self._addresses(host, port))[:_MAX_ADDRESSES]:
            try:
                return await self._open(address, port, _SECONDS_PER_ADDRESS, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last = error
        raise last or NameNotFound(host)

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            addresses = [ip_address(host)]
        except ValueError:
            try:
                addresses = [ip_address(answer) for answer in await self._resolver(host, port)]
            except (OSError, UnicodeError, ValueError) as error:
                raise NameNotFound(host) from error
        # A private address among public ones is an attack or a misconfigured network.
        if not self._trusted and not all(map(is_public, addresses)):
            raise FetchRefused(self._url, reason("private"), "private")
        return list(dict.fromkeys(map(str, addresses)))


logger = logging.getLogger("hikidashi")

MAX_BYTES: Final = 10 * 1024 * 1024
TIMEOUT: Final = 20.0
USER_AGENT: Final = "Mozilla/5.0 (compatible; hikidashi)"

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SHOWN = 60  # characters of a redirect shown in a message
_WITHOUT_TEXT = ("image/", "audio/", "video/", "font/")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetched:
    """A fetched page."""

    url: str
    """The requested address."""
    final_url: str
    """The address after redirects."""
    status: int
    content_type: str
    """The media type in lower case without parameters, such as `text/html`; empty if the server sent none."""
    charset: str | None
    """The charset sent by the server, which may be wrong."""
    body: bytes = field(repr=False)
    """The decompressed bytes."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The headers of the last response, names in lower case."""


class Fetcher:
    """Fetches pages, guarded against SSRF.

    Args:
        timeout: Seconds for one page in total, including name lookup and redirects.
        max_bytes: Limit of a page's size, compressed and decompressed.
        allowed_hosts: Hosts that may be private, such as `"wiki.lan"`, or with a port `"127.0.0.1:8080"`.
        egress_proxy: An HTTP proxy for every request, such as `"http://proxy:3128"`. The proxy then resolves names, so
            it has to check the addresses they resolve to; the text of each address is still checked here.
        ssl_context: Trusted certificates; by default those of certifi.
        resolver: Resolves host names; by default the system's resolver.
    """

    def __init__(
        self,
        *,
        timeout: float = TIMEOUT,
        max_bytes: int = MAX_BYTES,
        max_redirects: int = 5,
        allowed_hosts: Iterable[str] = frozenset(),
        egress_proxy: str | None = None,
        user_agent: str = USER_AGENT,
        ssl_context: ssl.SSLContext | None = None,
        resolver: Resolver = resolve,
    ) -> None:
        if isinstance(allowed_hosts, str):
            raise ValueError(f"`allowed_hosts` is {allowed_hosts!r}: use a list of hosts, such as [{allowed_hosts!r}].")
        for name, value in (("timeout", timeout), ("max_bytes", max_bytes)):
            if not isinstance(value, int | float) or not value > 0:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"`{name}` is {value!r:.100}: it must be a number above 0.")
        self.timeout = timeout
        self.max_bytes = max_bytes
        self.max_redirects = max_redirects
        self.allowed_hosts = frozenset(host.lower() for host in allowed_hosts)
        self.user_agent = user_agent
        self._proxy = _proxy(egress_proxy) if egress_proxy else None
        self._ssl_context = ssl_context
        self._resolver = resolver

    async def fetch(self, url: str, *, refusal: Callable[[str], Awaitable[str | None]] | None = None) -> Fetched:
        """The page at `url`.

        Args:
            url: Its address.
            refusal: Called before a redirect is followed; returns why it must not be, or None.

        Raises:
            FetchRefused: `url`, the address it resolves to, or a redirect must not be fetched.
            PageError: the page could not be fetched; `reason` says why.
        """
        try:
            with anyio.move_on_after(self.timeout):
                return await self._follow(url, refusal)
        except HikidashiError:
            raise
        except Exception as error:  # callers with many addresses rely on these two errors only
            logger.exception("A page could not be fetched")
            raise page_error(url, "unexpected", kind=type(error).__name__) from error
        raise page_error(url, "timeout", seconds=f"{self.timeout:g}")

    async def _follow(self, url: str, refusal: Callable[[str], Awaitable[str | None]] | None) -> Fetched:
        address = parse_url(url, allowed_hosts=self.allowed_hosts)
        for _ in range(self.max_redirects + 1):
            answer = await self._get(url, address)
            if isinstance(answer, Fetched):
                return answer
            address = parse_url(answer, allowed_hosts=self.allowed_hosts)
            if refusal is not None and (why := await refusal(str(address))):
                raise PageError(url, why, ErrorType.API_ERROR)
        raise page_error(url, "redirects", limit=self.max_redirects)

    async def _get(self, url: str, address: Address) -> Fetched | str:
        """The page, or the address it redirects to."""
        try:
            async with (
                self._pool(address) as pool,
                pool.stream("GET", _target(address), headers=self._headers(address)) as response,
            ):
                return await self._read(url, address, response)
        except NameNotFound as error:
            raise page_error(url, "unresolved") from error
        except TooLarge as error:
            raise page_error(url, "too_large", limit=_size(self.max_bytes)) from error
        except Undecodable as error:
            raise page_error(url, "undecodable") from error
        except TooManyChunks as error:
            raise page_error(url, "protocol") from error
        except (httpcore.NetworkError, httpcore.ProxyError, httpcore.TimeoutException) as error:
            connecting = isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout | httpcore.ProxyError)
            code = "tls" if _is_tls(error) else "unreachable" if connecting else "protocol"
            raise page_error(url, code) from error
        except httpcore.ProtocolError as error:
            raise page_error(url, "protocol") from error

    async def _read(self, url: str, address: Address, response: httpcore.Response) -> Fetched | str:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        if response.status in _REDIRECTS and (location := headers.get("location")):
            # Servers send raw UTF-8 where the standard requires percent-encoding.
            location = location.encode("latin-1").decode("utf-8", "replace")
            try:
                return urljoin(str(address), location)
            except ValueError as error:  # such as `http://[`
                raise page_error(url, "location", location=repr(location[:_SHOWN])) from error
        if not 200 <= response.status < 300:
            retry_after = _seconds(headers.get("retry-after", ""))
            why = reason("status", status=response.status)
            raise PageError(url, why, _type_of_status(response.status), response.status, retry_after)
        content_type, charset = _media_type(headers.get("content-type", ""))
        if content_type.startswith(_WITHOUT_TEXT):
            raise page_error(url, "media", kind=content_type)
        body = Decompressor(headers.get("content-encoding", ""), self.max_bytes)
        if int(_digits(headers.get("content-length", "")) or 0) > self.max_bytes:
            raise TooLarge
        async with aclosing(in_larger_chunks(response.aiter_stream())) as pieces:
            async for piece in pieces:
                body.feed(piece)
        return Fetched(
            url=url,
            final_url=str(address),
            status=response.status,
            content_type=content_type,
            charset=charset,
            body=body.finish(),
            headers=headers,
        )

    def _pool(self, address: Address) -> httpcore.AsyncConnectionPool:
        trusted = self._proxy is not None or is_allowed(address, self.allowed_hosts)
        return httpcore.AsyncConnectionPool(
            ssl_context=self._ssl_context or _public_certificates(),
            proxy=self._proxy,
            network_backend=GuardedBackend(str(address), resolver=self._resolver, trusted=trusted),
        )

    def _headers(self, address: Address) -> list[tuple[bytes | str, bytes | str]]:
        return [
            ("Host", address.authority),
            ("User-Agent", self.user_agent),
            ("Accept", "text/html,application/xhtml+xml,text/plain,application/pdf,*/*;q=0.5"),
            ("Accept-Encoding", ACCEPTED),
            ("Connection", "close"),
        ]


@cache
def _public_certificates() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certifi.where())


def _proxy(url: str) -> httpcore.Proxy:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise FetchRefused("egress_proxy", "an egress proxy looks like http://proxy:3128", "proxy")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username is not None else None
    return httpcore.Proxy(f"{parts.scheme}://{host}:{port}", auth=auth)


def _target(address: Address) -> httpcore.URL:
    path = urldefrag(address.path).url
    return httpcore.URL(
        scheme=address.scheme,
        host=address.host,
        port=address.port,
        target=path if path.startswith("/") else f"/{path}",
    )


def _is_tls(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _media_type(header: str) -> tuple[str, str | None]:
    kind, *parameters = (part.strip() for part in header.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return kind.lower(), value.strip().strip("\"'") or None
    return kind.lower(), None


def _digits(text: str) -> str:
    return text if text.isascii() and text.isdigit() and len(text) < 20 else ""


def _seconds(header: str) -> float | None:
    digits = _digits(header.strip())
    return float(digits) if digits else None


def _size(count: int) -> str:
    return f"{count / 1024 / 1024:.3g} MB" if count >= 1024 * 1024 else f"{count / 1024:.3g} KB"


ACCEPTED = "gzip, deflate"
_GZIP = 16 + zlib.MAX_WBITS
_RAW_DEFLATE = -zlib.MAX_WBITS


class TooLarge(Exception):  # noqa: N818 - reads as what it says
    """The body exceeds the limit, compressed or decompressed."""


class Undecodable(Exception):  # noqa: N818 - reads as what it says
    """The body does not match its `Content-Encoding`, or is truncated."""


class _Stream(Protocol):
    """The type of `zlib.decompressobj()`, which has no public name."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class Decompressor:
    """Decompresses a body chunk by chunk, up to `limit` bytes before and after."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._encoding = encoding.strip().lower().removeprefix("x-")
        if self._encoding not in {"", "identity", "gzip", "deflate"}:
            raise Undecodable(encoding)
        self._limit = limit
        self._received = 0
        self._body = bytearray()
        self._stream: _Stream | None = None
        self._streams_ended = 0
        self._pending = b""

    def feed(self, data: bytes) -> None:
        """Add one chunk as received."""
        self._received += len(data)
        if self._received > self._limit:
            raise TooLarge
        if self._encoding in {"", "identity"}:
            self._body += data
        else:
            self._inflate(self._pending + data)

    def finish(self) -> bytes:
        """The whole body."""
        if self._stream is not None or (self._pending and not self._streams_ended):
            raise Undecodable("the compressed stream ends too early")
        return bytes(self._body)

    def _inflate(self, data: bytes) -> None:
        self._pending = b""
        while data:
            if self._stream is None:
                if len(data) < 2:
                    self._pending = data
                    return
                self._stream = self._begin(data)
                if self._stream is None:
                    return  # padding after the stream, which browsers ignore
            try:
                self._body += self._stream.decompress(data, self._limit - len(self._body) + 1)
            except zlib.error as error:
                raise Undecodable(str(error)) from error
            if len(self._body) > self._limit:
                raise TooLarge
            data = self._stream.unused_data
            if self._stream.eof:
                self._stream = None
                self._streams_ended += 1

    def _begin(self, data: bytes) -> _Stream | None:
        if self._encoding == "gzip":
            if data.startswith(b"\x1f\x8b"):
                return zlib.decompressobj(_GZIP)
            if not self._streams_ended:
                raise Undecodable("not gzip")
        if self._streams_ended:
            return None
        # With "deflate", servers send raw deflate as often as the zlib format.
        has_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
        return zlib.decompressobj(zlib.MAX_WBITS if has_header else _RAW_DEFLATE)


_LONGEST_TURN = 0.005
"""Seconds for which the event loop may be blocked."""
_LOOK_EVERY = 16
_LARGE = 64 * 1024
_MOST_TINY = 200_000
_TINY = 16


class TooManyChunks(Exception):  # noqa: N818 - reads as what it says
    """A body in so many tiny chunks that it must be an attack."""


async def in_larger_chunks(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The same bytes in larger chunks, yielding to other tasks in between.

    Raises:
        TooManyChunks: there are more than 200,000, of less than 16 bytes on average.
    """
    held = bytearray()
    count = size = 0
    turn_began = time.monotonic()
    async for chunk in chunks:
        count += 1
        size += len(chunk)
        held += chunk
        if len(held) >= _LARGE:
            yield bytes(held)
            held.clear()
        if count % _LOOK_EVERY == 0 and time.monotonic() - turn_began > _LONGEST_TURN:
            if count > _MOST_TINY and size < count * _TINY:
                raise TooManyChunks
            if held:
                yield bytes(held)
                held.clear()
            await asyncio.sleep(0)
            turn_began = time.monotonic()
    if held:
        yield bytes(held)


_TYPES: dict[str, ErrorType] = {
    "unresolved": ErrorType.NETWORK_ERROR,
    "unreachable": ErrorType.NETWORK_ERROR,
    "tls": ErrorType.NETWORK_ERROR,
    "protocol": ErrorType.NETWORK_ERROR,
    "timeout": ErrorType.TIMEOUT_ERROR,
}


def page_error(url: str, code: str, **values: object) -> PageError:
    """A `PageError` for `url` with the reason `code`."""
    return PageError(url, reason(code, **values), _TYPES.get(code, ErrorType.API_ERROR))


def _type_of_status(status: int) -> ErrorType:
    match status:
        case 429:
            return ErrorType.RATE_LIMIT_ERROR
        case 408 | 504:
            return ErrorType.TIMEOUT_ERROR
        case 503:
            return ErrorType.SERVICE_UNAVAILABLE
        case int() if status >= 500:
            return ErrorType.SERVER_ERROR
        case _:  # 401 and 403 too: the page requires a login, which is not an AUTH_ERROR of a search API
            return ErrorType.API_ERROR
