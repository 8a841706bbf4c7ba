"""Passwords of a server from the keyring, which may wait for a person to unlock it."""

from __future__ import annotations

from threading import Thread

from ...errors import MissingExtra
from ...search.mcp_servers.config import McpServer
from ..options import GatewayServer

try:
    import anyio
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["Passwords"]

_POLL = 0.02  # seconds


class Passwords:
    """Looks up the passwords of a server without blocking the event loop.

    In a daemon thread: a worker thread of the event loop would keep the process from ending while it waits.
    """

    def __init__(self, given: GatewayServer) -> None:
        self._given = given
        self._thread: Thread | None = None
        self._found: McpServer | Exception | None = None

    async def server(self) -> McpServer:
        """How to reach the server, with its passwords.

        Raises:
            EntryError: a password is missing.
        """
        if not self._given.needs_keyring:
            return self._given.server
        if self._thread is None or not self._thread.is_alive():  # else the last lookup still waits
            self._thread = Thread(target=self._look_up, daemon=True)
            self._thread.start()
        while self._thread.is_alive():  # noqa: ASYNC110 - threads set no events
            await anyio.sleep(_POLL)
        if isinstance(self._found, Exception):
            raise self._found
        assert self._found is not None
        return self._found

    def _look_up(self) -> None:
        try:
            self._found = self._given.with_passwords()
        except Exception as error:
            self._found = error
