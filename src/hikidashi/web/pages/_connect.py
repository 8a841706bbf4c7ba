"""A network backend for httpcore that connects to public addresses only, against SSRF.

Each name is resolved once, and the address that was checked is the one connected to, which prevents DNS rebinding. The
package ssrfguard does the same in 5,500 lines with policies, observers and a resolver of its own.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address
from typing import Any, cast

from ...errors import FetchRefused, MissingExtra
from ..messages import reason
from .address import is_public

try:
    import anyio.to_thread
    import httpcore
except ImportError as error:
    raise MissingExtra("httpx", "web") from error

__all__ = ["GuardedBackend", "NameNotFound", "Resolver", "resolve"]

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
        self._open = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend()).connect_tcp

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
