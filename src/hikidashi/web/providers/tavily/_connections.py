"""The `tavily-python` client and its HTTP connections for one event loop."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import cache
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from ....common.urls import is_loopback_url
from ....errors import ErrorType, MissingExtra, TavilyAPIError
from ....providers import SEARCH_PROVIDERS
from ....texts import in_language
from ...messages import api_error
from ..httpx_pool import ENCODINGS, LifoTransport, read_within_limits
from ..single_flight import SingleFlight
from ._errors import translate

try:
    import httpx
    from tavily import AsyncTavilyClient  # pyright: ignore[reportMissingTypeStubs]
except ImportError as error:
    raise MissingExtra("tavily-python", "tavily") from error

__all__ = ["BASE_URL", "Connections", "find_key"]

BASE_URL = "https://api.tavily.com"
_KEEP_ALIVE_SECONDS = 30.0
_KEYLESS = {"X-Tavily-Access-Mode": "keyless", "X-Client-Source": "tavily-python-keyless"}

_answer: ContextVar[httpx.Response | None] = ContextVar("hikidashi_tavily_answer", default=None)


class Connections:
    """The connections, request slots and running requests of one event loop."""

    def __init__(self, api_key: str | None, *, base_url: str, timeout: float, max_in_flight: int) -> None:
        self._api_key = api_key
        self._timeout = timeout
        self._closed = False
        self._slots = asyncio.Semaphore(max_in_flight)
        self.flights: SingleFlight[Any] = SingleFlight()
        self._http = httpx.AsyncClient(
            base_url=base_url,
            # Set here because the library supports keyless access only with its own HTTP client.
            headers=ENCODINGS if api_key else ENCODINGS | _KEYLESS,
            event_hooks={"response": [_keep_answer, read_within_limits]},
            cookies=_NoCookies(),
            transport=_transport(base_url),
            limits=httpx.Limits(max_connections=max_in_flight, max_keepalive_connections=max_in_flight),
            verify=_certificates(),
            trust_env=not is_loopback_url(base_url),
        )
        # Not None, with which the library would read the key from the environment.
        self._api: Any = AsyncTavilyClient(api_key or "", client=self._http, api_base_url=base_url)

    def search(self, arguments: dict[str, Any]) -> Awaitable[dict[str, Any]]:
        """The response to a search, within the timeout.

        Raises:
            TavilyAPIError: the request failed.
        """
        return self._send(self._api.search, arguments)

    def extract(self, arguments: dict[str, Any]) -> Awaitable[dict[str, Any]]:
        """The response to an extraction, within the timeout.

        Raises:
            TavilyAPIError: the request failed.
        """
        return self._send(self._api.extract, arguments)

    def crawl(self, arguments: dict[str, Any], *, seconds: float) -> Awaitable[dict[str, Any]]:
        """The response to a crawl, within `seconds`.

        Raises:
            TavilyAPIError: the request failed.
        """
        return self._send(self._api.crawl, arguments, seconds)

    def map(self, arguments: dict[str, Any], *, seconds: float) -> Awaitable[dict[str, Any]]:
        """The response to a map, within `seconds`.

        Raises:
            TavilyAPIError: the request failed.
        """
        return self._send(self._api.map, arguments, seconds)

    async def _send(
        self, call: Callable[..., Awaitable[Any]], arguments: dict[str, Any], seconds: float | None = None
    ) -> dict[str, Any]:
        timeout = self._timeout if seconds is None else seconds
        async with self._slots:
            _answer.set(None)
            self._check_open()
            try:
                # httpx has timeouts for single operations only, which restart with every byte.
                async with asyncio.timeout(timeout):
                    return await call(**arguments)
            except Exception as failure:
                self._check_open()
                raise translate(failure, _answer.get(), timeout=timeout, secret=self._api_key) from failure

    async def aclose(self) -> None:
        """Close the connections; running requests fail."""
        self._closed = True
        await self._http.aclose()

    def _check_open(self) -> None:
        if self._closed:
            raise api_error("closed", ErrorType.API_ERROR)


class _NoCookies(CookieJar):
    """A cookie jar that stays empty: the API uses no cookies, and parsing them takes 2 % of a request."""

    def extract_cookies(self, response: object, request: object) -> None:
        pass


async def _keep_answer(answer: httpx.Response) -> None:
    _answer.set(answer)


def find_key(given: str | None) -> str:
    """The API key: the given one, or that of the environment.

    Raises:
        TavilyAPIError: the key is missing or malformed; AUTH_ERROR.
    """
    row = SEARCH_PROVIDERS["tavily"]
    key = given.strip() if given is not None else row.key_in(os.environ)
    if not key:
        raise TavilyAPIError(in_language(row.missing_key("client"), "ja"), ErrorType.AUTH_ERROR)
    if not key.isascii() or not key.isprintable() or " " in key:  # httpx would refuse it with an error that shows it
        raise api_error("key_characters", ErrorType.AUTH_ERROR)
    return key


def _transport(base_url: str) -> httpx.AsyncBaseTransport | None:
    """The transport of the client; None if httpx is to use the proxies of the environment."""
    scheme, proxy = urlsplit(base_url).scheme, None
    if not is_loopback_url(base_url):
        proxy = os.environ.get(f"TAVILY_{scheme.upper()}_PROXY") or None
        if proxy is None and not {scheme, "all"}.isdisjoint(getproxies()):
            return None
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEP_ALIVE_SECONDS)
    return LifoTransport(
        lambda: httpx.AsyncHTTPTransport(verify=_certificates(), trust_env=False, limits=limits, proxy=proxy)
    )


@cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # loading them takes most of the 30 ms for a client
