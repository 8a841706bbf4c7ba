"""The worker process that parses pages: one frame in, one frame out, until stdin closes."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
from typing import Any

from ...common.unicode import well_formed
from ._reading import TOO_MUCH, read_page
from ._worker_process import read_frame, write_frame

_GRACE_SECONDS = 1.0


def main() -> None:
    """Respond to frames on stdin with frames on stdout."""
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
        write_frame(answers, *_answer(header, body))
        _set_alarm(0)


def _answer(header: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        page = read_page(body, **header)
    except MemoryError:
        return {"failed": TOO_MUCH}, b""
    if isinstance(page, str):
        return {"failed": page}, b""
    return {"title": page.title}, well_formed(page.text).encode()


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
