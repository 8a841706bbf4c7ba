"""HTTP/1.1 on one connection of a `LoopbackServer`: requests read within limits, and answered."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol
from urllib.parse import urlsplit

_BUFFER = 16 * 1024
_LONGEST_HEAD = 64 * 1024
_LONGEST_LINE = 4 * 1024  # of a chunked body: the size of a chunk, or a trailer
_MOST_TRAILERS = 64
_MOST_DIGITS = 18
_LINGER_SECONDS = 1.0
_LINGER_BYTES = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on what one client may use of this process; None is no limit.

    Each is checked before more is read. A client that exceeds one gets an error if possible, and is disconnected.
    """

    body_bytes: int | None = None
    """A request with a longer body is answered with 413."""
    idle_seconds: float | None = None
    """Time between two requests of a connection."""
    head_seconds: float | None = None
    """Time for the head of a request, from its first byte on."""
    body_seconds: float | None = None
    """Time for the body."""
    write_seconds: float | None = None
    """Time for a client to read a response, or a chunk of one."""
    connections: int | None = None
    """Connections at once, each with its own thread; others are answered with 503."""


class RequestUnreadable(ConnectionError):  # noqa: N818 - reads as what it says
    """The request is malformed, exceeds a limit, or its client disconnected or timed out."""


