"""Stops a gateway in the background, and waits for it to end."""

from __future__ import annotations

import time
from pathlib import Path

from hikidashi.gateway.attach import ask_daemon

__all__ = ["stop_daemon"]

_SECONDS = 20.0


def stop_daemon(path: Path) -> bool | None:
    """Whether the daemon at `path` and its servers have ended in time; None where none runs."""
    if ask_daemon(path, "stop") is None:
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
                return True
    return False
