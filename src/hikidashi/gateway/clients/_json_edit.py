"""JSON with comments, changed as text: what is not ours stays byte for byte.

Each result is parsed again and compared with what was wanted, so that a file is changed correctly or not at all.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from ...common.jsonc import Child, JsoncError, Node, TextError, parse

__all__ = ["EditError", "append", "member_source", "put", "put_member_source", "remove", "remove_items"]

Path = tuple[str, ...]

_REST_OF_LINE = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*")


class EditError(TextError):
    """The text cannot be edited as requested; `line` and `column` say where."""


def put(text: str, path: Path, value: Any, *, comments: bool = True) -> str:
    """`text` with `value` at `path`; missing objects are created, and an existing value is replaced.

    Raises:
        JsoncError: `text` is not JSON.
        EditError: a value on the path is not an object.
    """
    root = parse(text, comments=comments)
    wanted = _wanted(root)
    holder = wanted
    for key in path[:-1]:
        holder = cast("dict[str, Any]", holder).setdefault(key, {}) if isinstance(holder, dict) else holder
    if isinstance(holder, dict):
        holder[path[-1]] = value
    node, missing = _deepest(text, root, path)
    if not missing:
        assert node is not None
        changed = text[: node.start] + _rendered(value, text, node.start) + text[node.end :]
    else:
        for key in reversed(missing[1:]):
            value = {key: value}
        changed = _inserted(text, node, missing[0], value)
    return _checked(text, changed, wanted, comments)


def member_source(text: str, path: Path, *, comments: bool = True) -> str:
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


def put_member_source(text: str, path: Path, source: str, *, comments: bool = True) -> str:
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
    return _checked(text, _inserted(text, node, None, None, source), wanted, comments)


def append(text: str, path: Path, item: Any, *, comments: bool = True) -> str:
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


def remove(text: str, path: Path, *, comments: bool = True) -> str:
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


def remove_items(text: str, path: Path, unwanted: Callable[[Any], bool], *, comments: bool = True) -> str:
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


def _wanted(root: Node | None) -> Any:
    return {} if root is None else copy.deepcopy(root.value)


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _deepest(text: str, node: Node | None, path: Path, *, strict: bool = True) -> tuple[Node | None, Path]:
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


def _inserted(text: str, node: Node | None, key: str | None, value: Any, source: str | None = None) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    if node is None:  # only whitespace and comments
        start = text if not text.strip("\ufeff \t\r\n") or text.endswith(("\n", "\r")) else text + newline
        return start + _lines({key: value}, "", _unit(text), newline) + newline
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    last = node.children[-1] if node.children else None
    if last is not None:
        indent = _own_line(text, last)
        comma = last.comma
        if indent is None:  # all in one line
            entry = name + (source or json.dumps(value, ensure_ascii=False))
            at = last.node.end if comma is None else comma + 1
            return text[:at] + (f", {entry}" if comma is None else f" {entry},") + text[at:]
        entry = newline + indent + name + (source or _lines(value, indent, _unit(text), newline))
        end = last.node.end if comma is None else comma + 1
        at = _after_comments(text, end)
        if comma is not None:
            return text[:at] + entry + "," + text[at:]
        return text[:end] + "," + text[end:at] + entry + text[at:]
    base = _indent_of_line(text, node.start)
    indent = base + _unit(text)
    inner = text[node.start + 1 : node.end - 1]
    at = node.start + 1 + len(inner.rstrip(" \t\r\n"))
    closing = "" if "\n" in text[at : node.end - 1] else newline + base
    blanks = text[at : node.end - 1] if not closing else ""
    entry = newline + indent + name + (source or _lines(value, indent, _unit(text), newline))
    return text[:at] + entry + closing + blanks + text[node.end - 1 :]


def _without_child(text: str, holder: Node, number: int) -> str:
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


def _rendered(value: Any, text: str, at: int) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    return _lines(value, _indent_of_line(text, at), _unit(text), newline)


def _lines(value: Any, indent: str, unit: str, newline: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (newline + indent).join(lines)


def _unit(text: str) -> str:
    """The indentation of the file: that of its first indented line."""
    found = re.search(r"^([ \t]+)\"", text, re.MULTILINE)
    return found[1] if found else "  "


def _indent_of_line(text: str, at: int) -> str:
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    found = re.match(r"[ \t]*", text[start:at])
    return found[0] if found else ""


def _own_line(text: str, child: Child) -> str | None:
    """The indent of a child that begins a line."""
    start = max(text.rfind("\n", 0, child.start), text.rfind("\r", 0, child.start)) + 1
    before = text[start : child.start]
    return before if start and not before.strip(" \t") else None


def _after_comments(text: str, at: int) -> int:
    """The end of the comments that follow on the same line."""
    found = _REST_OF_LINE.match(text, at)
    return found.end() if found else at


def _checked(text: str, changed: str, wanted: Any, comments: bool) -> str:
    try:
        node = parse(changed, comments=comments)
    except JsoncError as error:
        raise EditError(f"it cannot be changed safely ({error.reason})", error.line, error.column) from error
    if node is None or cast("object", node.value) != wanted:
        raise _error(text, 0, "it cannot be changed safely")
    return changed


def _error(text: str, at: int, reason: str) -> EditError:
    line = len(re.findall(r"\r\n|\n|\r", text[:at])) + 1
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    return EditError(reason, line, at - start + 1)
