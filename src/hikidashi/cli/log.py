"""Logging of commands: the library itself configures none."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from hikidashi.common.files import make_private, private_folder
from hikidashi.web.redact import redacted

_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_MOST_BYTES = 1_000_000


@contextmanager
def logged_to_stderr(*, secrets: Sequence[str] = ()) -> Generator[None]:
    """Send the logs of hikidashi and strands to stderr, without `secrets` and the environment's keys."""
    with _logged(logging.StreamHandler(), secrets):
        yield


@contextmanager
def logged_to_file(path: Path, *, secrets: Sequence[str] = ()) -> Generator[None]:
    """Send the logs of hikidashi and strands to `path`, or nowhere if it cannot be written.

    `secrets` and the environment's keys are left out.
    """
    try:
        private_folder(path.parent)
        handler: logging.Handler = _PrivateFileHandler(path, maxBytes=_MOST_BYTES, backupCount=1, encoding="utf-8")
    except OSError:
        handler = logging.NullHandler()  # the command runs without a log
    with _logged(handler, secrets):
        yield


@contextmanager
def warned_on_stderr() -> Generator[None]:
    """Send hikidashi's warnings to stderr too, such as one about a missing dependency at the start."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Redacting("warning: %(message)s"))
    own = logging.getLogger("hikidashi")
    own.addHandler(handler)
    try:
        yield
    finally:
        own.removeHandler(handler)


class _PrivateFileHandler(RotatingFileHandler):
    """A log that only its owner can read."""

    def _open(self) -> TextIOWrapper:
        make_private(Path(self.baseFilename))
        return super()._open()


class _Redacting(logging.Formatter):
    """Removes keys from every line and traceback: a server may repeat what it was sent."""

    def __init__(self, line: str, secrets: Sequence[str] = ()) -> None:
        super().__init__(line)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record), self._secrets)


@contextmanager
def _logged(handler: logging.Handler, secrets: Sequence[str]) -> Generator[None]:
    handler.setFormatter(_Redacting(_LINE, secrets))
    own, strands = logging.getLogger("hikidashi"), logging.getLogger("strands")
    before = own.level, own.propagate, strands.propagate
    for logger in (own, strands):
        logger.addHandler(handler)
        logger.propagate = False
    own.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger in (own, strands):
            logger.removeHandler(handler)
        own.level, own.propagate, strands.propagate = before
        handler.close()
