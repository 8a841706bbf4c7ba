"""A small threaded HTTP server, on 127.0.0.1 unless told otherwise: the part that every service here shares.

This file knows HTTP and threads; what is asked and answered belongs to the subclasses.
"""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import urlsplit

__all__ = ["Exchange", "LoopbackServer", "is_loopback"]

_FAREWELL_SECONDS = 2.0


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, is this machine and nobody else can reach it."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Exchange:
    """One request, and the means to answer it.

    Whatever waits or writes here raises `ConnectionError` once the client has left or the server is closing;
    the server takes that as the end of the exchange.
    """

    def __init__(self, handler: _Handler, body: bytes, closing: threading.Event) -> None:
        target = urlsplit(handler.path)
        self.method = handler.command
        self.path = target.path
        self.query = target.query
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = body
        self._handler = handler
        self._closing = closing

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


class LoopbackServer(ABC):
    """An HTTP server, one daemon thread per connection.

    Subclasses say in `handle` how a request is answered. Use it as a context manager, plain or `async`,
    or call `start()` and `close()`.

    Args:
        host: The address to listen on.
        port: The port; 0 takes a free one.
        longest_body: Bytes; a request with a longer body is answered with 413.
        idle_seconds: How long a connection may be silent before it is closed; `None` is for ever.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        longest_body: int | None = None,
        idle_seconds: float | None = None,
    ) -> None:
        self._address = (host, port)
        self.longest_body = longest_body
        self.idle_seconds = idle_seconds
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
        with self._lock:
            self._connections[request] = thread
        thread.start()

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


class _Unacceptable(Exception):  # noqa: N818 - reads as what it says
    """A request that cannot be read."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener  # pyright: ignore[reportIncompatibleVariableOverride]

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.server.owner.idle_seconds)

    def serve(self) -> None:
        try:
            self.server.owner.handle(Exchange(self, self._read_body(), self.server.closing))
        except _Unacceptable as error:
            self.close_connection = True  # what is left of the body would be taken for the next request
            self.send_error(error.status)
        except (ConnectionError, TimeoutError):
            self.close_connection = True  # the client left or fell silent, or the server is closing
        except Exception as error:
            self.server.owner.fail(error)
            self.close_connection = True

    # The names under which the base class looks for a method.
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = serve  # noqa: N815

    def _read_body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self._read(self._size(self.headers.get("content-length", "0")))
        body = bytearray()
        while size := self._size(self._read_line().partition(b";")[0].decode("ascii", "replace"), 16):
            body += self._read(size)
            self._size(str(len(body)))
            self._read_line()
        self._read_line()
        return bytes(body)

    def _size(self, written: str, base: int = 10) -> int:
        try:
            size = int(written, base)
        except ValueError:
            size = -1
        if size < 0:
            raise _Unacceptable(HTTPStatus.BAD_REQUEST)
        longest = self.server.owner.longest_body
        if longest is not None and size > longest:
            raise _Unacceptable(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return size

    def _read(self, size: int) -> bytes:
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionAbortedError("the client left in the middle of its request")
        return data

    def _read_line(self) -> bytes:
        line = self.rfile.readline()
        if not line.endswith(b"\n"):
            raise ConnectionAbortedError("the client left in the middle of its request")
        return line

    def version_string(self) -> str:
        return "hikidashi"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the overridden method
        """Nothing: a test's stderr belongs to the test."""


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):  # already gone
        connection.shutdown(socket.SHUT_RDWR)
