"""JSON: narrowed to the type that is needed, and read from files, also with comments and trailing commas."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

from ..errors import ToolSourceError

_DEEPEST = 200
_BLANK = re.compile(r"[ \t\r\n]*")
_BLANK_OR_COMMENT = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'["\-0-9tfn]')
_CLOSING = {"{": "}", "[": "]"}


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether `value` is a JSON array."""
    return isinstance(value, list)


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether `value` is any mapping: what Python code passes where JSON has an object."""
    return isinstance(value, Mapping)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether `value` is a list or a tuple: what Python code passes where JSON has an array."""
    return isinstance(value, list | tuple)


def is_iterable(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether `value` is any iterable; a string is one."""
    return isinstance(value, Iterable)


def as_object(value: object) -> dict[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[Any]:
    """`value` if it is a JSON array, else an empty one."""
    return value if is_list(value) else []


def as_text(value: object) -> str:
    """`value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def type_name(value: object) -> str:
    """The name of the type of `value`, for errors; also where a type checker says that there is no such value."""
    return type(value).__name__


class TextError(ValueError):
    """Something is wrong with a text; `line` and `column` count from 1."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(reason, line, column)
        self.reason = reason
        self.line = line
        self.column = column


class JsoncError(TextError):
    """The text is not JSON."""


class RepeatedKeys(dict[Any, Any]):
    """An object that has a key more than once, of which the last value counts; `repeated` are these keys."""

    def __init__(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs)
        self.repeated = tuple(key for key, count in counts.items() if count > 1)


def object_of(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """The object of these members: an `object_pairs_hook` of `json`."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else RepeatedKeys(pairs)


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and its position: `text[start:end]`."""

    start: int
    end: int
    value: Any
    children: tuple[Child, ...] = ()

    def child(self, key: str) -> JsonNode | None:
        """The member `key`; of duplicates the last, as JSON parsers do."""
        return next((child.node for child in reversed(self.children) if child.key == key), None)


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object, or an item of an array."""

    key: str | None
    start: int
    """Where the key, or the item, begins."""
    node: JsonNode
    comma: int | None
    """Where the comma after it is."""


def parse(text: str, *, comments: bool = True) -> JsonNode | None:
    """The value in `text`; None if there are only whitespace and comments.

    Args:
        text: The whole file.
        comments: Whether comments and trailing commas are allowed.

    Raises:
        JsoncError: it is not JSON.
    """
    return _Parser(text, comments=comments).document()


class _Parser:
    def __init__(self, text: str, *, comments: bool) -> None:
        self._text = text
        self._comments = comments
        self._blank = _BLANK_OR_COMMENT if comments else _BLANK
        self._scalars = json.JSONDecoder(parse_constant=self._no_constant)

    def document(self) -> JsonNode | None:
        at = self._skip(1 if self._text.startswith("\ufeff") else 0)
        if at == len(self._text):
            return None
        node = self._value(at, 0)
        rest = self._skip(node.end)
        if rest < len(self._text):
            self._fail("there is more after the value", rest)
        return node

    def _value(self, at: int, depth: int) -> JsonNode:
        if depth > _DEEPEST:
            self._fail(f"it is nested more than {_DEEPEST} deep", at)
        opening = self._text[at : at + 1]
        if opening in _CLOSING:
            return self._container(at, opening, depth)
        if not _SCALAR.match(opening):
            self._fail("a value is missing", at)
        try:
            value, end = self._scalars.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            self._fail(_lowered(error.msg), error.pos)
        except ValueError as error:  # a number of thousands of digits
            self._fail(_lowered(str(error)), at)
        return JsonNode(at, end, value)

    def _container(self, start: int, opening: str, depth: int) -> JsonNode:
        closing = _CLOSING[opening]
        children: list[Child] = []
        at = self._skip(start + 1)
        while self._text[at : at + 1] != closing:
            if children and children[-1].comma is None:
                self._fail(f"a comma or `{closing}` is missing", at)
            child, at = self._child(at, opening == "{", depth)
            children.append(child)
        if children and children[-1].comma is not None and not self._comments:
            self._fail("a trailing comma is not allowed here", children[-1].comma)
        value: Any = (
            object_of([(child.key, child.node.value) for child in children])
            if opening == "{"
            else [child.node.value for child in children]
        )
        return JsonNode(start, at + 1, value, tuple(children))

    def _child(self, start: int, named: bool, depth: int) -> tuple[Child, int]:
        key, at = None, start
        if named:
            if self._text[start : start + 1] != '"':
                self._fail("a name in double quotes is missing", start)
            name = self._value(start, depth)
            key, at = str(name.value), self._skip(name.end)
            if self._text[at : at + 1] != ":":
                self._fail("a colon is missing", at)
            at = self._skip(at + 1)
        node = self._value(at, depth + 1)
        at = self._skip(node.end)
        comma = at if self._text[at : at + 1] == "," else None
        return Child(key, start, node, comma), at if comma is None else self._skip(at + 1)

    def _skip(self, at: int) -> int:
        found = self._blank.match(self._text, at)
        end = found.end() if found else at
        if self._text.startswith("/*", end) and self._comments:
            self._fail("a comment does not end", end)
        if self._text.startswith(("//", "/*"), end):
            self._fail("comments are not allowed here", end)
        return end

    def _no_constant(self, name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    def _fail(self, reason: str, at: int) -> NoReturn:
        before = self._text[:at].replace("\r\n", "\n").replace("\r", "\n")
        line = before.count("\n") + 1
        if at >= len(self._text):
            reason += ", and the file ends"
        raise JsoncError(reason, line, at - _line_start(self._text, at) + 1)


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def no_such_file(source: str, remedy: str) -> ToolSourceError:
    """The error for a path that does not exist."""
    return ToolSourceError(source, "there is no such file", remedy)


def unreadable(path: Path, error: OSError) -> ToolSourceError:
    """The error for a file that cannot be read."""
    if isinstance(error, IsADirectoryError):
        return ToolSourceError(str(path), "is a folder", "Name a file in it.")
    return ToolSourceError(str(path), f"cannot be read ({error.strerror})", "Check the path and its permissions.")


def text_of(path: Path, shapes: str) -> str:
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
