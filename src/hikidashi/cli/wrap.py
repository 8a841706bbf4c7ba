"""Line breaks for text that may be Japanese, where a line may end without a space."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.text import Text

__all__ = ["wrapped", "wrapped_at_spaces"]

_NEVER_FIRST = "、。，．・：；？！?!,.:;)]}」』）】〉》…ーぁぃぅぇぉっゃゅょァィゥェォッャュョ"
_NEVER_LAST = "([{「『（【〈《"


def wrapped(text: Text, width: int) -> list[Text]:
    """`text` in lines of at most `width` cells, broken at spaces, after slashes and between wide characters."""
    return [line for paragraph in text.split("\n", allow_blank=True) for line in _lines(paragraph, max(width, 2))]


def wrapped_at_spaces(text: Text, width: int) -> list[Text]:
    """`text` in lines of at most `width` cells; a word that is longer, such as a path, stays whole.

    A terminal breaks such a word itself, and then it can be copied as one.
    """
    return [line for paragraph in text.split("\n", allow_blank=True) for line in _at_spaces(paragraph, width)]


def _at_spaces(text: Text, width: int) -> list[Text]:
    breaks: list[int] = []
    start = 0
    for word in re.finditer("[^ ]+", text.plain):
        before = text.plain[start : word.start()]
        if before.strip(" ") and cell_len(before + word[0]) > width:
            start = word.start()
            breaks.append(start)
    lines = list(text.divide(breaks))
    for line in lines[:-1]:
        line.rstrip()
    return lines


def _lines(text: Text, width: int) -> list[Text]:
    breaks: list[int] = []
    start = candidate = used = 0
    for position, character in enumerate(text.plain):
        if position > start and _may_break(text.plain[position - 1], character):
            candidate = position
        used += cell_len(character)
        while used > width and character != " ":
            start = candidate if candidate > start else position
            breaks.append(start)
            used = cell_len(text.plain[start : position + 1])
    lines = list(text.divide(breaks))
    for line in lines:
        line.rstrip()
    return lines


def _may_break(before: str, after: str) -> bool:
    if after in _NEVER_FIRST or before in _NEVER_LAST:
        return False
    return before in " /" or cell_len(before) == 2 or (cell_len(after) == 2 and before != " ")
