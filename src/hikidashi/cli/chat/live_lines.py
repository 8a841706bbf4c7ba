"""Lines at the end of the screen that are redrawn as they change."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from .reflow import ERASE_BELOW, rows_after_reflow, terminal_reflows

__all__ = ["LiveLines"]


class LiveLines:
    """Rows of text that are redrawn in place, also after the window has become narrower.

    Nothing is drawn if the console is not a terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._widths: list[int] = []
        self._columns = 0

    def draw(self, rows: Sequence[Text]) -> None:
        """Draw `rows` over the previous ones; each must fit the width of the console."""
        if not self._console.is_terminal or self._console.is_dumb_terminal:
            return
        self.erase()
        if not rows:
            return
        self._console.show_cursor(False)
        self._console.print(Text("\n").join(rows), end="", no_wrap=True, crop=False)
        self._widths = [row.cell_len for row in rows]
        self._columns = self._console.width

    def erase(self) -> None:
        """Erase the rows and move the cursor to where they began."""
        if not self._widths:
            return
        rows = len(self._widths)
        if self._console.width < self._columns and terminal_reflows():
            rows = rows_after_reflow(self._widths, self._console.width)
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        self._console.file.write(f"\r{up}{ERASE_BELOW}")
        self._widths = []
        self._console.show_cursor(True)
