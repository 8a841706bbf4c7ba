"""Untrusted text, made safe for a terminal."""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size

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
