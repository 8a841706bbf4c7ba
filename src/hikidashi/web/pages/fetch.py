"""The guarded HTTP client: fetches public web pages only, with limits on time and size.

It uses httpcore rather than httpx, because the check belongs at the connection: httpx takes no network backend, and its
decompression has no limit. It reads nothing from the environment, keeps no cookies, and opens a connection per request,
so one `Fetcher` serves any number of event loops and threads.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache
from typing import Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from ...errors import ErrorType, FetchRefused, HikidashiError, MissingExtra, PageError
from ._connect import GuardedBackend, NameNotFound, Resolver, resolve
from ._errors import page_error, status_error
from .address import Address, is_allowed, parse_url
from .chunks import TooManyChunks, in_larger_chunks
from .decompress import ACCEPTED, Decompressor, TooLarge, Undecodable

try:
    import anyio
    import certifi
    import httpcore
except ImportError as error:
    raise MissingExtra("httpx", "web") from error

__all__ = ["Fetched", "Fetcher", "Resolver"]

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
            raise status_error(url, response.status, _seconds(headers.get("retry-after", "")))
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
