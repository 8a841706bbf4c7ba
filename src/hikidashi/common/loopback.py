"""A small threaded HTTP server, on 127.0.0.1 by default: the base of every server here.

Sockets and threads are here, HTTP is in `_http_connection`; subclasses handle the requests.
"""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, cast

from ._http_connection import Exchange, Handler, Limits, RequestUnreadable

__all__ = ["Exchange", "Limits", "LoopbackServer", "RequestUnreadable"]

_CLOSE_SECONDS = 2.0
_LINGER_SECONDS = 1.0
_MOST_LINGERING = 256
_NO_ROOM = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\nconnection: close\r\n\r\n"
_NO_LIMITS = Limits()


class LoopbackServer(ABC):
    """An HTTP server with one daemon thread per connection; subclasses implement `handle`.

    Use it as a context manager, plain or `async`, or call `start()` and `close()`.

    Args:
        host: The address to listen on.
        port: The port; 0 takes a free one.
        limits: Limits on what one client may use; none by default.
    """

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0, limits: Limits = _NO_LIMITS) -> None:
        self._address = (host, port)
        self.limits = limits
        self._listener: _Listener | None = None
        self._failures: list[Exception] = []

    @abstractmethod
    def handle(self, exchange: Exchange) -> None:
        """Answer one request; called in the thread of its connection."""

    @property
    def url(self) -> str:
        """The address of the running server, such as `http://127.0.0.1:49152`."""
        if self._listener is None:
            raise RuntimeError(f"{type(self).__name__} is not running. Use it in a `with` block, or call `start()`.")
        host, port = cast("tuple[str, int]", self._listener.server_address[:2])
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def failures(self) -> list[Exception]:
        """Exceptions of `handle`, oldest first."""
        return list(self._failures)

    def start(self) -> Self:
        """Start listening, and return the server."""
        if self._listener is None:
            self._listener = _Listener(self, self._address)
            self._listener.start()
        return self

    def close(self) -> None:
        """Stop listening, and close every connection."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def fail(self, error: Exception) -> None:
        """Record `error` in `failures`; the end of a `with` block raises it, unless the block raised already."""
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
    # The default of 5 drops connections when a hundred clients connect at once.
    request_queue_size = 1024
    allow_reuse_address = True

    def __init__(self, owner: LoopbackServer, address: tuple[str, int]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, Handler)
        self.owner = owner
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._lingering: deque[tuple[float, socket.socket]] = deque()
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
            request.setblocking(False)  # the response fits into any buffer, so a slow client blocks nothing
            request.send(_NO_ROOM)
            request.shutdown(socket.SHUT_WR)
        # Closing a connection while its client still sends may reset it and lose the response.
        self._lingering.append((time.monotonic() + _LINGER_SECONDS, request))
        self._close_lingering(most=_MOST_LINGERING)

    def service_actions(self) -> None:
        """Close lingering connections; the base class calls this several times a second."""
        self._close_lingering(before=time.monotonic())

    def _close_lingering(self, *, before: float = 0.0, most: int | None = None) -> None:
        while self._lingering and (
            self._lingering[0][0] <= before or (most is not None and len(self._lingering) > most)
        ):
            self._lingering.popleft()[1].close()

    def _serve(self, connection: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(connection, client_address)
        except ConnectionError:
            pass  # the client disconnected between two requests
        finally:
            with self._lock:
                del self._connections[connection]
            self.shutdown_request(connection)

    def close(self) -> None:
        self.shutdown()
        self._accepting.join()
        self._close_lingering(most=0)
        self.server_close()
        self.closing.set()
        with self._lock:
            connections = dict(self._connections)
            for connection in connections:
                _shut_down(connection)
        deadline = time.monotonic() + _CLOSE_SECONDS
        for thread in connections.values():
            thread.join(max(0.0, deadline - time.monotonic()))


def _shut_down(connection: socket.socket) -> None:
    with suppress(OSError):  # already gone
        connection.shutdown(socket.SHUT_RDWR)
