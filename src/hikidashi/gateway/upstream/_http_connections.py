"""HTTP/1.1 connections to one server that stay open between requests: asyncio's streams, parsed by h11.

A request through httpx2 takes 0.95 ms of CPU, and that was most of what the gateway added to a call. It still follows
redirects, logs in, and speaks to proxies and over TLS.
"""

from __future__ import annotations

import asyncio
import select
import sys
import time
from collections.abc import AsyncGenerator, Sequence

from ...errors import MissingExtra

try:
    import h11
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["Connections", "Headers", "Response"]

Headers = Sequence[tuple[bytes, bytes]]

_PIECE = 1 << 16
_IDLE_SECONDS = 5.0  # after which many servers close a connection; httpx2 has the same
_MOST_IDLE = 20
_LARGEST_HEADERS = 100 * 1024  # bytes; as in httpx2


class Response:
    """A response whose body is still to be read."""

    def __init__(self, connection: _Connection, response: h11.Response) -> None:
        self.status = int(response.status_code)
        self.reason = bytes(response.reason).decode("latin-1")
        self._headers = {bytes(name): bytes(value).decode("latin-1") for name, value in response.headers}
        self._connection = connection

    def header(self, name: bytes) -> str:
        """A header by its name in lower case; empty if there is none."""
        return self._headers.get(name, "")

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The parts of the body as they arrive.

        Raises:
            OSError: the connection was lost.
        """
        while isinstance(event := await self._connection.next_event(), h11.Data):
            yield bytes(event.data)

    async def body(self) -> bytes:
        """The whole body.

        Raises:
            OSError: the connection was lost.
        """
        return b"".join([chunk async for chunk in self.chunks()])


class Connections:
    """The connections to one host.

    Args:
        host: Name or address.
        port: Port.
        seconds: Timeout for connecting.
    """

    def __init__(self, host: str, port: int, *, seconds: float) -> None:
        self._host = host
        self._port = port
        self._seconds = seconds
        self._idle: list[_Connection] = []

    async def post(self, target: bytes, headers: Headers, body: bytes) -> tuple[Response, _Connection]:
        """Send a request; the caller passes the connection to `release` when it has read the response.

        Raises:
            OSError: there is no connection, or it was lost. A lost request may have been carried out.
            ValueError: a header cannot be sent; nothing was.
        """
        connection = self._taken() or await self._opened()
        try:
            return await connection.post(target, headers, body), connection
        except BaseException:
            connection.close()
            raise

    def release(self, connection: _Connection) -> None:
        """Keep a connection for the next request, or close it if its response was not read to the end."""
        if connection.is_reusable() and len(self._idle) < _MOST_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop().close()

    def _taken(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open():
                return connection
            connection.close()
        return None

    async def _opened(self) -> _Connection:
        async with asyncio.timeout(self._seconds):  # TimeoutError is an OSError
            return _Connection(*await asyncio.open_connection(self._host, self._port, limit=_PIECE))


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEADERS)
        self._used = 0.0

    async def post(self, target: bytes, headers: Headers, body: bytes) -> Response:
        http = self._http
        try:
            request = h11.Request(method=b"POST", target=target, headers=list(headers))
            parts = (http.send(request), http.send(h11.Data(data=body)), http.send(h11.EndOfMessage()))
        except h11.LocalProtocolError as error:
            raise ValueError(str(error)) from error
        self._writer.write(b"".join(part for part in parts if part))  # in one packet
        await self._writer.drain()
        while not isinstance(event := await self.next_event(), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise ConnectionError("the server closed the connection")
        return Response(self, event)

    async def next_event(self) -> h11.Event | type[h11.PAUSED]:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_PIECE))
        except h11.RemoteProtocolError as error:
            raise ConnectionError(f"the server does not speak HTTP/1.1: {error}") from error
        assert not isinstance(event, type) or event is h11.PAUSED
        return event

    def is_reusable(self) -> bool:
        """Whether its response was read to the end and it may stay open; it is ready for the next request then."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        self._used = time.monotonic()
        return True

    def is_open(self) -> bool:
        """Whether it can still be used: one that has something to read is closed, or out of step."""
        if self._reader.at_eof() or time.monotonic() - self._used > _IDLE_SECONDS:
            return False
        if sys.platform == "win32":  # `poll` is not there, and `select` takes few sockets
            return True
        poll = select.poll()
        poll.register(self._writer.get_extra_info("socket"), select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        self._writer.transport.abort()
