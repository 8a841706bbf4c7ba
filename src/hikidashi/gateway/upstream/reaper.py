"""A process that ends the servers of a gateway which was killed: nothing else outlives a `kill -9`.

It has the ids of their process groups, and learns of the end by its input, which closes with the gateway.
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
    """Kills the process groups it was told of when this process ends, however it ends. Does nothing on Windows."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """Kill `group` with this process."""
        self._groups.add(group)
        self._tell("+", group)

    def discard(self, group: int) -> None:
        """Forget `group`, which has ended."""
        self._groups.discard(group)
        self._tell("-", group)

    def close(self) -> None:
        """End the reaper, and with it what is left of the groups."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5.0)
            self._process = None

    def _tell(self, sign: str, group: int) -> None:
        if sys.platform == "win32":
            return
        for _ in range(2):  # once more if somebody has killed the reaper
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
