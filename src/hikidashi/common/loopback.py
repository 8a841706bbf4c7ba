"""A small threaded HTTP server, on 127.0.0.1 unless told otherwise: the part that every service here shares.

This file knows HTTP and threads; what is asked and answered belongs to the subclasses.
"""

from __future__ import annotations

import io
import socket
import socketserver
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import urlsplit

__all__ = ["Exchange", "Limits", "LoopbackServer", "RequestUnreadable", "is_loopback"]

_FAREWELL_SECONDS = 2.0
_BUFFER = 16 * 1024
_LONGEST_HEAD = 64 * 1024
_LONGEST_LINE = 4 * 1024  # of a chunked body: the size of a chunk, or a trailer
_MOST_TRAILERS = 64
_MOST_DIGITS = 18
_LINGER_SECONDS = 1.0
_LINGER_BYTES = 256 * 1024
_NO_ROOM = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\nconnection: close\r\n\r\n"


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, is this machine and nobody else can reach it."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much of this process one client may use. The defaults are for tests, whose clients are their own.

    Every limit is checked before more is read: a client that goes past one is answered, if it still can be, and let go.
    """

    body_bytes: int | None = None
    """A request with a longer body is answered with 413."""
    idle_seconds: float | None = None
    """How long a connection may wait between two requests."""
    head_seconds: float | None = None
    """How long the head of a request may take, from its first byte on."""
    body_seconds: float | None = None
    """How long the body may take."""
    write_seconds: float | None = None
    """How long a client may take to read an answer, or a piece of one."""
    connections: int | None = None
    """How many connections, each with a thread of its own, are served at once; others are answered with 503."""


class RequestUnreadable(ConnectionError):  # noqa: N818 - reads as what it says
    """The body of a request breaks a rule or a limit, or its client left or fell silent: the end of the exchange."""


class Exchange:
    """One request, and the means to answer it.

    Whatever waits or writes here raises `ConnectionError` once the client has left or the server is closing;
    the server takes that as the end of the exchange.
    """

    def __init__(self, handler: _Handler, closing: threading.Event) -> None:
        target = urlsplit(handler.path)
        self.method = handler.command
        self.path = target.path
        self.query = target.query
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self._handler = handler
        self._closing = closing

    @cached_property
    def body(self) -> bytes:
        """The body, read when it is first asked for: a request that is refused for its head costs no memory.

        Raises:
            RequestUnreadable: for the server to handle.
        """
        return self._handler.read_body()

    @property
    def body_was_read(self) -> bool:
        """Whether the next request of this connection follows."""
        return "body" in vars(self)

    def answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """A whole answer."""
        self._begin(status, {**headers, "content-length": str(len(body))})
        if self.method != "HEAD":
            self._handler.wfile.write(body)

    def answer_in_part(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """An answer that promises the whole of `body` and breaks off halfway."""
        self._begin(status, {**headers, "content-length": str(len(body))})
        self._handler.wfile.write(body[: len(body) // 2])
        self.hang_up()

    def begin_stream(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of an answer whose body follows with `send`."""
        self._begin(status, {**headers, "transfer-encoding": "chunked"})

    def send(self, data: bytes) -> None:
        """One piece of a streamed body."""
        self._handler.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        """The end of a streamed body; without it the client sees the stream break off."""
        self._handler.wfile.write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        """The connection ends with this exchange, finished or not."""
        self._handler.close_connection = True

    def wait(self, seconds: float | None) -> None:
        """Nothing for `seconds`, or with `None` until the server closes."""
        if self._closing.wait(seconds):
            raise ConnectionAbortedError("the server is closing")

    def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()


_NO_LIMITS = Limits()


