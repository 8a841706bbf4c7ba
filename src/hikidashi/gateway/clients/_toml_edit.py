"""TOML, changed as text: a table is added at the end or removed; everything else stays byte for byte."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any, cast

from ...common.jsonc import TextError
from ._json_edit import EditError

__all__ = ["TomlError", "parse_toml", "put_table", "put_table_source", "remove_table", "table_source"]

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|\n|[\[\]{}]|[^"\'#\n\[\]{}]+',
    re.DOTALL,
)
_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlError(TextError):
    """The text is not TOML."""


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of `text`.

    Raises:
        TomlError: it is not TOML; `line` and `column` say where.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.match(str(error))
        reason = (found[1] if found else str(error)).strip()
        last = text.count("\n") + 1
        line, column = (int(found[2]), int(found[3])) if found and found[2] else (last, len(text) - text.rfind("\n"))
        raise TomlError(reason[:1].lower() + reason[1:], line, column) from error
    except RecursionError as error:
        raise TomlError("it is nested too deeply", 1, 1) from error


def put_table(text: str, path: tuple[str, str], value: dict[str, Any]) -> str:
    """`text` with the table `[path]`, in the place of an existing one or at the end.

    Raises:
        TomlError: it is not TOML.
        EditError: it has the tables in a form that cannot be added to.
    """
    wanted = copy.deepcopy(parse_toml(text))
    holder = wanted.setdefault(path[0], {})
    if not isinstance(holder, dict):
        raise EditError(f"`{path[0]}` is not a table", 1, 1)
    text = remove_table(text, path)
    cast("dict[str, Any]", holder)[path[1]] = value
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{_key(path[0])}.{_key(path[1])}]", *(f"{_key(name)} = {_toml(item)}" for name, item in value.items())]
    return _checked(text + _gap(text, newline) + newline.join(lines) + newline, wanted, path)


def table_source(text: str, path: tuple[str, str]) -> str:
    """The table `[path]` and those below it as `text` has them, with the comments in them; empty if it is not there."""
    newline = "\r\n" if "\r\n" in text else "\n"
    return newline.join(text[start:end] for start, end, name in _sections(text) if name[:2] == path)


def put_table_source(text: str, path: tuple[str, str], source: str) -> str:
    """`text` with the new table `[path]`, written as `source`, at the end.

    Raises:
        TomlError: `text` or `source` is not TOML.
        EditError: it has the tables in a form that cannot be added to.
    """
    wanted = copy.deepcopy(parse_toml(text))
    holder = wanted.setdefault(path[0], {})
    if not isinstance(holder, dict):
        raise EditError(f"`{path[0]}` is not a table", 1, 1)
    cast("dict[str, Any]", holder)[path[1]] = parse_toml(source)[path[0]][path[1]]
    newline = "\r\n" if "\r\n" in text else "\n"
    return _checked(text + _gap(text, newline) + source, wanted, path)


def remove_table(text: str, path: tuple[str, str]) -> str:
    """`text` without the table `[path]` and those below it, if it is there.

    Raises:
        TomlError: it is not TOML.
        EditError: it has the table in a form that cannot be removed.
    """
    wanted = copy.deepcopy(parse_toml(text))
    holder = wanted.get(path[0])
    if not isinstance(holder, dict) or path[1] not in holder:
        return text
    tables = cast("dict[str, Any]", holder)
    del tables[path[1]]
    for start, end, name in reversed(list(_sections(text))):
        if name[:2] == path:
            before = text[:start]
            for blank in ("\r\n\r\n", "\n\n"):
                if before.endswith(blank):
                    before = before[: len(before) - len(blank) // 2]
                    break
            text = before + text[end:]
    if not tables and path[0] not in parse_toml(text):
        del wanted[path[0]]
    return _checked(text, wanted, path)


def _gap(text: str, newline: str) -> str:
    """What separates a new table from the end of `text`."""
    return "" if not text.strip("\ufeff \t\r\n") else newline if text.endswith("\n") else 2 * newline


def _sections(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Where each table with a header begins and ends, and its name; comments above the next header are the next's."""
    found: list[tuple[int, tuple[str, ...]]] = []
    ends: list[int] = []  # where the last thing in each section ends, its line included
    depth, fresh = 0, True
    at = 1 if text.startswith("\ufeff") else 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        end = token.end() if token else at + 1
        part = text[at:end]
        if part == "\n":
            fresh = fresh if depth else True
        elif fresh and not depth and part == "[":
            end = _line_end(text, at)
            found.append((at - _blanks_before(text, at), _name(text[at:end])))
            ends.append(end)
        elif part.strip() and not part.startswith("#"):
            fresh = False
            depth += part in {"[", "{"}
            depth -= part in {"]", "}"}
            if ends:
                ends[-1] = _line_end(text, end) if not depth else end
        at = end
    for (start, name), end in zip(found, ends, strict=True):
        yield start, end, name


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _blanks_before(text: str, at: int) -> int:
    line = text.rfind("\n", 0, at) + 1
    return at - line if not text[line:at].strip() else 0


def _name(header: str) -> tuple[str, ...]:
    try:
        value: Any = tomllib.loads(header.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError:
        return ()
    name: list[str] = []
    while True:
        if isinstance(value, list) and value:
            value = cast("list[Any]", value)[0]
        if not isinstance(value, dict) or not value:
            return tuple(name)
        key, value = next(iter(cast("dict[str, Any]", value).items()))
        name.append(key)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _checked(text: str, wanted: dict[str, Any], path: tuple[str, str]) -> str:
    remedy = f"write it as tables, such as `[{path[0]}.name]`"
    try:
        if parse_toml(text) == wanted:
            return text
    except TomlError as error:
        raise EditError(f"`{path[0]}` cannot be changed as it is written here; {remedy}", error.line, 1) from error
    raise EditError(f"`{path[0]}.{path[1]}` cannot be removed as it is written here; {remedy}", 1, 1)
