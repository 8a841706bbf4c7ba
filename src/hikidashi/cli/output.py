"""What every command needs to print: consoles, errors, the reader's language."""

from __future__ import annotations

import errno
import os
import re
from typing import NoReturn

from rich.console import Console
from rich.text import Text

from hikidashi.common.language import Language
from hikidashi.errors import SearchLogError, ToolSearchError, ToolSourceError
from hikidashi.web.redact import redacted

__all__ = ["Language", "exit_code_of", "language_of_environment", "print_error", "stderr", "stdout"]

_NO_SUCH_FILE = ("there is no such file", "does not exist")

_WIDEST = 100
"""Longer lines are hard to read, however wide the terminal is."""


class _Console(Console):
    """A console that lets a closed pipe be an ordinary error.

    rich would raise `SystemExit`, which stops an event loop in the middle and leaves its threads waiting.
    """

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, "the reader of the output is gone")


def stdout() -> Console:
    """A console for what the user asked for; plain where colours are unwelcome (NO_COLOR, a pipe, a file)."""
    console = _Console(highlight=False)
    console.width = min(console.width, _WIDEST)
    return console


def stderr() -> Console:
    """A console for what went wrong."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(error: Exception) -> None:
    """One line about `error`, its remedy included; without keys, which a server may have repeated."""
    said = redacted(re.sub(r"\s+", " ", str(error)))
    stderr().print(Text.assemble(("error: ", "bold red"), (said, "red")))


def exit_code_of(error: Exception) -> int:
    """2 for wrong usage, as click has it: a query, pattern or path that cannot be; 1 for what does not work."""
    if isinstance(error, ToolSearchError):
        return 1 if error.code == "unavailable" else 2
    missing = isinstance(error, ToolSourceError | SearchLogError) and error.reason in _NO_SUCH_FILE
    return 2 if missing else 1


def language_of_environment() -> Language:
    """The language the environment asks for, as gettext reads it; English unless it is Japanese."""
    wanted = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    return "ja" if wanted.lower().startswith("ja") else "en"
