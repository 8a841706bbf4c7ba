"""Where the log of a chat goes: to a file, since the terminal belongs to the conversation, or to stderr when asked."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

__all__ = ["logged"]

_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_MOST_BYTES = 1_000_000


@contextmanager
def logged(path: Path, *, verbose: bool) -> Generator[None]:
    """While it lasts, what hikidashi and strands log goes to `path`, or to stderr if `verbose`."""
    handler = _handler(path, verbose=verbose)
    handler.setFormatter(logging.Formatter(_LINE))
    ours, strands = logging.getLogger("hikidashi"), logging.getLogger("strands")
    before = ours.level, ours.propagate, strands.propagate
    for logger in (ours, strands):
        logger.addHandler(handler)
        logger.propagate = False
    ours.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger in (ours, strands):
            logger.removeHandler(handler)
        ours.level, ours.propagate, strands.propagate = before
        handler.close()


def _handler(path: Path, *, verbose: bool) -> logging.Handler:
    if verbose:
        return logging.StreamHandler()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return RotatingFileHandler(path, maxBytes=_MOST_BYTES, backupCount=1, encoding="utf-8")
    except OSError:
        return logging.NullHandler()  # a chat without a log is better than none
