"""Where the log goes while a command runs: a library configures none, so a command that needs one does."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from hikidashi.common.private import make_private, private_folder
from hikidashi.web.redact import redacted

__all__ = ["logged_to_file", "logged_to_stderr", "warned_on_stderr"]

_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_MOST_BYTES = 1_000_000


@contextmanager
def logged_to_stderr(*, secrets: Sequence[str] = ()) -> Generator[None]:
    """While it lasts, what hikidashi and strands log goes to stderr, without `secrets` and the environment's keys."""
    with _logged(logging.StreamHandler(), secrets):
        yield


@contextmanager
def logged_to_file(path: Path, *, secrets: Sequence[str] = ()) -> Generator[None]:
    """While it lasts, what hikidashi and strands log goes to `path`; nowhere if it cannot be written.

    `secrets` and the environment's keys are left out.
    """
    try:
        private_folder(path.parent)
        handler: logging.Handler = _PrivateFileHandler(path, maxBytes=_MOST_BYTES, backupCount=1, encoding="utf-8")
    except OSError:
        handler = logging.NullHandler()  # a command without a log is better than none
    with _logged(handler, secrets):
        yield


@contextmanager
def warned_on_stderr() -> Generator[None]:
    """While it lasts, hikidashi's warnings are on stderr too: whoever starts a command should see what it lacks."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Redacting("warning: %(message)s"))
    ours = logging.getLogger("hikidashi")
    ours.addHandler(handler)
    try:
        yield
    finally:
        ours.removeHandler(handler)


class _PrivateFileHandler(RotatingFileHandler):
    """A log that only its owner can read."""

    def _open(self) -> TextIOWrapper:
        make_private(Path(self.baseFilename))
        return super()._open()


class _Redacting(logging.Formatter):
    """Takes keys out of every line and traceback, whoever wrote them: a server may repeat what it was sent."""

    def __init__(self, line: str, secrets: Sequence[str] = ()) -> None:
        super().__init__(line)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record), self._secrets)


@contextmanager
def _logged(handler: logging.Handler, secrets: Sequence[str]) -> Generator[None]:
    handler.setFormatter(_Redacting(_LINE, secrets))
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
