"""How a process reaches the daemon of a configuration, and starts it.

It imports neither `mcp` nor a framework: a client waits for it at every start.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...common.folders import runtime_folder
from ...common.private import private_folder
from ...errors import ServerUnavailableError
from ..upstream.process.group import Work, work_of_groups

__all__ = ["ask_daemon", "connect", "socket_path", "sockets_folder", "start_daemon"]

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
                on_silence(_listener_of(connection))
                return None
    except (OSError, ValueError):
        return None


def _listener_of(connection: socket.socket) -> int | None:
    """The process that listens at the other end; None where only Linux would tell."""
    if sys.platform != "linux":
        return None
    return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


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
