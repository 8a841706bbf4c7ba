"""The line editor on a terminal: several lines, paste, history, $EDITOR."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Callable
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.data_structures import Size
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.screen import Screen
from prompt_toolkit.output.vt100 import Vt100_Output

from .screen import ERASE_BELOW, rows_after_reflow, terminal_reflows
from .storage import MOST_ENTRIES, InputHistory

_CONTINUED = "  "


class _Interrupted(Exception):  # noqa: N818 - not a failure
    """Ctrl-C; a KeyboardInterrupt would break the event loop."""


class LineEditor:
    """A line editor: pasted lines are one question, Alt-Enter starts a new line, Ctrl-X Ctrl-E opens $EDITOR.

    Args:
        runner: The runner that awaits the prompt.
        history: The input history, for the arrow keys.
        coloured: Whether the prompt is coloured.
    """

    def __init__(self, runner: asyncio.Runner, history: InputHistory, *, coloured: bool) -> None:
        self._runner = runner
        self._history = history
        output: Any = _Output.from_pty(sys.stdout, term=os.environ.get("TERM"))  # annotated as the base class
        self._session = PromptSession[str](
            [("bold ansicyan" if coloured else "", "> ")],
            multiline=True,
            prompt_continuation=_continuation,
            history=InMemoryHistory(history.read()[-MOST_ENTRIES:]),
            key_bindings=_bindings(),
            enable_open_in_editor=True,
            enable_suspend=True,
            tempfile_suffix=".md",
            interrupt_exception=_Interrupted,
            output=output,
        )
        output.shown = lambda: self._session.app.renderer.last_rendered_screen

    def read(self) -> str:
        """The text that was typed, after Enter."""
        try:
            typed = self._runner.run(self._session.prompt_async())
        except _Interrupted:
            raise KeyboardInterrupt from None
        if typed.strip():
            self._history.add(typed)
        return typed


class _Output(Vt100_Output):
    """A terminal whose window may become narrower: lines are then rewrapped, and take more rows than were drawn.

    The rows are counted when they are erased, so that all of them are.
    """

    _columns = 0
    shown: Callable[[], Screen | None] = staticmethod(lambda: None)

    @property
    def responds_to_cpr(self) -> bool:
        """False: not every terminal reports the position of its cursor, and nothing here needs it."""
        return False

    def get_size(self) -> Size:
        """The size of the window; prompt_toolkit asks for it before it draws."""
        size = super().get_size()
        self._columns = size.columns
        return size

    def cursor_up(self, amount: int) -> None:
        """Move up by `amount` rows as they were drawn, which may be more rows now."""
        columns = super().get_size().columns
        screen = self.shown()
        if columns < self._columns and screen is not None and terminal_reflows():
            widths = [_width(screen.data_buffer[row]) for row in range(amount)]
            cursor = max((position.x for position in screen.cursor_positions.values()), default=0)
            amount = rows_after_reflow(widths, columns) + cursor // columns
        super().cursor_up(amount)

    def erase_down(self) -> None:
        """Erase from the cursor to the end of the screen."""
        self.write_raw(ERASE_BELOW)


def _width(row: Any) -> int:
    return max((at + 1 for at, cell in row.items() if cell.char.strip()), default=0)


def _continuation(_width: int, _number: int, soft_wrapped: int) -> str:
    return "" if soft_wrapped else _CONTINUED


def _bindings() -> KeyBindings:
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
    """Whether more input is waiting: pasted text on a terminal without bracketed paste, or typed during an answer."""
    waiting = any(press.data not in ("", "_Flush") for press in event.key_processor.input_queue)
    return waiting or bool(select.select([event.app.input.fileno()], [], [], 0)[0])
