"""JSON with comments, changed as text: what is not ours stays byte for byte.

Each result is parsed again and compared with what was wanted, so that a file is changed correctly or not at all.
"""

from __future__ import annotations

import copy
import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...common.files import create_private, replace_file
from ...common.json import Child, JsoncError, JsonNode, TextError, as_object, is_list, is_object, parse
from ...errors import ToolSourceError
from ...servers.clients import Format


def read_bytes(file: Path) -> bytes | None:
    """The content of `file`; None if it does not exist.

    Raises:
        ToolSourceError: it cannot be read.
    """
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = f"cannot be read ({error.strerror or error})"
        raise ToolSourceError(str(file), reason, "Check its permissions.") from error


def content_of(
    file: Path, data: bytes, kind: Format, *, remedy: str = "Nothing was written; fix it, and try again."
) -> Any:
    """The value in `data`, which `file` has; an empty file has an empty one.

    Args:
        file: The file, for errors.
        data: Its bytes.
        kind: Its format.
        remedy: What the error for an invalid file says to do.

    Raises:
        ToolSourceError: it is invalid; the error names line and column.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        reason = f"is not text in UTF-8 (column {column})"
        raise ToolSourceError(str(file), reason, remedy, line) from error
    try:
        if kind == "toml":
            return parse_toml(text)
        node = parse(text, comments=kind == "jsonc")
    except TextError as error:
        raise source_error(file, kind, error, remedy) from error
    return {} if node is None else node.value


def source_error(
    file: Path, kind: Format, error: TextError, remedy: str = "Nothing was written; fix it, and try again."
) -> ToolSourceError:
    """The error for a file that is invalid, or cannot be edited as requested."""
    what = {"toml": "TOML", "json": "JSON", "jsonc": "JSON with comments"}[kind]
    problem = error.reason if isinstance(error, EditError) else f"is not {what}: {error.reason}"
    reason = re.sub(r"\s+", " ", f"{problem} (column {error.column})")
    return ToolSourceError(str(file), reason, remedy, error.line)


def write_file(file: Path, content: bytes, *, before: bytes | None, private: bool = False) -> None:
    """Replace `before` by `content`; a new file is for its owner only, as is any file if `private`.

    Raises:
        ToolSourceError: it cannot be written, or has changed since `before` was read.
    """
    if read_bytes(file) != before:
        raise ToolSourceError(str(file), "was changed by another program meanwhile", "Close it, and try again.")
    found = None if before is None else file.stat()
    try:
        replace_file(file, content, private=private or found is None)
        if found is not None:
            with suppress(OSError, AttributeError):  # only root may give a file back to another user
                if (found.st_uid, found.st_gid) != (os.getuid(), os.getgid()):
                    os.chown(file, found.st_uid, found.st_gid)
    except OSError as error:
        reason = f"cannot be written ({error.strerror or error})"
        raise ToolSourceError(str(file), reason, "Check the permissions there.") from error


def make_backup(file: Path, content: bytes) -> Path:
    """A file beside `file` with `content` and the same permissions, named after the time.

    Raises:
        ToolSourceError: it cannot be written.
    """
    file = Path(os.path.realpath(file))
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    number = 0
    while True:
        backup = file.with_name(f"{file.name}.{now}{f'-{number}' if number else ''}.hikidashi-backup")
        try:
            if not create_private(backup):
                number += 1
                continue
            replace_file(backup, content, private=True)
            backup.chmod(stat.S_IMODE(file.stat().st_mode))
            return backup
        except OSError as error:
            reason = f"cannot be written ({error.strerror or error})"
            raise ToolSourceError(str(backup), reason, "Check the permissions there.") from error


Keys = tuple[str, ...]

_REST_OF_LINE = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*")


class EditError(TextError):
    """The text cannot be edited as requested; `line` and `column` say where."""


def put(text: str, path: Keys, value: Any, *, comments: bool = True) -> str:
    """`text` with `value` at `path`; missing objects are created, and an existing value is replaced.

    Raises:
        JsoncError: `text` is not JSON.
        EditError: a value on the path is not an object.
    """
    root = parse(text, comments=comments)
    wanted = _wanted(root)
    holder = wanted
    for key in path[:-1]:
        holder = holder.setdefault(key, {}) if is_object(holder) else holder
    if is_object(holder):
        holder[path[-1]] = value
    node, missing = _deepest(text, root, path)
    if not missing:
        assert node is not None
        changed = text[: node.start] + _lines(value, _indent_of_line(text, node.start), text) + text[node.end :]
    else:
        for key in reversed(missing[1:]):
            value = {key: value}
        changed = _inserted(text, node, missing[0], value)
    return _checked(text, changed, wanted, comments)


def member_source(text: str, path: Keys, *, comments: bool = True) -> str:
    """The member at `path`, which is there, as `text` has it: from its name to its comma, with all comments.

    Raises:
        JsoncError: `text` is not JSON.
        EditError: it is there more than once.
    """
    node, _ = _deepest(text, parse(text, comments=comments), path[:-1])
    assert node is not None
    child, *more = (child for child in node.children if child.key == path[-1])
    if more:
        raise _error(text, more[-1].start, f"`{path[-1]}` is there more than once")
    before_comma = text[child.node.end : child.comma] if child.comma is not None else ""
    return text[child.start : child.node.end] + (before_comma if before_comma.strip() else "")


def put_member_source(text: str, path: Keys, source: str, *, comments: bool = True) -> str:
    """`text` with the new member `path`, written as `source`; missing objects are created.

    Raises:
        JsoncError: `text` or `source` is not JSON.
        EditError: a value on the path is not an object.
    """
    if len(_deepest(text, parse(text, comments=comments), path)[1]) > 1:
        text = put(text, path[:-1], {}, comments=comments)
    root = parse(text, comments=comments)
    node, _ = _deepest(text, root, path)
    wanted = _wanted(root)
    _at(wanted, path[:-1]).update(_wanted(parse(f"{{{source}}}", comments=comments)))
    return _checked(text, _inserted(text, node, None, None, _ended_as(text, source)), wanted, comments)


def append(text: str, path: Keys, item: Any, *, comments: bool = True) -> str:
    """`text` with `item` at the end of the array at `path`, which is created if it is missing.

    Raises:
        JsoncError: `text` is not JSON.
        EditError: the value at `path` is not an array.
    """
    root = parse(text, comments=comments)
    node, missing = _deepest(text, root, path)
    if missing:
        return put(text, path, [item], comments=comments)
    assert node is not None
    if not isinstance(node.value, list):
        raise _error(text, node.start, f"`{'.'.join(path)}` is not an array")
    wanted = _wanted(root)
    _at(wanted, path).append(item)
    return _checked(text, _inserted(text, node, None, item), wanted, comments)


def remove(text: str, path: Keys, *, comments: bool = True) -> str:
    """`text` without the member at `path`, if it is there.

    Raises:
        JsoncError: `text` is not JSON.
    """
    root = parse(text, comments=comments)
    if root is None:
        return text
    wanted = _wanted(root)
    with suppress(KeyError, TypeError, AttributeError):  # it is not there
        _at(wanted, path[:-1]).pop(path[-1])
    while True:  # a key may occur twice
        holder, missing = _deepest(text, parse(text, comments=comments), path[:-1], strict=False)
        if missing or holder is None or holder.child(path[-1]) is None:
            return _checked(text, text, wanted, comments)
        number = max(number for number, child in enumerate(holder.children) if child.key == path[-1])
        text = _without_child(text, holder, number)


def remove_items(text: str, path: Keys, unwanted: Callable[[Any], bool], *, comments: bool = True) -> str:
    """`text` without the items of the array at `path` that are `unwanted`.

    Raises:
        JsoncError: `text` is not JSON.
    """
    while True:
        root = parse(text, comments=comments)
        node, missing = _deepest(text, root, path, strict=False)
        if missing or node is None or not isinstance(node.value, list):
            return text
        found = [number for number, child in enumerate(node.children) if unwanted(child.node.value)]
        if not found:
            return text
        wanted = _wanted(root)
        del _at(wanted, path)[found[-1]]
        text = _checked(text, _without_child(text, node, found[-1]), wanted, comments)


def _newline(text: str) -> str:
    """How the lines of `text` end."""
    return "\r\n" if "\r\n" in text else "\n"


def _ended_as(text: str, source: str) -> str:
    """`source`, which may be from before `text` was rewritten, with the line ends of `text` if all are alike."""
    are_alike = text.count("\r\n") in {0, text.count("\n")}
    return source.replace("\r\n", "\n").replace("\n", _newline(text)) if are_alike and "\n" in text else source


def _wanted(root: JsonNode | None) -> Any:
    return {} if root is None else copy.deepcopy(root.value)


def _at(value: Any, path: Keys) -> Any:
    for key in path:
        value = value[key]
    return value


def _deepest(text: str, node: JsonNode | None, path: Keys, *, strict: bool = True) -> tuple[JsonNode | None, Keys]:
    """The deepest existing value along `path`, and the keys that are missing below it."""
    for done, key in enumerate(path):
        if node is None:
            return None, path[done:]
        if not isinstance(node.value, dict):
            if not strict:
                return node, path[done:]
            what = f"`{'.'.join(path[:done])}`" if done else "the file"
            raise _error(text, node.start, f"{what} is not an object")
        below = node.child(key)
        if below is None:
            return node, path[done:]
        node = below
    return node, ()


def _inserted(text: str, node: JsonNode | None, key: str | None, value: Any, source: str | None = None) -> str:
    newline = _newline(text)
    if node is None:  # only whitespace and comments
        start = text if not text.strip("\ufeff \t\r\n") or text.endswith(("\n", "\r")) else text + newline
        return start + _lines({key: value}, "", text) + newline
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    last = node.children[-1] if node.children else None
    if last is not None:
        indent = _own_line(text, last)
        comma = last.comma
        if indent is None:  # all in one line
            entry = name + (source or json.dumps(value, ensure_ascii=False))
            at = last.node.end if comma is None else comma + 1
            return text[:at] + (f", {entry}" if comma is None else f" {entry},") + text[at:]
        entry = newline + indent + name + (source or _lines(value, indent, text))
        end = last.node.end if comma is None else comma + 1
        found = _REST_OF_LINE.match(text, end)  # the comments on the same line
        at = found.end() if found else end
        if comma is not None:
            return text[:at] + entry + "," + text[at:]
        return text[:end] + "," + text[end:at] + entry + text[at:]
    base = _indent_of_line(text, node.start)
    indent = base + _unit(text)
    inner = text[node.start + 1 : node.end - 1]
    at = node.start + 1 + len(inner.rstrip(" \t\r\n"))
    closing = "" if "\n" in text[at : node.end - 1] else newline + base
    blanks = text[at : node.end - 1] if not closing else ""
    entry = newline + indent + name + (source or _lines(value, indent, text))
    return text[:at] + entry + closing + blanks + text[node.end - 1 :]


def _without_child(text: str, holder: JsonNode, number: int) -> str:
    child = holder.children[number]
    end = child.node.end if child.comma is None else child.comma + 1
    previous = holder.children[number - 1].comma if child.comma is None and number else None
    start = len(text[: child.start].rstrip(" \t"))
    rest = text[end:].lstrip(" \t")
    if rest.startswith(("\n", "\r")) or not rest:
        for newline in ("\r\n", "\n", "\r"):
            if text[:start].endswith(newline):
                start -= len(newline)
                break
    elif child.comma is not None:
        start, end = child.start, len(text) - len(rest)
    elif previous is None:
        start = child.start
    if previous is None:
        return text[:start] + text[end:]
    return text[:previous] + text[previous + 1 : max(start, previous + 1)] + text[end:]


def _lines(value: Any, indent: str, text: str) -> str:
    """`value` as `text` would have it: below `indent`."""
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _unit(text: str) -> str:
    """The indentation of the file: that of its first indented line."""
    found = re.search(r"^([ \t]+)\"", text, re.MULTILINE)
    return found[1] if found else "  "


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _indent_of_line(text: str, at: int) -> str:
    line = text[_line_start(text, at) : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _own_line(text: str, child: Child) -> str | None:
    """The indent of a child that begins a line."""
    start = _line_start(text, child.start)
    before = text[start : child.start]
    return before if start and not before.strip(" \t") else None


def _checked(text: str, changed: str, wanted: Any, comments: bool) -> str:
    try:
        node = parse(changed, comments=comments)
    except JsoncError as error:
        raise EditError(f"it cannot be changed safely ({error.reason})", error.line, error.column) from error
    if node is None or node.value != wanted:
        raise _error(text, 0, "it cannot be changed safely")
    return changed


def _error(text: str, at: int, reason: str) -> EditError:
    line = len(re.findall(r"\r\n|\n|\r", text[:at])) + 1
    return EditError(reason, line, at - _line_start(text, at) + 1)


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
    if not is_object(holder):
        raise EditError(f"`{path[0]}` is not a table", 1, 1)
    text = remove_table(text, path)
    holder[path[1]] = value
    newline = _newline(text)
    lines = [f"[{_key(path[0])}.{_key(path[1])}]", *(f"{_key(name)} = {_toml(item)}" for name, item in value.items())]
    return _checked_toml(text + _gap(text, newline) + newline.join(lines) + newline, wanted, path)


def table_source(text: str, path: tuple[str, str]) -> str:
    """The table `[path]` and those below it as `text` has them, with the comments in them; empty if it is not there."""
    newline = _newline(text)
    return newline.join(text[start:end] for start, end, name in _sections(text) if name[:2] == path)


def put_table_source(text: str, path: tuple[str, str], source: str) -> str:
    """`text` with the new table `[path]`, written as `source`, at the end.

    Raises:
        TomlError: `text` or `source` is not TOML.
        EditError: it has the tables in a form that cannot be added to.
    """
    wanted = copy.deepcopy(parse_toml(text))
    holder = wanted.setdefault(path[0], {})
    if not is_object(holder):
        raise EditError(f"`{path[0]}` is not a table", 1, 1)
    holder[path[1]] = parse_toml(source)[path[0]][path[1]]
    source = _ended_as(text, source)
    return _checked_toml(text + _gap(text, _newline(text)) + source, wanted, path)


def remove_table(text: str, path: tuple[str, str]) -> str:
    """`text` without the table `[path]` and those below it, if it is there.

    Raises:
        TomlError: it is not TOML.
        EditError: it has the table in a form that cannot be removed.
    """
    wanted = copy.deepcopy(parse_toml(text))
    holder = wanted.get(path[0])
    if not is_object(holder) or path[1] not in holder:
        return text
    del holder[path[1]]
    for start, end, name in reversed(list(_sections(text))):
        if name[:2] == path:
            before = text[:start]
            for blank in ("\r\n\r\n", "\n\n"):
                if before.endswith(blank):
                    before = before[: len(before) - len(blank) // 2]
                    break
            text = before + text[end:]
    if not holder and path[0] not in parse_toml(text):
        del wanted[path[0]]
    return _checked_toml(text, wanted, path)


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
        if is_list(value) and value:
            value = value[0]
        if not is_object(value) or not value:
            return tuple(name)
        key, value = next(iter(value.items()))
        name.append(key)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _checked_toml(text: str, wanted: dict[str, Any], path: tuple[str, str]) -> str:
    remedy = f"write it as tables, such as `[{path[0]}.name]`"
    try:
        if parse_toml(text) == wanted:
            return text
    except TomlError as error:
        raise EditError(f"`{path[0]}` cannot be changed as it is written here; {remedy}", error.line, 1) from error
    raise EditError(f"`{path[0]}.{path[1]}` cannot be removed as it is written here; {remedy}", 1, 1)


def value_at(content: Any, path: Iterable[str]) -> Any:
    """The value at `path` in objects; None if it is not there."""
    for key in path:
        content = as_object(content).get(key)
    return content


@dataclass(frozen=True)
class ServerTable:
    """The servers in the text of a client's file: the members of the object at `key`, or the tables below it.

    All methods raise `TextError` where the text is invalid, or cannot be changed as requested.
    """

    format: Format
    key: Keys

    def get(self, text: str, name: str) -> Any:
        """The server `name`; None if it is not there."""
        return value_at(self._parsed(text), (*self.key, name))

    def put(self, text: str, name: str, value: dict[str, Any]) -> str:
        """`text` with a server, in the place of one of the same name or at the end."""
        if self.format == "toml":
            return put_table(text, (self.key[0], name), value)
        return put(text, (*self.key, name), value, comments=self.format == "jsonc")

    def remove(self, text: str, name: str) -> str:
        """`text` without a server, if it is there."""
        if self.format == "toml":
            return remove_table(text, (self.key[0], name))
        return remove(text, (*self.key, name), comments=self.format == "jsonc")

    def source(self, text: str, name: str) -> str:
        """A server, which is there, as `text` has it."""
        if self.format == "toml":
            return table_source(text, (self.key[0], name))
        return member_source(text, (*self.key, name), comments=self.format == "jsonc")

    def put_source(self, text: str, name: str, source: str) -> str:
        """`text` with a new server, written as `source`."""
        if self.format == "toml":
            return put_table_source(text, (self.key[0], name), source)
        return put_member_source(text, (*self.key, name), source, comments=self.format == "jsonc")

    def server_in(self, source: str, name: str) -> Any:
        """The server `name` that was written as `source`."""
        if self.format == "toml":
            return self.get(source, name)
        return value_at(self._parsed(f"{{{source}}}"), (name,))

    def _parsed(self, text: str) -> Any:
        if self.format == "toml":
            return parse_toml(text)
        node = parse(text, comments=self.format == "jsonc")
        return None if node is None else node.value
