"""The process that a client starts: it carries messages between standard input and output and the daemon.

A daemon that is lost is replaced with the client's next request; the requests it did not answer are answered here. Like
`attach`, it imports neither `mcp` nor a framework.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from typing import BinaryIO, cast

from ...errors import HikidashiError
from ._conversation import Conversation, Message

__all__ = ["Shim"]

_PIECE = 1 << 16
_GREETING_SECONDS = 20.0
_OWN = "hikidashi attached again"  # prefix of the ids of requests that the client did not send
_ATTEMPTS = 3
_LOST = "The gateway ended before it answered. The next request starts it again."


class Shim:
    """Carries messages until the client is gone.

    Args:
        daemon: A connection to the daemon.
        attach: Connects to a daemon again; one is started where there is none.
    """

    def __init__(self, daemon: socket.socket, attach: Callable[[], socket.socket]) -> None:
        self._attach = attach
        self._conversation = Conversation()
        self._lock = threading.Lock()  # guards the conversation and the connection
        self._output = threading.Lock()
        self._daemon: socket.socket | None = None
        self._begin(daemon)

    def run(self) -> int:
        """Return the exit code when standard input ends."""
        with open(sys.stdin.fileno(), "rb", buffering=_PIECE, closefd=False) as incoming:
            for line in incoming:
                self._to_daemon(line)
        return 0

    def _to_daemon(self, line: bytes) -> None:
        with self._lock:
            wanted = self._conversation.client_sends(line)
            daemon = self._daemon
        if daemon is None:
            if not self._conversation.is_request(line):
                return  # a response or notification for a daemon that has ended
            daemon = self._again()
        if daemon is not None and wanted:
            try:
                daemon.sendall(line if line.endswith(b"\n") else line + b"\n")
            except OSError:
                return  # the thread that reads from it answers the request

    def _again(self) -> socket.socket | None:
        """A connection to a new daemon with the client's session restored; None if it cannot start."""
        try:
            daemon, lines = self._greeted()
        except (HikidashiError, OSError) as error:
            with self._lock:
                self._to_client(self._conversation.give_up(f"The gateway ended, and does not start again: {error}"))
            return None
        with self._lock:
            self._daemon = daemon
            self._to_client(self._conversation.changes())
        threading.Thread(target=self._from_daemon, args=(daemon, lines), daemon=True).start()
        return daemon

    def _greeted(self) -> tuple[socket.socket, BinaryIO]:
        """A connection to a daemon with the session restored; one that is ending may still accept connections."""
        for attempt in range(1, _ATTEMPTS + 1):
            daemon = self._attach()
            try:
                daemon.settimeout(_GREETING_SECONDS)
                daemon.sendall(b"mcp\n")
                lines = cast("BinaryIO", daemon.makefile("rb", buffering=_PIECE))
                if beginning := self._conversation.beginning(_OWN):
                    daemon.sendall(_line(beginning[0]))
                    while _OWN.encode() not in (answer := lines.readline()):
                        if not answer:
                            raise ConnectionResetError("it ended at once")
                    daemon.sendall(b"".join(map(_line, beginning[1:])))
                daemon.settimeout(None)
            except OSError as error:
                daemon.close()
                if attempt == _ATTEMPTS or not isinstance(error, ConnectionError):
                    raise
            else:
                return daemon, lines
        raise AssertionError

    def _begin(self, daemon: socket.socket) -> None:
        try:
            daemon.sendall(b"mcp\n")
        except OSError:  # it just ended: the first request finds another
            daemon.close()
            return
        self._daemon = daemon
        lines = daemon.makefile("rb", buffering=_PIECE)
        threading.Thread(target=self._from_daemon, args=(daemon, lines), daemon=True).start()

    def _from_daemon(self, daemon: socket.socket, lines: BinaryIO) -> None:
        own = f'"{_OWN}'.encode()
        with daemon, lines:
            try:
                for line in lines:
                    if not line.endswith(b"\n"):
                        break  # the daemon ended in the middle of it
                    with self._lock:
                        self._conversation.daemon_sends(line)
                    if own not in line[:100]:
                        self._write(line)
            except OSError:
                pass  # the same as the end of the stream
            with self._lock:
                self._daemon = None
                self._to_client(self._conversation.give_up(_LOST))

    def _to_client(self, messages: Iterable[Message]) -> None:
        self._write(b"".join(map(_line, messages)))

    def _write(self, data: bytes) -> None:
        with self._output:
            try:
                while data:
                    data = data[os.write(sys.stdout.fileno(), data) :]
            except OSError:
                os._exit(0)  # the client is gone, and this process has no state of its own


def _line(message: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
