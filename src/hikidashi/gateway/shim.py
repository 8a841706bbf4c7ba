"""The process that a client starts: it finds or starts the daemon, and carries messages to it and back.

It imports neither `mcp` nor a framework: a client waits for it at every start. A daemon that is lost is replaced with
the client's next request; the requests it did not answer are answered here.
"""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from ..common.files import private_folder, runtime_folder
from ..common.json import is_object
from ..errors import HikidashiError, ServerUnavailableError
from .upstream.processes import Work, work_of_groups

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
                lines: Any = daemon.makefile("rb", buffering=_PIECE)
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


Message: TypeAlias = dict[str, Any]
_Id: TypeAlias = str | int

# Answers as the daemon writes them. They may be long, and only their beginning matters.
_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+|"[^"\\]*"),"(result|error)":')
_HELLO = "initialize"
_INTERNAL_ERROR = -32603
_LISTS = ("tools", "prompts", "resources")


class Conversation:
    """The pending requests, and the messages that restore the client's session at a new daemon.

    Clients up to 2025-11-25 open a session: its `initialize`, log level and subscriptions are kept. Requests of
    2026-07-28 are self-contained.
    """

    def __init__(self) -> None:
        self._waiting: dict[_Id, str] = {}
        self._daemon_requests: set[_Id] = set()
        self._hello: Message | None = None
        self._is_initialized = False
        self._level: Any = None
        self._subscribed: dict[str, Any] = {}

    def client_sends(self, line: bytes) -> bool:
        """Record a message of the client; return whether to forward it: responses to another daemon are not."""
        message = _read(line)
        if message is None:
            return True
        id_, method = _id_of(message), message.get("method")
        if method is None:
            if id_ not in self._daemon_requests and message.keys() & {"result", "error"}:
                return False
            if id_ is not None:
                self._daemon_requests.discard(id_)
        elif id_ is not None:
            self._waiting[id_] = str(method)
        self._keep(message, method)
        return True

    def daemon_sends(self, line: bytes) -> None:
        """Record a message of the daemon."""
        if (answer := _ANSWER.match(line)) is not None:
            self._answered(json.loads(answer[1]), is_error=answer[2] == b"error")
        elif (message := _read(line)) is not None and (id_ := _id_of(message)) is not None:
            if "method" in message:
                self._daemon_requests.add(id_)
            else:
                self._answered(id_, is_error="error" in message)

    def _answered(self, id_: _Id, *, is_error: bool) -> None:
        # A client whose first request is answered late may try `initialize` too: refused, it begins no session.
        if is_error and self._hello is not None and _id_of(self._hello) == id_ and self._waiting.get(id_) == _HELLO:
            self._hello = None
        self._waiting.pop(id_, None)

    def is_request(self, line: bytes) -> bool:
        """Whether `line` is a request."""
        message = _read(line)
        return message is not None and "method" in message and _id_of(message) is not None

    def give_up(self, reason: str) -> list[Message]:
        """An error for each pending request of the client, and a cancellation for each of the daemon."""
        unknown = f"{reason} Whether the call was carried out is not known: check before you repeat it."
        answers: list[Message] = [
            {"id": id_, "error": {"code": _INTERNAL_ERROR, "message": unknown if method == "tools/call" else reason}}
            for id_, method in self._waiting.items()
        ]
        answers += [
            {"method": "notifications/cancelled", "params": {"requestId": id_}} for id_ in self._daemon_requests
        ]
        self._waiting.clear()
        self._daemon_requests.clear()
        return answers

    def beginning(self, name: str) -> list[Message]:
        """The first messages to a new daemon, with ids that begin with `name`."""
        if self._hello is None or _id_of(self._hello) in self._waiting:  # it is the message that is sent next
            return []
        messages: list[Message] = [{**self._hello, "id": f"{name} 0"}]
        if self._is_initialized:
            messages.append({"method": "notifications/initialized"})
        if self._level is not None:
            messages.append({"id": f"{name} 1", "method": "logging/setLevel", "params": self._level})
        for at, params in enumerate(self._subscribed.values(), 2):
            messages.append({"id": f"{name} {at}", "method": "resources/subscribe", "params": params})
        return messages

    def changes(self) -> list[Message]:
        """Notifications for a client with a session: a new daemon may list something else."""
        return [{"method": f"notifications/{one}/list_changed"} for one in _LISTS if self._is_initialized]

    def _keep(self, message: Message, method: object) -> None:
        params = message.get("params")
        uri = str(params.get("uri")) if is_object(params) else ""
        match method:
            case "initialize":
                self._hello = message
            case "notifications/initialized":
                self._is_initialized = True
            case "logging/setLevel":
                self._level = params
            case "resources/subscribe":
                self._subscribed[uri] = params
            case "resources/unsubscribe":
                self._subscribed.pop(uri, None)
            case _:
                return


