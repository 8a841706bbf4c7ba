"""Checks a login: lists the server's tools with it."""

from __future__ import annotations

import anyio

from ...errors import ServerUnavailableError
from ...servers.config import McpServer
from ...servers.connection import Diagnostics, connected
from .logins import Logins
from .server_login import ServerLogin

__all__ = ["tools_with_login"]


async def tools_with_login(server: McpServer, logins: Logins, *, seconds: float) -> int:
    """How many tools `server` lists for the login that is kept.

    Raises:
        ServerUnavailableError: it does not list them.
    """
    login = ServerLogin(logins, server)
    await login.begin()
    with Diagnostics(server) as diagnostics:
        try:
            with anyio.fail_after(seconds):
                async with connected(server, diagnostics, seconds=seconds, grace=lambda: 0.0, auth=login) as client:
                    return len((await client.list_tools()).tools)
        except TimeoutError as error:
            raise ServerUnavailableError(server.name, f"no answer within {seconds:g} s") from error
        except Exception as error:
            raise ServerUnavailableError(server.name, diagnostics.explain(error)) from error
