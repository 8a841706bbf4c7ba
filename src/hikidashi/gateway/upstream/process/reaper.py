"""A helper process that ends the servers of a gateway which was killed, even by `kill -9`.

It holds the ids of their process groups. Its standard input closes when the gateway ends.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

__all__ = ["Reaper"]

_PROGRAM = """
import os, signal, sys, time
groups = set()
for line in sys.stdin:
    sign, group = line[0], int(line[1:])
    (groups.add if sign == "+" else groups.discard)(group)
for sent in (signal.SIGTERM, signal.SIGKILL):
    for group in groups:
        try:
            os.killpg(group, sent)
        except OSError:
            pass
    time.sleep(0.5 if sent == signal.SIGTERM and groups else 0)
"""


class Reaper:
    """Kills registered process groups when this process ends, however it ends. Does nothing on Windows."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """Register `group`."""
        self._groups.add(group)
        self._send("+", group)

    def discard(self, group: int) -> None:
        """Unregister `group`, which has ended."""
        self._groups.discard(group)
        self._send("-", group)

    def close(self) -> None:
        """End the helper process, which kills the registered groups."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5.0)
            self._process = None

    def _send(self, sign: str, group: int) -> None:
        if sys.platform == "win32":
            return
        for _ in range(2):  # again if the helper process was killed
            if self._process is None or self._process.poll() is not None:
                self._start()
                sign = ""
            try:
                self._write(f"{sign}{group}\n" if sign else "".join(f"+{one}\n" for one in self._groups))
            except OSError:
                self._process = None
            else:
                return

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _write(self, text: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()
