"""Untrusted text, made safe for a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

__all__ = ["clean", "clean_lines", "counted", "cut", "is_bounded", "more", "print_row"]

# Descriptions are untrusted: control characters could move the cursor, and others reverse the line.
_UNFIT = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """`text` in one line, without control characters."""
    return " ".join(_UNFIT.sub(lambda found: " " if found[0].isspace() else "", text).split())


def clean_lines(text: str) -> str:
    """`text` with its lines and indents, without other control characters."""
    return "\n".join(_UNFIT.sub("", line.replace("\t", "    ")) for line in re.split(r"\r\n|\n|\r", text))


def cut(text: str, width: int) -> str:
    """`text` in one line of at most `width` cells."""
    line = clean(text)
    return line if cell_len(line) <= width else set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def counted(count: int, thing: str, things: str | None = None) -> str:
    """`1 tool`, `1,200 tools`; `things` is for words that take more than an s."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def print_row(console: Console, cells: Sequence[Text], widths: Sequence[int], last: Sequence[Text]) -> None:
    """Print one row: `cells`, which fit their `widths`, and beside them the lines `last`."""
    for number, beside in enumerate(last):
        line = _joined([Text()] * len(cells) if number else cells, widths) + beside
        line.rstrip()
        console.print(line, no_wrap=True, crop=False, soft_wrap=not is_bounded(console))


def is_bounded(console: Console) -> bool:
    """Whether lines are wrapped: on a terminal, or if `COLUMNS` is set; not in a plain pipe."""
    return console.is_terminal or "COLUMNS" in os.environ


def _joined(cells: Sequence[Text], widths: Sequence[int]) -> Text:
    line = Text()
    for cell, width in zip(cells, widths, strict=False):
        line += cell
        line += Text(" " * (max(0, width - cell.cell_len) + 2))
    return line


def more(total: int, shown: int) -> Text:
    """The note below a list that was cut."""
    return Text(f"  … and {total - shown:,} more: --json shows all", "dim")
