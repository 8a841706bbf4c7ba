"""How many rows lines take after a window became narrower: most terminals rewrap them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

__all__ = ["ERASE_BELOW", "rows_after_reflow", "terminal_reflows"]

ERASE_BELOW = "\x1b7\x1b[K\x1b[B\r\x1b[J\x1b8"
"""Erase from the cursor to the end of the screen.

In two steps: from the first row of a window, tmux would move all of it into its history.
"""


def rows_after_reflow(widths: Iterable[int], columns: int) -> int:
    """How many rows lines of these widths take in a window of `columns`; an empty line takes one."""
    return sum(max(1, -(-width // max(1, columns))) for width in widths)


def terminal_reflows(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal rewraps lines; xterm, GNU screen and the Linux console truncate them instead."""
    given = os.environ if environment is None else environment
    if "TMUX" in given:
        return True
    term = given.get("TERM", "")
    return "XTERM_VERSION" not in given and "STY" not in given and not term.startswith(("screen", "linux"))
