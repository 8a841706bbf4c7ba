"""How many rows lines take after a window became narrower: most terminals break them anew."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

__all__ = ["ERASE_BELOW", "rows_after_reflow", "terminal_reflows"]

ERASE_BELOW = "\x1b7\x1b[K\x1b[B\r\x1b[J\x1b8"
"""Erases from the cursor on. Not in one go: from the first row of a window, tmux would move it all into its history."""


def rows_after_reflow(widths: Iterable[int], columns: int) -> int:
    """The rows that lines of these widths take in a window of `columns`; an empty line takes one too."""
    return sum(max(1, -(-width // max(1, columns))) for width in widths)


def terminal_reflows(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal breaks lines anew; xterm, GNU screen and the Linux console cut them off instead."""
    given = os.environ if environment is None else environment
    if "TMUX" in given:
        return True
    term = given.get("TERM", "")
    return "XTERM_VERSION" not in given and "STY" not in given and not term.startswith(("screen", "linux"))
