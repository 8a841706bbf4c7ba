"""Output of all commands: consoles, errors, exit codes, the language, and text that is safe and fits a terminal."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Sequence
from typing import NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from hikidashi.common.terminal import clean, clean_lines, cut
from hikidashi.errors import ConfigError, SearchLogError, ToolSearchError, ToolSourceError
from hikidashi.texts import Language
from hikidashi.web.redact import redacted

__all__ = [
    "Language",
    "clean",
    "clean_lines",
    "counted",
    "cut",
    "exit_code_of",
    "is_bounded",
    "language_of_environment",
    "more",
    "print_beside",
    "print_error",
    "print_json",
    "print_row",
    "print_text",
    "print_wrapped",
    "stderr",
    "stdout",
    "wrapped",
    "wrapped_at_spaces",
]

_NO_SUCH_FILE = ("there is no such file", "does not exist")

_WIDEST = 100
"""Longer lines are hard to read, however wide the terminal is."""

_NEVER_FIRST = "、。，．・：；？！?!,.:;)]}」』）】〉》…ーぁぃぅぇぉっゃゅょァィゥェォッャュョ"
_NEVER_LAST = "([{「『（【〈《"


class _Console(Console):
    """A console that raises `BrokenPipeError` for a closed pipe.

    rich would raise `SystemExit`, which stops an event loop in the middle and leaves its threads waiting.
    """

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, "the output pipe was closed")


def stdout() -> Console:
    """A console for results, without colours if NO_COLOR is set or stdout is not a terminal."""
    console = _Console(highlight=False)
    console.width = min(console.width, _WIDEST)
    return console


def stderr() -> Console:
    """A console for errors and progress."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(value: object) -> None:
    """Print `value` as indented JSON: the result of a command with `--json`."""
    print(json.dumps(value, ensure_ascii=False, indent=2))  # noqa: T201 - this is the output


def print_wrapped(console: Console, *texts: Text, indent: str = "") -> None:
    """Print paragraphs in lines that fit the console; they may break between wide characters."""
    for line in (line for text in texts for line in wrapped(text, console.width - len(indent))):
        console.print(Text(indent) + line if indent else line)


def print_beside(console: Console, start: Text, *content: Text) -> None:
    """Print paragraphs beside `start`, which stands in the first line alone."""
    indent = start.cell_len
    lines = [line for text in content for line in wrapped(text, console.width - indent)]
    for number, line in enumerate(lines):
        console.print((Text(" " * indent) if number else start) + line)


def print_text(console: Console, text: Text) -> None:
    """Print a paragraph: on a terminal in lines that end at a space, elsewhere on one line.

    A path or URL that is longer than a line stays whole, so that it can be copied.
    """
    for line in wrapped_at_spaces(text, console.width) if console.is_terminal else [text]:
        console.print(line, soft_wrap=True)


def print_error(error: Exception) -> None:
    """Print `error` as one paragraph, without keys that a server may have repeated."""
    message = redacted(re.sub(r"\s+", " ", str(error)))
    print_text(stderr(), Text.assemble(("error: ", "bold red"), (message, "red")))


def exit_code_of(error: Exception) -> int:
    """The exit code for `error`: 2 for wrong usage, as click has it (an invalid query, pattern or path), else 1."""
    if isinstance(error, ToolSearchError):
        return 1 if error.code == "unavailable" else 2
    missing = isinstance(error, ConfigError | ToolSourceError | SearchLogError) and (
        error.reason.partition(".")[0] in _NO_SUCH_FILE
    )
    return 2 if missing else 1


def language_of_environment() -> Language:
    """The language of the environment, read as gettext does: Japanese, or else English."""
    wanted = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    return "ja" if wanted.lower().startswith("ja") else "en"


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
