"""Where questions are typed: a line editor on a terminal, plain lines where there is none."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .keep import MOST_ENTRIES, TypedHistory

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

__all__ = ["LineEditor", "PipedLines", "PlainTerminal", "QuestionReader", "question_reader"]

_PASTE_PAUSE = 0.05
"""Lines that follow each other within so many seconds were pasted, not typed."""
_CONTINUED = "  "


class QuestionReader(Protocol):
    """Gives one question at a time."""

    def read(self) -> str:
        """The next question, which may have several lines.

        Raises:
            EOFError: there are no more.
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        ...


def question_reader(runner: asyncio.Runner, *, history: Path | None, coloured: bool) -> QuestionReader:
    """The best way to read questions here; typed ones are kept in the file `history`."""
    if not sys.stdin.isatty():
        return PipedLines()
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") in {"", "dumb", "unknown"}:
        return PlainTerminal()
    return LineEditor(runner, TypedHistory(history), coloured=coloured)


class PipedLines:
    """Each line that comes through a pipe is a question; one that ends with a backslash goes on in the next."""

    def read(self) -> str:
        """The next line."""
        line = input()
        while line.endswith("\\"):
            line = line[:-1] + "\n" + input()
        return line


class PlainTerminal:
    """A terminal that can do nothing but show lines: no editor, but several pasted lines are one question."""

    def __init__(self, prompt: str = "> ") -> None:
        self._prompt = prompt
        self._unread = b""

    def read(self) -> str:
        """The next line, and those that come at once with it."""
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
        # Not through sys.stdin: what its buffer holds cannot be waited for.
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


class _Interrupted(Exception):  # noqa: N818 - not a failure
    """Ctrl-C; KeyboardInterrupt itself would tear the event loop."""


class LineEditor:
    """A line editor: pasted lines are one question, Alt-Enter begins a new line, Ctrl-X Ctrl-E opens $EDITOR.

    Args:
        runner: Where it runs; the prompt is awaited there.
        history: What arrow keys bring back.
        coloured: Whether the prompt may have a colour.
    """

    def __init__(self, runner: asyncio.Runner, history: TypedHistory, *, coloured: bool) -> None:
        self._runner = runner
        self._history = history
        self._session = _session(history.read(), coloured=coloured)

    def read(self) -> str:
        """What was typed, when Enter was pressed."""
        try:
            typed = self._runner.run(self._session.prompt_async())
        except _Interrupted:
            raise KeyboardInterrupt from None
        if typed.strip():
            self._history.add(typed)
        return typed


def _session(typed_before: list[str], *, coloured: bool) -> PromptSession[str]:
    # Imported when there is somebody who types: it takes a tenth of a second.
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.output.vt100 import Vt100_Output

    class Output(Vt100_Output):
        @property
        def responds_to_cpr(self) -> bool:
            # Not every terminal answers the question where the cursor is, and nothing here needs to know.
            return False

    return PromptSession[str](
        [("bold ansicyan" if coloured else "", "> ")],
        multiline=True,
        prompt_continuation=lambda width, number, is_soft_wrap: "" if is_soft_wrap else _CONTINUED,
        history=InMemoryHistory(typed_before[-MOST_ENTRIES:]),
        key_bindings=_bindings(),
        enable_open_in_editor=True,
        enable_suspend=True,
        tempfile_suffix=".md",
        interrupt_exception=_Interrupted,
        output=Output.from_pty(sys.stdout, term=os.environ.get("TERM")),
    )


def _bindings() -> KeyBindings:
    from prompt_toolkit.enums import DEFAULT_BUFFER
    from prompt_toolkit.filters import has_focus
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @bindings.add("enter", filter=typing)
    def submit(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction]
        buffer = event.current_buffer
        before = buffer.document.text_before_cursor
        if before.endswith("\\") and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        elif _is_being_pasted(event) and not buffer.text.startswith("/"):
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter", filter=typing)
    def begin_line(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction]
        event.current_buffer.insert_text("\n")

    return bindings


def _is_being_pasted(event: KeyPressEvent) -> bool:
    """Whether more comes at once: pasted on a terminal that does not mark it, or while an answer was shown."""
    waiting = any(press.data not in ("", "_Flush") for press in event.key_processor.input_queue)
    return waiting or bool(select.select([event.app.input.fileno()], [], [], 0)[0])
