"""HTTP/1.1 connections to one server that stay open between requests, on asyncio's streams.

A request through httpx2 takes 0.95 ms of CPU, and that was most of what the gateway added to a call. It still follows
redirects, logs in, and speaks to proxies and over TLS.
"""

from __future__ import annotations

import asyncio
import re
import select
import sys
import time
from collections.abc import AsyncGenerator, Sequence

from ._http_responses import ChunkedBody, Head, MalformedResponseError, ResponseTooLargeError, parse_head

__all__ = ["Connections", "Headers", "NotSentError", "Response"]

Headers = Sequence[tuple[bytes, bytes]]

_PIECE = 1 << 16
_IDLE_SECONDS = 3.0  # many servers close a connection after 5, at the same moment as a client that waits for 5 sends
_BRIEF_SECONDS = 1.0  # where a request cannot be sent again
_MOST_IDLE = 20
_LARGEST_HEAD = 100 * 1024  # bytes; as in httpx2
_MOST_INTERIM = 20  # responses before the final one
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_LINE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_KEEP_ALIVE = re.compile(r"(?:^|,)\s*timeout\s*=\s*(\d{1,6})\b", re.IGNORECASE)


class NotSentError(OSError):
    """There is no connection, so that the request was not sent."""


class _ClosedBeforeAnswerError(ConnectionError):
    """The connection ended before the first byte of a response."""


class Response:
    """A response whose body is still to be read."""

    def __init__(self, connection: _Connection, head: Head) -> None:
        self.status = head.status
        self.reason = head.reason
        self.headers = head.headers
        self.header = head.header
        self._connection = connection

    def chunks(self) -> AsyncGenerator[bytes]:
        """The parts of the body as they arrive.

        Raises:
            OSError: the connection was lost.
        """
        return self._connection.body()

    async def body(self, most: int) -> bytes:
        """The whole body.

        Raises:
            OSError: the connection was lost.
            ResponseTooLargeError: it has more than `most` bytes.
        """
        if (self._connection.head.length or 0) > most:
            raise ResponseTooLargeError
        received = bytearray()  # a list of chunks of one byte each would take fifty times as much memory
        async for chunk in self.chunks():
            received += chunk
            if len(received) > most:
                raise ResponseTooLargeError
        return bytes(received)


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

    async def post(
        self, target: bytes, headers: Headers, body: bytes, *, repeatable: bool
    ) -> tuple[Response, _Connection]:
        """Send a request; the caller passes the connection to `release` when it has read the response.

        A server may close an idle connection at the moment at which a request is sent on it. A request that is
        `repeatable` is then sent again on a new one; for others, only a connection that was used just now is taken.

        Raises:
            NotSentError: there is no connection.
            OSError: it was lost. The request may have been carried out.
            ValueError: a header cannot be sent; nothing was.
        """
        request = _request(target, headers, body)
        connection = self._taken(_IDLE_SECONDS if repeatable else _BRIEF_SECONDS)
        if connection is not None:
            try:
                return await self._sent(connection, request)
            except _ClosedBeforeAnswerError:
                if not repeatable:
                    raise
        return await self._sent(await self._opened(), request)

    async def _sent(self, connection: _Connection, request: bytes) -> tuple[Response, _Connection]:
        try:
            return Response(connection, await connection.send(request)), connection
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

    def _taken(self, most_seconds: float) -> _Connection | None:
        """The connection that was used last, if it still is good; those below it were idle for longer."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open(most_seconds):
                return connection
            connection.close()
        return None

    async def _opened(self) -> _Connection:
        try:
            async with asyncio.timeout(self._seconds):
                return _Connection(*await asyncio.open_connection(self._host, self._port, limit=_PIECE))
        except OSError as error:  # TimeoutError is one
            raise NotSentError(str(error) or f"no connection within {self._seconds:g} s") from error


def _request(target: bytes, headers: Headers, body: bytes) -> bytes:
    """A POST request, in one piece so that it is sent in one packet."""
    lines = [b"POST %s HTTP/1.1" % target]
    for name, value in headers:
        line = b"%s: %s" % (name, value)
        if _LINE.fullmatch(line) is None:
            raise ValueError(f"The header {name.decode('latin-1')!r} has a character that cannot be sent.")
        lines.append(line)
    return b"\r\n".join((*lines, b"", body))


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()
        self._used = 0.0
        self._is_at_end = False
        self._keep_seconds = _IDLE_SECONDS
        self.head: Head

    async def send(self, request: bytes) -> Head:
        self._is_at_end = False
        self._writer.write(request)
        try:
            await self._writer.drain()
            await self._fill()
        except OSError as error:
            raise _ClosedBeforeAnswerError("the server closed the connection") from error
        for _ in range(_MOST_INTERIM):
            self.head = head = parse_head(await self._head())
            if head.status >= 200:
                self._is_at_end = head.length == 0
                if timeout := _KEEP_ALIVE.search(head.header(b"keep-alive")):
                    self._keep_seconds = int(timeout[1]) / 2
                return head
            if head.status == 101:
                break
        raise MalformedResponseError("it has no final status")

    async def _head(self) -> bytearray:
        """The lines up to the next empty one."""
        start = 0
        while (end := _END_OF_HEAD.search(self._buffer, start)) is None:
            if len(self._buffer) > _LARGEST_HEAD:
                raise MalformedResponseError(f"its headers have more than {_LARGEST_HEAD:,} bytes")
            start = max(0, len(self._buffer) - 2)
            await self._fill()
        head = self._buffer[: end.start()]
        del self._buffer[: end.end()]
        return head

    async def body(self) -> AsyncGenerator[bytes]:
        head, buffer = self.head, self._buffer
        if head.is_chunked:
            chunks = ChunkedBody()
            while True:
                if data := chunks.take(buffer):
                    yield data
                if chunks.ended:
                    break
                await self._fill()
        elif head.length is None:
            while True:
                if buffer:
                    yield bytes(buffer)
                    buffer.clear()
                try:
                    await self._fill()
                except ConnectionError:
                    if self._reader.at_eof() and self._reader.exception() is None:
                        return
                    raise
        else:
            left = head.length
            while left:
                if not buffer:
                    await self._fill()
                data = bytes(buffer[:left])
                del buffer[: len(data)]
                left -= len(data)
                yield data
        self._is_at_end = True

    async def _fill(self) -> None:
        data = await self._reader.read(_PIECE)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._buffer += data

    def is_reusable(self) -> bool:
        """Whether its response was read to the end, nothing came after it, and it may stay open."""
        self._used = time.monotonic()
        return self._is_at_end and not self._buffer and self.head.may_stay_open

    def is_open(self, most_seconds: float) -> bool:
        """Whether it can still be used: one that has something to read is closed, or out of step."""
        if self._reader.at_eof() or time.monotonic() - self._used > min(most_seconds, self._keep_seconds):
            return False
        if sys.platform == "win32":  # `poll` is not there, and `select` takes few sockets
            return True
        poll = select.poll()
        poll.register(self._writer.get_extra_info("socket"), select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        self._writer.transport.abort()
