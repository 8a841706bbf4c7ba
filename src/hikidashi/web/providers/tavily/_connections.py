"""The real `tavily-python` client on an HTTP client of our own: what one event loop needs to talk to Tavily."""

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
from ...wording.messages import say
from ...wording.said import Language
from ..httpx_pool import ENCODINGS, SinglesTransport, read_within_limits
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
    """Connections, places for requests and requests under way of one event loop."""

    def __init__(
        self, api_key: str | None, *, base_url: str, timeout: float, max_in_flight: int, language: Language
    ) -> None:
        self._api_key = api_key
        self._timeout = timeout
        self._language: Language = language
        self._closed = False
        self._places = asyncio.Semaphore(max_in_flight)
        self.flights: SingleFlight[Any] = SingleFlight()
        self._http = httpx.AsyncClient(
            base_url=base_url,
            # Told here because the library goes keyless only with an HTTP client of its own making.
            headers=ENCODINGS if api_key else ENCODINGS | _KEYLESS,
            event_hooks={"response": [_keep_answer, read_within_limits]},
            cookies=_NoCookies(),
            transport=_transport(base_url),
            limits=httpx.Limits(max_connections=max_in_flight, max_keepalive_connections=max_in_flight),
            verify=_certificates(),
            trust_env=not is_loopback_url(base_url),
        )
        # An empty key: with None the library would look for one in the environment.
        self._api: Any = AsyncTavilyClient(api_key or "", client=self._http, api_base_url=base_url)

    def search(self, arguments: dict[str, Any]) -> Awaitable[dict[str, Any]]:
        """The answer to one search, in its turn and within the timeout.

        Raises:
            TavilyAPIError: whatever went wrong.
        """
        return self._send(self._api.search, arguments)

    def extract(self, arguments: dict[str, Any]) -> Awaitable[dict[str, Any]]:
        """The answer to one extraction, in its turn and within the timeout.

        Raises:
            TavilyAPIError: whatever went wrong.
        """
        return self._send(self._api.extract, arguments)

    def crawl(self, arguments: dict[str, Any], *, seconds: float) -> Awaitable[dict[str, Any]]:
        """The answer to one crawl, in its turn and within `seconds`.

        Raises:
            TavilyAPIError: whatever went wrong.
        """
        return self._send(self._api.crawl, arguments, seconds)

    def map(self, arguments: dict[str, Any], *, seconds: float) -> Awaitable[dict[str, Any]]:
        """The answer to one map, in its turn and within `seconds`.

        Raises:
            TavilyAPIError: whatever went wrong.
        """
        return self._send(self._api.map, arguments, seconds)

    async def _send(
        self, call: Callable[..., Awaitable[Any]], arguments: dict[str, Any], seconds: float | None = None
    ) -> dict[str, Any]:
        timeout = self._timeout if seconds is None else seconds
        async with self._places:
            _answer.set(None)
            self._check_open()
            try:
                # The HTTP client's own timeouts are for single steps, and start anew with every byte.
                async with asyncio.timeout(timeout):
                    return await call(**arguments)
            except Exception as failure:
                self._check_open()
                raise translate(
                    failure, _answer.get(), timeout=timeout, language=self._language, secret=self._api_key
                ) from failure

    async def aclose(self) -> None:
        """Closes the connections; what is under way fails."""
        self._closed = True
        await self._http.aclose()

    def _check_open(self) -> None:
        if self._closed:
            raise TavilyAPIError(say("closed", self._language), ErrorType.API_ERROR)


class _NoCookies(CookieJar):
    """A jar that stays empty: an API has no use for cookies, and to look for them takes 2 % of a request."""

    def extract_cookies(self, response: object, request: object) -> None:
        pass


async def _keep_answer(answer: httpx.Response) -> None:
    _answer.set(answer)


def find_key(given: str | None, language: Language) -> str:
    """The key to send: the given one, or that of the environment.

    Raises:
        TavilyAPIError: there is none, or it cannot be one; AUTH_ERROR.
    """
    key = (given if given is not None else os.environ.get("TAVILY_API_KEY", "")).strip()
    if not key:
        raise TavilyAPIError(say("key_missing", language), ErrorType.AUTH_ERROR)
    if not key.isascii() or not key.isprintable() or " " in key:  # HTTP would refuse it, and show it
        raise TavilyAPIError(say("key_characters", language), ErrorType.AUTH_ERROR)
    return key


def _transport(base_url: str) -> httpx.AsyncBaseTransport | None:
    """How requests go out; None where httpx is to find its way by the proxies of the environment."""
    scheme, proxy = urlsplit(base_url).scheme, None
    if not is_loopback_url(base_url):
        proxy = os.environ.get(f"TAVILY_{scheme.upper()}_PROXY") or None
        if proxy is None and not {scheme, "all"}.isdisjoint(getproxies()):
            return None
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEP_ALIVE_SECONDS)
    return SinglesTransport(
        lambda: httpx.AsyncHTTPTransport(verify=_certificates(), trust_env=False, limits=limits, proxy=proxy)
    )


@cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # reading them takes most of the 30 ms that a client costs
