"""Stops a gateway in the background, and waits for it to end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from hikidashi.gateway.daemon.attach import ask_daemon

__all__ = ["stop_daemon"]

_SECONDS = 20.0
_EXIT_SECONDS = 3.0


def stop_daemon(path: Path, on_silence: Callable[[int | None], None] = lambda _: None) -> bool | None:
    """Whether the daemon at `path` and its servers have ended in time; None where none runs, or none answers.

    Args:
        path: Its socket.
        on_silence: Called with the process of a daemon that does not answer, if it is known.
    """
    stopping = ask_daemon(path, "stop", on_silence=on_silence)
    if stopping is None:
        return None
    import fcntl  # there is no daemon on Windows

    deadline = time.monotonic() + _SECONDS
    lock = path.with_suffix(".lock")  # which the daemon holds until its servers have ended
    if not lock.exists():
        return True
    with lock.open("rb") as held:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                time.sleep(0.02)
            else:
                _wait_for_exit(stopping.get("pid"))
                return True
    return False


def _wait_for_exit(pid: object) -> None:
    """Wait for a process that only has to exit; not for long, since its parent may not reap it."""
    deadline = time.monotonic() + _EXIT_SECONDS
    while isinstance(pid, int) and time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except OSError:
            return
        time.sleep(0.02)
