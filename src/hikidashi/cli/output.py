"""Output of all commands: consoles, errors, exit codes, the language."""

from __future__ import annotations

import errno
import os
import re
from typing import NoReturn

from rich.console import Console
from rich.text import Text

from hikidashi.errors import ConfigError, SearchLogError, ToolSearchError, ToolSourceError
from hikidashi.texts import Language
from hikidashi.web.redact import redacted

from .wrap import wrapped_at_spaces

__all__ = ["Language", "exit_code_of", "language_of_environment", "print_error", "print_text", "stderr", "stdout"]

_NO_SUCH_FILE = ("there is no such file", "does not exist")

_WIDEST = 100
"""Longer lines are hard to read, however wide the terminal is."""


class _Console(Console):
    """A console that raises `BrokenPipeError` for a closed pipe.

    rich would raise `SystemExit`, which stops an event loop in the middle and leaves its threads waiting.
    """

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, "the output pipe was closed")


def stdout() -> Console:
    """A console for results, without colours if NO_COLOR is set or stdout is not a terminal."""
    console = _Console(highlight=False)
    console.width = min(console.width, _WIDEST)
    return console


def stderr() -> Console:
    """A console for errors and progress."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_text(console: Console, text: Text) -> None:
    """Print a paragraph: on a terminal in lines that end at a space, elsewhere on one line.

    A path or URL that is longer than a line stays whole, so that it can be copied.
    """
    for line in wrapped_at_spaces(text, console.width) if console.is_terminal else [text]:
        console.print(line, soft_wrap=True)


def print_error(error: Exception) -> None:
    """Print `error` as one paragraph, without keys that a server may have repeated."""
    message = redacted(re.sub(r"\s+", " ", str(error)))
    print_text(stderr(), Text.assemble(("error: ", "bold red"), (message, "red")))


def exit_code_of(error: Exception) -> int:
    """The exit code for `error`: 2 for wrong usage, as click has it (an invalid query, pattern or path), else 1."""
    if isinstance(error, ToolSearchError):
        return 1 if error.code == "unavailable" else 2
    missing = isinstance(error, ConfigError | ToolSourceError | SearchLogError) and (
        error.reason.partition(".")[0] in _NO_SUCH_FILE
    )
    return 2 if missing else 1


def language_of_environment() -> Language:
    """The language of the environment, read as gettext does: Japanese, or else English."""
    wanted = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    return "ja" if wanted.lower().startswith("ja") else "en"
