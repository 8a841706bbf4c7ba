"""Processes of servers: their memory and work as Linux reports it, whether one still starts, and their end when the
gateway is killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Generator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


def memory_of_group(group: int) -> int | None:
    """Bytes of memory that the processes of `group` use together; None on systems other than Linux."""
    if sys.platform != "linux":
        return None
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for process, _ in _processes({str(group)}):
        with suppress(OSError, ValueError, IndexError):  # the process has ended
            total += int((process / "statm").read_text().split()[1]) * page
    return total


@dataclass(frozen=True, slots=True)
class Work:
    """What the processes of a group have done so far, together."""

    seconds: float = 0.0
    """Processor time, with that of ended children."""
    faults: int = 0
    """How often they touched a page of memory for the first time: often while programs and data are loaded."""
    waited: float = 0.0
    """Seconds for which they were ready to run, and other processes had the processors; 0 if Linux does not tell."""
    is_waiting: bool = False
    """Whether one runs, or waits for a processor or a disk, now."""


def work_of_groups(groups: Collection[int]) -> dict[int, Work] | None:
    """What each of `groups` has done; one that has no process is left out. None on systems other than Linux."""
    if sys.platform != "linux":
        return None
    found: dict[int, Work] = {}
    for process, fields in _processes({str(group) for group in groups}):
        group = int(fields[2]) if int(fields[2]) in groups else int(fields[3])
        before = found.get(group, Work())
        found[group] = Work(
            seconds=before.seconds + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"),
            faults=before.faults + int(fields[7]),
            waited=before.waited + _waited(process),
            is_waiting=before.is_waiting or fields[0] in "RD",
        )
    return found


def _waited(process: Path) -> float:
    with suppress(OSError, ValueError, IndexError):  # the process has ended, or the kernel does not count it
        return int((process / "schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _processes(groups: Collection[str]) -> Generator[tuple[Path, list[str]]]:
    """The processes of groups or sessions, with the fields of `stat` from the state on."""
    for process in _PROC.iterdir():
        if process.name.isdigit():
            with suppress(OSError):  # the process has ended
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                if fields[2] in groups or fields[3] in groups:
                    yield process, fields


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


_QUIET = 0.2  # seconds without new memory; programs that are loaded touch some every 0.04 s of processor time
_NEW_MEMORY = 32  # pages: Python touches 14,000 in a start of 0.7 s, a process that waits or spins none
_LEAST_WORK = 1.5  # seconds of processor time that a start may take; twice what servers with Python do
_MORE_WORK = 2.0  # times what the slowest listed server has taken


class Starts:
    """The starts of the servers' processes."""

    def __init__(self) -> None:
        self._progress: dict[str, tuple[Work, float]] = {}
        """What each had done when it last touched new memory, and until when it has worked or waited to."""
        self._most_work = _LEAST_WORK

    def look(self, server: str, work: Work, now: float) -> None:
        """Note what the processes of `server` have done so far."""
        before, _ = self._progress.get(server, (None, now))
        if before is None or abs(work.faults - before.faults) >= _NEW_MEMORY:
            self._progress[server] = work, now
        elif work.is_waiting:  # on a busy machine, a process may wait for seconds
            self._progress[server] = before, now

    def has_listed(self, work: Work) -> None:
        """Note what the processes of a server had done when it was listed: others may take somewhat more."""
        self._most_work = max(self._most_work, work.seconds * _MORE_WORK)

    def is_working(self, server: str, work: Work, now: float, until: float) -> bool:
        """Whether the start of `server` makes progress, after a `look` at it.

        Args:
            server: Its name.
            work: What its processes have done so far.
            now: The time.
            until: When it should have started; what it had to wait for a processor is added.
        """
        before, since = self._progress[server]
        is_spinning = work.seconds - before.seconds >= _QUIET
        is_quiet = now - since >= _QUIET
        return now < until + work.waited and work.seconds < self._most_work and not is_spinning and not is_quiet
