"""Text of unknown origin, made fit for a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from ..wrap import wrapped

__all__ = ["clean", "clean_lines", "counted", "cut", "more", "print_row"]

# Descriptions come from strangers: control characters could move the cursor, and others reverse the line.
_UNFIT = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """`text` in one line, without characters that a terminal would obey."""
    return " ".join(_UNFIT.sub(lambda found: " " if found[0].isspace() else "", text).split())


def clean_lines(text: str) -> str:
    """`text` with its lines and indents, without characters that a terminal would obey."""
    return "\n".join(_UNFIT.sub("", line.replace("\t", "    ")) for line in re.split(r"\r\n|\n|\r", text))


def cut(text: str, width: int) -> str:
    """`text` in one line of at most `width` cells."""
    line = clean(text)
    return line if cell_len(line) <= width else set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def counted(count: int, thing: str, things: str | None = None) -> str:
    """`1 tool`, `1,200 tools`; `things` is for words that take more than an s."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def print_row(console: Console, cells: Sequence[Text], widths: Sequence[int], last: Sequence[Text]) -> None:
    """Print one row: `cells` of fixed widths, broken where they are too long, and beside them the lines `last`."""
    columns = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)] + [list(last)]
    for number in range(max(map(len, columns))):
        line = Text()
        for column, width in zip(columns, (*widths, 0), strict=True):
            part = column[number] if number < len(column) else Text()
            line += part
            line += Text(" " * max(0, width - part.cell_len) + ("  " if width else ""))
        line.rstrip()
        console.print(line, no_wrap=True, crop=False)


def more(total: int, shown: int) -> Text:
    """What stands below a list that was cut."""
    return Text(f"  … and {total - shown:,} more: --json shows all", "dim")
