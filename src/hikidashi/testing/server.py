"""HTTP on 127.0.0.1 for tests: whole answers, streams, and every way in which a server may fail its client."""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

_CLOSE_SECONDS = 2.0


class ServerBlock(ABC):
    """A server for a `with` block, plain or `async`, whose end closes it and raises what failed inside."""

    def __init__(self) -> None:
        self._url: str | None = None
        self.failures: list[Exception] = []
        """Exceptions on the way to an answer, oldest first; the end of a `with` block raises the first."""

    @abstractmethod
    def _open(self) -> str:
        """Start listening, and return the address."""

    @abstractmethod
    def _shut(self) -> None:
        """Stop listening, and close every connection."""

    @property
    def url(self) -> str:
        """The address of the running server, such as `http://127.0.0.1:49152`."""
        if self._url is None:
            raise RuntimeError(f"{type(self).__name__} is not running. Use it in a `with` block, or call `start()`.")
        return self._url

    def start(self) -> Self:
        """Start listening, and return the server."""
        if self._url is None:
            self._url = self._open()
        return self

    def close(self) -> None:
        """Stop listening, and close every connection; what was recorded stays."""
        if self._url is not None:
            self._shut()
            self._url = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        for failure in self.failures:
            if error is None:
                raise failure
            error.add_note(f"Earlier, answering a request to the {type(self).__name__} raised {failure!r}.")

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


class LoopbackServer(ServerBlock):
    """An HTTP/1.1 server with one daemon thread per connection; subclasses implement `handle`."""

    @abstractmethod
    def handle(self, exchange: Exchange) -> None:
        """Answer one request; called in the thread of its connection, and may block."""

    def _open(self) -> str:
        self._listener = _Listener(self)
        return f"http://127.0.0.1:{self._listener.server_address[1]}"

    def _shut(self) -> None:
        self._listener.close()


class Exchange:
    """One request, and the methods to answer it.

    They raise `ConnectionError` once the client has disconnected or the server is closing; the server handles it.
    """

    def __init__(self, handler: _Handler) -> None:
        target = urlsplit(handler.path)
        self.method = handler.command
        self.path = target.path
        self.query = target.query
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        """Header names are lower case."""
        self.body = handler.read_body()
        self._handler = handler

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
        if self._handler.server.closing.wait(seconds):
            raise ConnectionAbortedError("the server is closing")

    def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()


class _Handler(BaseHTTPRequestHandler):
    """HTTP/1.1 on one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener  # pyright: ignore[reportIncompatibleVariableOverride]

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True  # the client has disconnected, or the server is closing
        except Exception as error:
            self.server.owner.failures.append(error)
            self.close_connection = True

    def serve(self) -> None:
        self.server.owner.handle(Exchange(self))

    # The names under which the base class looks for a method.
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = serve  # noqa: N815

    def read_body(self) -> bytes:
        """The body of the request.

        Raises:
            ConnectionError: the client has disconnected in the middle of it.
        """
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self._read(int(self.headers.get("content-length", "0")))
        body = b""
        while size := int(self._read_line().partition(b";")[0], 16):
            body += self._read(size)
            self._read_line()
        while self._read_line().strip():
            pass  # trailers
        return body

    def _read(self, size: int) -> bytes:
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionAbortedError("the client disconnected in the middle of its request")
        return data

    def _read_line(self) -> bytes:
        line = self.rfile.readline()
        if not line.endswith(b"\n"):
            raise ConnectionAbortedError("the client disconnected in the middle of its request")
        return line

    def version_string(self) -> str:
        return "hikidashi"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the overridden method
        """Log nothing: stderr belongs to the program."""


class _Listener(socketserver.TCPServer):
    # The default of 5 drops connections when a hundred clients connect at once.
    request_queue_size = 1024
    allow_reuse_address = True

    def __init__(self, owner: LoopbackServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._accepting = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
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
            pass  # the client has disconnected between two requests
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
                with suppress(OSError):  # already gone
                    connection.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + _CLOSE_SECONDS
        for thread in connections.values():
            thread.join(max(0.0, deadline - time.monotonic()))
