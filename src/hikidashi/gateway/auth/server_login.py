"""The login to a server, in use: its access token goes with each request, and a new login is noticed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2

from ...servers.config import McpServer
from .logins import Login, Logins
from .renewing import renewed
from .waiting import WaitingCall

__all__ = ["ServerLogin"]

_LOOK_EVERY = 0.5  # seconds


class ServerLogin(httpx2.Auth):
    """Authorizes requests to one server. If that fails, requests are sent as they are, and the server refuses them.

    The provider of the `mcp` package is for the login itself: it holds a lock until the server answers, so that one
    slow call would delay all others, forgets after a restart when a token ends and where it is renewed, and begins a
    login, with a registration, wherever a token is refused.
    """

    def __init__(self, logins: Logins, server: McpServer) -> None:
        self._logins = logins
        self._server = server
        self._origin = _origin(server.url)
        self._look_up = WaitingCall(lambda: logins.read(server))
        self._login: Login | None = None
        self._id: str | None = None
        self._needed = anyio.Event()
        self.problem = ""
        """Why the person has to log in; empty while they need not."""

    async def begin(self) -> None:
        """Clear the problem, and use the login that is stored now."""
        self._needed, self.problem = anyio.Event(), ""
        self._id = self._logins.id_of(self._server)
        self._login = await self._look_up()

    @property
    def waits_for_keyring(self) -> bool:
        """Whether the keyring has not answered yet; it may wait for a person to unlock it."""
        return self._look_up.waits

    def is_another(self) -> bool:
        """Whether the person has logged in or out since `begin`."""
        return self._logins.id_of(self._server) != self._id

    def authorization(self) -> str | None:
        """The header that authorizes a request now, empty without a login; None if it has to be renewed first."""
        if self._login is None:
            return ""
        return None if self._login.has_expired else f"Bearer {self._login.access_token}"

    async def until_another(self) -> None:
        """Wait until the person logs in or out."""
        while not self.is_another():  # noqa: ASYNC110 - another process does that
            await anyio.sleep(_LOOK_EVERY)

    async def until_needed(self) -> None:
        """Wait until the server refuses the login."""
        await self._needed.wait()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send `request` with a valid token, and once more with a new one if the server refuses it."""
        if _origin(str(request.url)) != self._origin:
            yield request
            return
        login = self._login
        if login is not None and login.has_expired and not login.ended:
            login = await self._renew(login)
        response = yield _authorized(request, login)
        if response.status_code != 401:
            return
        if login is not None and not login.ended:
            again = await self._renew(login)
            if again is not None and again.access_token != login.access_token:
                response = yield _authorized(request, again)
                if response.status_code != 401:
                    return
        ended = self._login.ended if self._login is not None else "it needs a login"
        self.problem = f"401 Unauthorized: {ended or 'its server refuses the login, which cannot be renewed now'}"
        self._needed.set()

    async def _renew(self, login: Login) -> Login | None:
        self._login = await renewed(self._logins, self._server, login.access_token) or login
        return self._login


def _authorized(request: httpx2.Request, login: Login | None) -> httpx2.Request:
    if login is not None:
        request.headers["Authorization"] = f"Bearer {login.access_token}"
    return request


def _origin(url: str) -> tuple[Any, ...]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
