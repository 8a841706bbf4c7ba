"""Connections that go only where the rules of `address` allow: each name is resolved once, and the address that
was checked is the one connected to, so a name cannot change its meaning in between.

This is the whole of what httpcore does not offer. The package ssrfguard does the same, but in 5,500 lines with
policies, observers and a resolver of its own, kept by one author; this is a page.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address
from typing import Any, cast

from ...errors import FetchRefused, MissingExtra
from .address import is_public
from .reasons import reason

try:
    import anyio.to_thread
    import httpcore
except ImportError as error:
    raise MissingExtra("httpx", "web") from error

__all__ = ["GuardedBackend", "NameNotFound", "Resolver", "resolve"]

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the IP addresses of a host name."""

_MAX_ADDRESSES = 4
_SECONDS_PER_ADDRESS = 5.0


class NameNotFound(Exception):  # noqa: N818 - reads as what it says
    """A host name has no address."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of `host` as the system knows them."""
    found = await anyio.to_thread.run_sync(
        lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), abandon_on_cancel=True
    )
    return [str(address[0]) for *_, address in found]


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections for one request to public addresses, or to anything when the request is `trusted`."""

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
        """A connection to the first address of `host` that takes one, after every address was checked."""
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
        # One private answer among public ones is already an attack, or a network we do not understand.
        if not self._trusted and not all(map(is_public, addresses)):
            raise FetchRefused(self._url, reason("private"), "private")
        return list(dict.fromkeys(map(str, addresses)))
