"""Descriptions of a function and its parameters in a docstring of Google, NumPy or reST style."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_PARAMETER_SECTIONS = frozenset({"args", "arguments", "parameters", "params", "keyword args", "keyword arguments"})
_OTHER_SECTIONS = frozenset(
    {
        *("attributes", "example", "examples", "note", "notes", "other parameters", "raises", "references"),
        *("return", "returns", "see also", "warning", "warnings", "warns", "yield", "yields"),
    }
)

_GOOGLE_HEADER = re.compile(r"(?P<title>\w[\w ]*):\s*$")
_GOOGLE_ENTRY = re.compile(r"(?P<name>\*{0,2}\w+)(?:\s*\((?:[^()]|\([^()]*\))*\))?\s*:\s*(?P<text>.*)$")
_NUMPY_ENTRY = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_REST_FIELD = re.compile(r":(?P<field>\w+)(?:\s+[^:]*?)??(?:\s+(?P<name>\*{0,2}\w+))?:\s*(?P<text>.*)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Docstring:
    """The parts of a docstring that a model reads."""

    description: str = ""
    """The text before the first section."""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def parse_docstring(docstring: str | None) -> Docstring:
    """The description and the parameters' descriptions in `docstring`; empty if it has none."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    description: list[str] = []
    parameters: dict[str, str] = {}
    for title, body in _sections(lines):
        if title is None:
            plain, fields = _without_rest_fields(body)
            description += plain
            parameters |= fields
        elif title in _PARAMETER_SECTIONS:
            parameters |= _entries(body)
    return Docstring(description="\n".join(description).strip(), parameters=parameters)


def _sections(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    """The sections in order; the text before the first has no title."""
    title: str | None = None
    body: list[str] = []
    skip_rule = False
    for number, line in enumerate(lines):
        if skip_rule:
            skip_rule = False
            continue
        following = lines[number + 1] if number + 1 < len(lines) else ""
        header, skip_rule = _header(line, following)
        if header is None:
            body.append(line)
            continue
        yield title, body
        title, body = header, []
    yield title, body


def _header(line: str, following: str) -> tuple[str | None, bool]:
    """The title of the section that `line` opens, and whether a NumPy rule follows it."""
    if (
        re.fullmatch(r"-{3,}\s*", following)
        and (numpy := line.strip().lower()) in _PARAMETER_SECTIONS | _OTHER_SECTIONS
    ):
        return numpy, True
    google = _GOOGLE_HEADER.match(line)
    if google and (title := google["title"].lower()) in _PARAMETER_SECTIONS | _OTHER_SECTIONS:
        return title, False
    return None, False


def _entries(body: list[str]) -> dict[str, str]:
    """The parameters of a section: Google entries are indented, NumPy ones are not."""
    filled = [line for line in body if line.strip()]
    if not filled:
        return {}
    margin = len(filled[0]) - len(filled[0].lstrip())
    entries: dict[str, list[str]] = {}
    current: list[str] = []
    for line in filled:
        at_margin = len(line) - len(line.lstrip()) <= margin
        if not at_margin:
            current.append(line.strip())
        elif margin == 0:
            current = []
            numpy = _NUMPY_ENTRY.match(line)
            entries |= dict.fromkeys(re.split(r"\s*,\s*", numpy["names"]), current) if numpy else {}
        elif google := _GOOGLE_ENTRY.match(line.strip()):
            current = [google["text"]]
            entries[google["name"]] = current
    return {name.lstrip("*"): _joined(words) for name, words in entries.items()}


def _without_rest_fields(body: list[str]) -> tuple[list[str], dict[str, str]]:
    """The lines before the first reST field, and the texts of the `:param name:` fields."""
    plain: list[str] = []
    fields: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in body:
        if match := _REST_FIELD.match(line):
            current = [match["text"]]
            if match["field"] in ("param", "parameter", "arg", "argument", "key", "keyword") and match["name"]:
                fields[match["name"].lstrip("*")] = current
        elif current is None:
            plain.append(line)
        elif line.strip():
            current.append(line.strip())
    return plain, {name: _joined(words) for name, words in fields.items()}


def _joined(words: Iterable[str]) -> str:
    return " ".join(word for word in words if word)