class Exchange:
    """One request, and the methods to answer it.

    They raise `ConnectionError` once the client has disconnected or the server is closing; the server handles it.
    """

    def __init__(self, handler: Handler, closing: threading.Event) -> None:
        target = urlsplit(handler.path)
        self.method = handler.command
        self.path = target.path
        self.query = target.query
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self._handler = handler
        self._closing = closing

    @cached_property
    def body(self) -> bytes:
        """The body, read on first access: a request that is refused for its head costs no memory.

        Raises:
            RequestUnreadable: for the server to handle.
        """
        return self._handler.read_body()

    @property
    def body_was_read(self) -> bool:
        """Whether `body` was accessed, so that the next request of this connection follows."""
        return "body" in vars(self)

    def answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a whole response."""
        self._begin(status, {**headers, "content-length": str(len(body))})
        if self.method != "HEAD":
            self._handler.wfile.write(body)

    def answer_in_part(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a response that announces the whole of `body` and breaks off halfway."""
        self._begin(status, {**headers, "content-length": str(len(body))})
        self._handler.wfile.write(body[: len(body) // 2])
        self.hang_up()

    def begin_stream(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of a response whose body follows with `send`."""
        self._begin(status, {**headers, "transfer-encoding": "chunked"})

    def send(self, data: bytes) -> None:
        """Send one chunk of a streamed body."""
        self._handler.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        """End a streamed body; without it the client sees the stream break off."""
        self._handler.wfile.write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        """Close the connection after this exchange, finished or not."""
        self._handler.close_connection = True

    def wait(self, seconds: float | None) -> None:
        """Wait for `seconds`, or with `None` until the server closes."""
        if self._closing.wait(seconds):
            raise ConnectionAbortedError("the server is closing")

    def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()


class Owner(Protocol):
    """The server that answers the requests."""

    limits: Limits

    def handle(self, exchange: Exchange) -> None:
        """Answer one request."""
        ...

    def fail(self, error: Exception) -> None:
        """Record an error of `handle`."""
        ...


class Listener(Protocol):
    """The socket server that accepts the connections."""

    owner: Owner
    closing: threading.Event


class _Unacceptable(RequestUnreadable):
    """The request is malformed or exceeds a limit, and is answered with `status`."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class _Incoming(io.RawIOBase):
    """The bytes of one connection, with a deadline and a size limit for each part of a request."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._until: float | None = None
        self._left: int | None = None

    def expect(self, *, seconds: float | None, size: int | None = None) -> None:
        """From now on, read at most `size` bytes within `seconds`; None is no limit."""
        self._until = None if seconds is None else time.monotonic() + seconds
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        if self._left is not None:
            if self._left <= 0:
                raise _Unacceptable(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            view = view[: self._left]
        remaining = None if self._until is None else self._until - time.monotonic()
        if remaining is not None and remaining <= 0:
            raise TimeoutError
        self._connection.settimeout(remaining)
        read = self._connection.recv_into(view)
        if self._left is not None:
            self._left -= read
        return read


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Listener  # pyright: ignore[reportIncompatibleVariableOverride]

    def setup(self) -> None:
        super().setup()
        self._limits = self.server.owner.limits
        self._incoming = _Incoming(self.connection)
        self.rfile.close()
        self.rfile = self._buffered = io.BufferedReader(self._incoming, _BUFFER)

    def handle_one_request(self) -> None:
        """Handle one request; a bad one is answered if possible, and ends the connection."""
        try:
            self._incoming.expect(seconds=self._limits.idle_seconds)
            if not self._buffered.peek(1):
                self.close_connection = True
                return
            self._incoming.expect(seconds=self._limits.head_seconds, size=_LONGEST_HEAD)
            super().handle_one_request()
        except _Unacceptable as error:
            self.refuse(error.status)
        except (ConnectionError, TimeoutError):
            self.close_connection = True  # the client disconnected or timed out, or the server is closing

    def serve(self) -> None:
        self.connection.settimeout(self._limits.write_seconds)
        try:
            exchange = Exchange(self, self.server.closing)
        except ValueError:  # a target such as `http://[`
            self.refuse(HTTPStatus.BAD_REQUEST)
            return
        try:
            self.server.owner.handle(exchange)
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            self.server.owner.fail(error)
            self.close_connection = True
        if not exchange.body_was_read and self._has_body():
            self.close_connection = True  # what is left of the body would be taken for the next request
            self._linger()

    # The names under which the base class looks for a method.
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = serve  # noqa: N815

    def handle_expect_100(self) -> bool:
        """Send `100 Continue` later, when the body is read."""
        return True

    def refuse(self, status: HTTPStatus) -> None:
        """Answer a request that cannot be read with `status`, and close the connection."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.settimeout(self._limits.write_seconds)
            self.send_error(status)
            self.wfile.flush()
        self._linger()

    def read_body(self) -> bytes:
        """The body of the request, within its limits."""
        if self.headers.get("expect", "").lower() == "100-continue":
            self.send_response_only(HTTPStatus.CONTINUE)
            self.end_headers()
        self._incoming.expect(seconds=self._limits.body_seconds)
        try:
            return self._read_body()
        except TimeoutError as error:
            raise RequestUnreadable("the client timed out in the middle of its request") from error
        finally:
            self.connection.settimeout(self._limits.write_seconds)

    def _has_body(self) -> bool:
        return "transfer-encoding" in self.headers or self.headers.get("content-length", "0").strip() != "0"

    def _linger(self) -> None:
        """Read some of what still arrives: closing at once may reset the connection and lose the response."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self._incoming.expect(seconds=_LINGER_SECONDS, size=_LINGER_BYTES)
            while self._incoming.readinto(bytearray(_BUFFER)):
                pass

    def _read_body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return self._read(self._size(self.headers.get("content-length", "0")))
        body = bytearray()
        while size := self._size(self._read_line().partition(b";")[0].decode("ascii", "replace"), 16):
            self._size(str(len(body) + size))
            body += self._read(size)
            if self._read_line().strip():
                raise _Unacceptable(HTTPStatus.BAD_REQUEST)
        for _ in range(_MOST_TRAILERS):
            if not self._read_line().strip():
                return bytes(body)
        raise _Unacceptable(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _size(self, written: str, base: int = 10) -> int:
        digits = written.strip()
        try:
            size = int(digits, base) if digits.isalnum() and len(digits) <= _MOST_DIGITS else -1
        except ValueError:
            size = -1
        if size < 0:
            raise _Unacceptable(HTTPStatus.BAD_REQUEST)
        longest = self._limits.body_bytes
        if longest is not None and size > longest:
            raise _Unacceptable(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return size

    def _read(self, size: int) -> bytes:
        data = self.rfile.read(size)
        if len(data) < size:
            raise RequestUnreadable("the client disconnected in the middle of its request")
        return data

    def _read_line(self) -> bytes:
        line = self.rfile.readline(_LONGEST_LINE)
        if line.endswith(b"\n"):
            return line
        if len(line) == _LONGEST_LINE:
            raise _Unacceptable(HTTPStatus.BAD_REQUEST)
        raise RequestUnreadable("the client disconnected in the middle of its request")

    def version_string(self) -> str:
        return "hikidashi"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the overridden method
        """Log nothing: stderr belongs to the program."""
