"""JSON files of tools and servers: their text and value, or an error that names the line. Imports no catalogue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..common.jsonc import JsoncError, object_of, parse
from ..errors import ToolSourceError

__all__ = ["SHAPES", "no_such_file", "parsed", "text_of", "unreadable"]

SHAPES = "Use a list of tools, one tool per line (JSONL), or the result of MCP's `tools/list`."


def no_such_file(source: str, remedy: str) -> ToolSourceError:
    """The error for a path that does not exist."""
    return ToolSourceError(source, "there is no such file", remedy)


def unreadable(path: Path, error: OSError) -> ToolSourceError:
    """The error for a file that cannot be read."""
    if isinstance(error, IsADirectoryError):
        return ToolSourceError(str(path), "is a folder", "Name a file in it.")
    return ToolSourceError(str(path), f"cannot be read ({error.strerror})", "Check the path and its permissions.")


def text_of(path: Path, shapes: str = SHAPES) -> str:
    """The text of a file; `shapes` says what it should have.

    Raises:
        ToolSourceError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        remedy = f"Save it as UTF-8. {shapes}".rstrip()
        raise ToolSourceError(str(path), f"is not text in UTF-8 (byte {error.start})", remedy) from error
    except OSError as error:
        raise unreadable(path, error) from error


def parsed(text: str, source: str, first_line: int = 1, *, remedy: str = "", comments: bool = False) -> Any:
    """The JSON value of `text`, which starts on line `first_line` of `source`.

    Args:
        text: The text.
        source: The file, for errors.
        first_line: The line of the file on which the text starts.
        remedy: What to do, for errors.
        comments: Whether comments and trailing commas are allowed, as in files that people write. A text of nothing
            else has the value None, and an object that has a key more than once is a `RepeatedKeys`.

    Raises:
        ToolSourceError: it is not JSON; the error names the line.
    """
    try:
        return json.loads(text, object_pairs_hook=object_of if comments else None)
    except json.JSONDecodeError as error:
        if comments:
            return _with_comments(text, source, first_line)
        reason = f"is not JSON: {error.msg} (column {error.colno})"
        raise ToolSourceError(source, reason, remedy, first_line + error.lineno - 1) from error
    except ValueError as error:  # a number with thousands of digits
        raise ToolSourceError(source, f"is not JSON: {error}", line=first_line) from error
    except RecursionError as error:
        raise ToolSourceError(source, "is nested too deeply") from error


def _with_comments(text: str, source: str, first_line: int) -> Any:
    try:
        node = parse(text)
    except JsoncError as error:
        reason = f"is not JSON: {error.reason} (column {error.column})"
        raise ToolSourceError(source, reason, line=first_line + error.line - 1) from error
    return None if node is None else node.value
