"""The worker process that parses pages, from both sides: it handles one request at a time and can be killed.

A request or response is a JSON header and a body of bytes, each prefixed with its length. The process is a plain
`python -m`, not `multiprocessing`, so that it works in programs without `if __name__ == "__main__"`. It ends with its
parent: its stdin closes, and an alarm ends it while it is busy.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import IO, Any

from ...common.unicode import well_formed

_LENGTHS = struct.Struct(">II")
_STARTUP_SECONDS = 60.0
# A process that parses untrusted pages gets none of the program's keys.
_KEPT = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LD_LIBRARY_PATH"})


class WorkerDied(Exception):  # noqa: N818 - reads as what it says
    """The process crashed, or was killed at its deadline, before it responded."""


def write_frame(pipe: IO[bytes], header: dict[str, Any], body: bytes = b"") -> None:
    """Write one request or response."""
    head = json.dumps(header).encode()
    pipe.write(_LENGTHS.pack(len(head), len(body)))
    pipe.write(head)
    pipe.write(body)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """The next request or response; None at the end of the pipe."""
    lengths = pipe.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head_length, body_length = _LENGTHS.unpack(lengths)
    data = pipe.read(head_length + body_length)
    if len(data) < head_length + body_length:
        return None
    return json.loads(data[:head_length]), data[head_length:]


class WorkerProcess:
    """The parent's side: a process that starts at the first call, is reused, and ends after `idle_seconds` idle."""

    def __init__(self, *, memory: int, idle_seconds: float = 60.0) -> None:
        self._memory = memory
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._retirement: threading.Timer | None = None
        self._last_used = 0.0

    @property
    def pid(self) -> int | None:
        """The id of the running process, if any."""
        return self._process.pid if self._process is not None else None

    def call(self, header: dict[str, Any], body: bytes, *, seconds: float) -> tuple[dict[str, Any], bytes]:
        """The response of the process, within `seconds` after it has started.

        Raises:
            WorkerDied: there was no response; the next call starts a new process.
        """
        with self._lock:
            if self._retirement is not None:
                self._retirement.cancel()
            process = self._running()
            try:
                answer = _exchange(process, {**header, "seconds": seconds}, body, seconds)
            except BaseException:
                self._end()
                raise
            self._last_used = time.monotonic()
            self._retirement = threading.Timer(self._idle_seconds, self._retire)
            self._retirement.daemon = True
            self._retirement.start()
            return answer

    def close(self) -> None:
        """End the process, busy or not; a later call starts another."""
        process = self._process
        if process is not None:
            process.kill()  # wakes a waiting call, so that it releases the lock
        with self._lock:
            if self._retirement is not None:
                self._retirement.cancel()
                self._retirement = None
            if self._process is process:
                self._end()

    def _retire(self) -> None:
        with self._lock:
            if time.monotonic() - self._last_used >= self._idle_seconds:  # else it was used in the meantime
                self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = self._start()
        return self._process

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if name.upper() in _KEPT}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(self._memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the program, which then closes us
            )
        except OSError as error:
            raise WorkerDied(f"{__name__} could not be started: {error}") from error
        self._process = process
        try:
            _exchange(process, {"ready": True}, b"", _STARTUP_SECONDS)
        except BaseException:
            self._end()
            raise
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _exchange(
    process: subprocess.Popen[bytes], header: dict[str, Any], body: bytes, seconds: float
) -> tuple[dict[str, Any], bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    deadline = threading.Timer(seconds, process.kill)
    deadline.daemon = True
    deadline.start()
    try:
        write_frame(process.stdin, header, body)
        answer = read_frame(process.stdout)
    except OSError as error:
        raise WorkerDied(str(error)) from error
    finally:
        deadline.cancel()
    if answer is None:
        raise WorkerDied(f"no answer within {seconds:g} s, or a crash")
    return answer


_GRACE_SECONDS = 1.0


def main() -> None:
    """Respond to frames on stdin with frames on stdout."""
    from .document import TOO_MUCH, read_page  # the parsers, which the parent never loads

    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # output of libraries must not mix with the responses
        os.dup2(nowhere, stream)
    logging.disable(logging.CRITICAL)
    _limit_memory(int(sys.argv[1]))

    while (frame := read_frame(questions)) is not None:
        header, body = frame
        if header.pop("ready", False):
            write_frame(answers, {})
            continue
        _set_alarm(header.pop("seconds") + _GRACE_SECONDS)
        try:
            page = read_page(body, **header)
        except MemoryError:
            page = TOO_MUCH
        if isinstance(page, str):
            write_frame(answers, {"failed": page})
        else:
            write_frame(answers, {"title": page.title}, well_formed(page.text).encode())
        _set_alarm(0)


def _limit_memory(size: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no rlimits, and macOS not this one
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _set_alarm(seconds: float) -> None:
    # Without the parent nothing else would stop a page that takes hours. The default action needs no running Python.
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main()