def _read(line: bytes) -> Message | None:
    """The message on `line`; None if it is malformed, which the daemon reports."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if is_object(message) else None


def _id_of(message: Message) -> _Id | None:
    id_ = message.get("id")
    return id_ if isinstance(id_, str | int) else None


_NAME = "hikidashi serve"
_LONGEST_FOLDER = 80  # bytes: an address of a socket takes 104 on some systems, its name included
_ANSWER_SECONDS = 5.0
_QUIET_SECONDS = 20.0  # without any progress of a daemon that starts
_START_SECONDS = 300.0
_LARGEST_LOG = 256_000  # bytes; what earlier daemons wrote


def sockets_folder() -> Path:
    """The folder of the daemons' sockets: in the user's runtime folder, or where that is too long for a socket, in
    the system's folder for temporary files.

    Raises:
        ServerUnavailableError: another user could write there.
    """
    folder = runtime_folder()
    if len(os.fsencode(folder)) <= _LONGEST_FOLDER:
        return folder
    short = Path(tempfile.gettempdir()) / f"hikidashi-{os.getuid()}"
    private_folder(short)
    found = short.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ServerUnavailableError(_NAME, f"others can write to {short}", "Set XDG_RUNTIME_DIR to a short path.")
    return short


def socket_path(identity: str) -> Path:
    """Where the daemon of one configuration listens."""
    return sockets_folder() / f"{identity}.sock"


def ask_daemon(
    path: Path, question: str, *, on_silence: Callable[[int | None], None] = lambda _: None
) -> dict[str, Any] | None:
    """The daemon's answer to `status`, `progress` or `stop`; None where none runs, or none answers.

    Args:
        path: Its socket.
        question: The command.
        on_silence: Called with the process of a daemon that does not answer; None if the system does not tell it.
    """
    try:
        with connect(path) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            try:
                connection.sendall(question.encode() + b"\n")
                with connection.makefile("rb") as answer:
                    return json.loads(answer.readline() or b"{}")
            except TimeoutError:
                pid: int | None = None
                if sys.platform == "linux":
                    (pid, _, _) = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                on_silence(pid)
                return None
    except (OSError, ValueError):
        return None


def start_daemon(path: Path, command: Sequence[str], log: Path) -> socket.socket:
    """Connect to the daemon at `path`; start it with `command` if there is none.

    Raises:
        ServerUnavailableError: it does not start; its log says why.
    """
    process: subprocess.Popen[bytes] | None = None
    start = _Start()
    while True:
        try:
            connection = connect(path)
        except OSError:
            pass
        else:
            if process is not None:  # reaps it when it ends, so that it does not stay a zombie
                threading.Thread(target=process.wait, daemon=True).start()
                return connection
            if ask_daemon(path, "progress"):
                return connection
            connection.close()  # to a daemon that was killed: what it is sent is lost, though its socket is still there
        if process is None:
            if log.exists() and log.stat().st_size > _LARGEST_LOG:
                os.truncate(log, 0)
            with log.open("ab") as written:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=written,
                    start_new_session=True,
                    cwd="/",
                )
        elif process.poll() not in (None, 0):
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise ServerUnavailableError(_NAME, lines[-1] if lines else "it ended at once", f"See {log}.")
        if start.has_stopped(process.pid):
            process.kill()
            process.wait()
            reason = f"it did not start within {time.monotonic() - start.began:.0f} s"
            raise ServerUnavailableError(_NAME, reason, f"See {log}.")
        time.sleep(0.01)


class _Start:
    """The start of a daemon: on a busy machine it may take minutes, and is waited for while it makes progress."""

    def __init__(self) -> None:
        self.began = self._progressed = self._looked = time.monotonic()
        self._work: Work | None = None

    def has_stopped(self, pid: int) -> bool:
        """Whether the daemon has made no progress for long, or takes too long altogether."""
        now = time.monotonic()
        if now - self._looked > 1.0:
            self._looked = now
            work = (work_of_groups([pid]) or {}).get(pid)
            if work is not None and (work != self._work or work.is_waiting):  # it worked, or waits for a processor
                self._work, self._progressed = work, now
        return now - self._progressed > _QUIET_SECONDS or now - self.began > _START_SECONDS


def connect(path: Path) -> socket.socket:
    """A connection to the daemon at `path`.

    Raises:
        OSError: none listens there.
    """
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    return connection
