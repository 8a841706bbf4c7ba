"""Readers of questions: a line editor on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from pathlib import Path
from typing import Protocol

from .storage import InputHistory

_PASTE_PAUSE = 0.05
"""Lines that follow each other within this many seconds were pasted, not typed."""
_CONTINUED = "  "


class QuestionReader(Protocol):
    """Reads one question at a time."""

    def read(self) -> str:
        """The next question, which may have several lines.

        Raises:
            EOFError: the input has ended.
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        ...


def question_reader(runner: asyncio.Runner, *, history: Path | None, coloured: bool) -> QuestionReader:
    """The best reader for this terminal or pipe; typed questions are saved in the file `history`."""
    if not sys.stdin.isatty():
        return PipedLines()
    if sys.platform == "win32":  # the editor and the plain terminal both need a Unix terminal
        return PipedLines(prompt="> ")
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") in {"", "dumb", "unknown"}:
        return PlainTerminal()
    from .editor import LineEditor

    return LineEditor(runner, InputHistory(history), coloured=coloured)


class PipedLines:
    """Each line of a pipe is a question; a line that ends with a backslash continues on the next."""

    def __init__(self, *, prompt: str = "") -> None:
        self._prompt = prompt

    def read(self) -> str:
        """The next line."""
        line = input(self._prompt)
        while line.endswith("\\"):
            line = line[:-1] + "\n" + input(_CONTINUED if self._prompt else "")
        return line


class PlainTerminal:
    """A terminal without cursor control: no editor, but pasted lines are one question."""

    def __init__(self, prompt: str = "> ") -> None:
        self._prompt = prompt
        self._unread = b""

    def read(self) -> str:
        """The next line, and those that were pasted with it."""
        self._show(self._prompt)
        lines = [self._line()]
        while lines[-1].endswith("\\") or self._more_at_once():
            if lines[-1].endswith("\\"):
                lines[-1] = lines[-1][:-1]
                if not self._more_at_once():
                    self._show(_CONTINUED)
            lines.append(self._line())
        return "\n".join(lines)

    def _show(self, text: str) -> None:
        shown = sys.stdout if sys.stdout.isatty() else sys.stderr
        shown.write(text)
        shown.flush()

    def _line(self) -> str:
        # Not through sys.stdin: `select` does not see what is in its buffer.
        while b"\n" not in self._unread:
            piece = os.read(sys.stdin.fileno(), 4096)
            if not piece:
                if not self._unread:
                    raise EOFError
                self._unread += b"\n"
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r")

    def _more_at_once(self) -> bool:
        return bool(self._unread) or bool(select.select([sys.stdin.fileno()], [], [], _PASTE_PAUSE)[0])