class LoopbackServer(ABC):
    """An HTTP server, one daemon thread per connection.

    Subclasses say in `handle` how a request is answered. Use it as a context manager, plain or `async`,
    or call `start()` and `close()`.

    Args:
        host: The address to listen on.
        port: The port; 0 takes a free one.
        limits: How much of this process one client may use.
    """

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0, limits: Limits = _NO_LIMITS) -> None:
        self._address = (host, port)
        self.limits = limits
        self._listener: _Listener | None = None
        self._failures: list[Exception] = []

    @abstractmethod
    def handle(self, exchange: Exchange) -> None:
        """Answers one request; called in the thread of its connection."""

    @property
    def url(self) -> str:
        """The address of the running server, such as `http://127.0.0.1:49152`."""
        if self._listener is None:
            raise RuntimeError(f"{type(self).__name__} is not running. Use it in a `with` block, or call `start()`.")
        host, port = cast("tuple[str, int]", self._listener.server_address[:2])
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def failures(self) -> list[Exception]:
        """What was raised while answering, by the test's own code for example, oldest first."""
        return list(self._failures)

    def start(self) -> Self:
        """The same server, listening."""
        if self._listener is None:
            self._listener = _Listener(self, self._address)
            self._listener.start()
        return self

    def close(self) -> None:
        """Ends every connection, also those that wait, and stops listening."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def fail(self, error: Exception) -> None:
        """Keeps `error` for `failures`, and to be raised when the `with` block ends well."""
        self._failures.append(error)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        for failure in self._failures:
            if error is None:
                raise failure
            error.add_note(f"Earlier, answering a request to the {type(self).__name__} raised {failure!r}.")

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


class _Listener(socketserver.TCPServer):
    # The default of 5 drops connections when a hundred clients come at once.
    request_queue_size = 1024
    allow_reuse_address = True

    def __init__(self, owner: LoopbackServer, address: tuple[str, int]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)
        self.owner = owner
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._accepting = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)

    def start(self) -> None:
        self._accepting.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(target=self._serve, args=(request, client_address), daemon=True)
        most = self.owner.limits.connections
        with self._lock:
            has_room = most is None or len(self._connections) < most
            if has_room:
                self._connections[request] = thread
        if has_room:
            thread.start()
            return
        with suppress(OSError):
            request.setblocking(False)  # the answer fits into any buffer; nobody waits for this client
            request.send(_NO_ROOM)
        self.shutdown_request(request)

    def _serve(self, connection: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(connection, client_address)
        except ConnectionError:
            pass  # the client left between two requests
        finally:
            with self._lock:
                del self._connections[connection]
            self.shutdown_request(connection)

    def close(self) -> None:
        self.shutdown()
        self._accepting.join()
        self.server_close()
        self.closing.set()
        with self._lock:
            connections = dict(self._connections)
            for connection in connections:
                _cut(connection)
        deadline = time.monotonic() + _FAREWELL_SECONDS
        for thread in connections.values():
            thread.join(max(0.0, deadline - time.monotonic()))


class _Unacceptable(RequestUnreadable):
    """The request breaks a rule or a limit, and is answered with `status`."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class _Incoming(io.RawIOBase):
    """The bytes of one connection, each part of a request within its own time and size."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._until: float | None = None
        self._left: int | None = None

    def expect(self, *, seconds: float | None, size: int | None = None) -> None:
        """From now on, at most `size` bytes within `seconds`; None is any number, or for ever."""
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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener  # pyright: ignore[reportIncompatibleVariableOverride]

    def setup(self) -> None:
        super().setup()
        self._limits = self.server.owner.limits
        self._incoming = _Incoming(self.connection)
        self.rfile.close()
        self.rfile = self._buffered = io.BufferedReader(self._incoming, _BUFFER)

    def handle_one_request(self) -> None:
        """One request of the connection; whatever is wrong with it ends the connection, answered if it can be."""
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
            self.close_connection = True  # the client left or fell silent, or the server is closing

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
            self._let_go()

    # The names under which the base class looks for a method.
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = serve  # noqa: N815

    def handle_expect_100(self) -> bool:
        """Wait with `100 Continue` until the body is wanted."""
        return True

    def refuse(self, status: HTTPStatus) -> None:
        """Answer a request that cannot be read, and end the connection."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.settimeout(self._limits.write_seconds)
            self.send_error(status)
            self.wfile.flush()
        self._let_go()

    def read_body(self) -> bytes:
        """The body of the request, within its limits."""
        if self.headers.get("expect", "").lower() == "100-continue":
            self.send_response_only(HTTPStatus.CONTINUE)
            self.end_headers()
        self._incoming.expect(seconds=self._limits.body_seconds)
        try:
            return self._read_body()
        except TimeoutError as error:
            raise RequestUnreadable("the client fell silent in the middle of its request") from error
        finally:
            self.connection.settimeout(self._limits.write_seconds)

    def _has_body(self) -> bool:
        return "transfer-encoding" in self.headers or self.headers.get("content-length", "0").strip() != "0"

    def _let_go(self) -> None:
        """Read a little of what still comes: a connection closed at once may lose the answer on its way."""
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
            raise RequestUnreadable("the client left in the middle of its request")
        return data

    def _read_line(self) -> bytes:
        line = self.rfile.readline(_LONGEST_LINE)
        if line.endswith(b"\n"):
            return line
        if len(line) == _LONGEST_LINE:
            raise _Unacceptable(HTTPStatus.BAD_REQUEST)
        raise RequestUnreadable("the client left in the middle of its request")

    def version_string(self) -> str:
        return "hikidashi"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the overridden method
        """Nothing: a test's stderr belongs to the test."""


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):  # already gone
        connection.shutdown(socket.SHUT_RDWR)
