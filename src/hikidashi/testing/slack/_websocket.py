"""The server's side of a websocket (RFC 6455) on 127.0.0.1, one daemon thread per connection.

Frames and threads are here, the messages in `_socket`.
"""

from __future__ import annotations

import base64
import hashlib
import socket
import socketserver
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from io import BufferedIOBase
from typing import Any, cast

__all__ = ["Connection", "WebSocketServer", "accept_key", "frame", "read_frame"]

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_FAREWELL_SECONDS = 2.0


class Opcode(IntEnum):
    """The opcode of a frame."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


def accept_key(key: str) -> str:
    """The `Sec-WebSocket-Accept` header for the client's `Sec-WebSocket-Key`."""
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()


def frame(opcode: Opcode, data: bytes) -> bytes:
    """One whole, unmasked frame, as a server sends it."""
    first = bytes([0x80 | opcode])
    if len(data) < 126:
        return first + bytes([len(data)]) + data
    if len(data) < 1 << 16:
        return first + b"\x7e" + struct.pack("!H", len(data)) + data
    return first + b"\x7f" + struct.pack("!Q", len(data)) + data


def read_frame(source: BufferedIOBase) -> tuple[bool, Opcode, bytes]:
    """The next frame of a client: whether it ends its message, what it carries, and its data unmasked.

    Raises:
        ConnectionError: The client disconnected, or did not mask its frame.
    """
    first, second = _read(source, 2)
    if not second & 0x80:
        raise ConnectionAbortedError("a client must mask its frames")
    length = second & 0x7F
    if length == 126:
        (length,) = struct.unpack("!H", _read(source, 2))
    elif length == 127:
        (length,) = struct.unpack("!Q", _read(source, 8))
    mask = _read(source, 4)
    data = _read(source, length)
    whole = (mask * (length // 4 + 1))[:length]
    plain = (int.from_bytes(data, "big") ^ int.from_bytes(whole, "big")).to_bytes(length, "big")
    return bool(first & 0x80), Opcode(first & 0x0F), plain


class Connection:
    """One client on its websocket; everything here may be called from any thread."""

    def __init__(self, path: str, connection: socket.socket) -> None:
        self.path = path
        """The path asked for, with its query."""
        self._socket = connection
        self._lock = threading.Lock()

    def send(self, text: str) -> None:
        """Send a text message; does nothing if the client has disconnected."""
        self._write(frame(Opcode.TEXT, text.encode()))

    def pong(self, data: bytes) -> None:
        """Answer a ping."""
        self._write(frame(Opcode.PONG, data))

    def close(self, code: int = 1000) -> None:
        """Send a close frame."""
        self._write(frame(Opcode.CLOSE, struct.pack("!H", code)))

    def cut(self) -> None:
        """Close the connection without a close frame."""
        with suppress(OSError):  # already gone
            self._socket.shutdown(socket.SHUT_RDWR)

    def _write(self, data: bytes) -> None:
        with self._lock, suppress(OSError):  # the reader of this connection sees that the client has left
            self._socket.sendall(data)


class WebSocketServer(socketserver.TCPServer):
    """A websocket server on a free port of 127.0.0.1.

    Args:
        admits: Whether a client may connect to a path; others get HTTP 403.
        opened: Called when a client has connected.
        received: Called with each complete text message of a client.
        closed: Called when a client has disconnected.
    """

    request_queue_size = 128
    allow_reuse_address = True

    def __init__(
        self,
        *,
        admits: Callable[[str], bool],
        opened: Callable[[Connection], None],
        received: Callable[[Connection, str], None],
        closed: Callable[[Connection], None],
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.admits = admits
        self.opened = opened
        self.received = received
        self.closed = closed
        self._lock = threading.Lock()
        self._threads: dict[socket.socket, threading.Thread] = {}
        self._accepting = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The address of the running server, such as `ws://127.0.0.1:49152`."""
        host, port = cast("tuple[str, int]", self.server_address)
        return f"ws://{host}:{port}"

    def start(self) -> None:
        """Start listening."""
        self._accepting.start()

    def stop(self) -> None:
        """Close every connection, and stop listening."""
        self.shutdown()
        self._accepting.join()
        self.server_close()
        with self._lock:
            threads = dict(self._threads)
            for connection in threads:
                with suppress(OSError):  # already gone
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in threads.values():
            thread.join(_FAREWELL_SECONDS)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for the connection."""
        thread = threading.Thread(target=self._serve, args=(request, client_address), daemon=True)
        with self._lock:
            self._threads[request] = thread
        thread.start()

    def _serve(self, connection: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(connection, client_address)
        except (OSError, ValueError):
            pass  # the client disconnected, or violates the protocol
        finally:
            with self._lock:
                del self._threads[connection]
            self.shutdown_request(connection)


class _Handler(socketserver.StreamRequestHandler):
    server: WebSocketServer  # pyright: ignore[reportIncompatibleVariableOverride]
    disable_nagle_algorithm = True

    def handle(self) -> None:
        path, headers = self._read_head()
        if "sec-websocket-key" not in headers:
            self.wfile.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        if not self.server.admits(path):
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        proof = accept_key(headers["sec-websocket-key"])
        self.wfile.write(
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
            + f"sec-websocket-accept: {proof}\r\n\r\n".encode()
        )
        connection = Connection(path, cast("socket.socket", self.connection))
        self.server.opened(connection)
        try:
            self._read_messages(connection)
        finally:
            self.server.closed(connection)

    def _read_head(self) -> tuple[str, dict[str, str]]:
        lines: list[str] = []
        while line := _read_line(self.rfile):
            lines.append(line)
        if len(lines) < 2 or len(lines[0].split(" ")) != 3:
            raise ConnectionAbortedError("this is not HTTP")
        fields = (line.partition(":") for line in lines[1:])
        return lines[0].split(" ")[1], {name.strip().lower(): value.strip() for name, _, value in fields}

    def _read_messages(self, connection: Connection) -> None:
        message = bytearray()
        while True:
            last, opcode, data = read_frame(self.rfile)
            match opcode:
                case Opcode.PING:
                    connection.pong(data)
                case Opcode.PONG:
                    pass
                case Opcode.CLOSE:
                    connection.close()
                    return
                case _:  # text, in one piece or several
                    message += data
                    if last:
                        self.server.received(connection, message.decode())
                        message.clear()


def _read(source: BufferedIOBase, size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise ConnectionAbortedError("the client disconnected")
    return data


def _read_line(source: BufferedIOBase) -> str:
    line = source.readline(65_536)
    if not line.endswith(b"\n"):
        raise ConnectionAbortedError("the client disconnected in the middle of its request")
    return line.decode("latin-1").rstrip("\r\n")
