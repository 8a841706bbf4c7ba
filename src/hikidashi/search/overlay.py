"""`Overlay`: aliases and better descriptions for third-party tools.

As a file, YAML or JSON:

    tools:
      github__create_issue:
        aliases: [bug report, 不具合の報告]
        description: Report a bug, or ask for a feature.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..common.files import replace_file
from ..common.json import (
    as_object,
    as_text,
    is_list,
    is_mapping,
    is_object,
    is_sequence,
    no_such_file,
    text_of,
)
from ..errors import ToolSourceError
from ..tool import Tool
from .engine.entry import Entry, entry_of

_SHAPE = "Write {tools: {name: {aliases: [words], description: text}}}."
_KEYS = ("aliases", "description")
_JSON = re.compile(r"\s*[\[{]")
_COMMENT = re.compile(r"(^|\s)#")
_WRITTEN_BY = "# Aliases from recorded searches, written by `hikidashi tools report`. Edit them freely.\n"
_LARGEST = 20_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Addition:
    """Aliases and a description for one tool."""

    aliases: tuple[str, ...] = ()
    """Further words that find the tool."""
    description: str | None = None
    """Replaces the description of the tool; None keeps it."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """Aliases and descriptions for tools, by name."""

    tools: Mapping[str, Addition] = field(default_factory=dict[str, Addition])

    @classmethod
    def read(cls, path: str | Path) -> Overlay:
        """The overlay in a YAML or JSON file.

        Raises:
            ToolSourceError: it cannot be read, or is not valid; the error names each key and its line.
        """
        source = str(path)
        return _checked(*_parsed(_text(Path(path)), source), source)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Overlay:
        """The overlay in a dict of the same shape as a file.

        Raises:
            ToolSourceError: it is not valid.
        """
        return _checked(content, {}, "overlay")

    def applied(self, tool: Any) -> Any:
        """`tool` with its aliases and description; only dicts and tools of hikidashi can be changed."""
        addition = self.tools.get(_name_of(tool))
        if addition is None:
            return tool
        if isinstance(tool, Tool):
            described = tool.description if addition.description is None else addition.description
            return replace(tool, description=described, aliases=_joined(tool.aliases, addition.aliases))
        return _applied_to_dict(tool, addition) if is_object(tool) else tool

    def with_aliases(self, words: Mapping[str, Iterable[str]]) -> Overlay:
        """The overlay with further aliases, by name of the tool."""
        tools = dict(self.tools)
        for name, more in words.items():
            known = tools.get(name, Addition())
            tools[name] = replace(known, aliases=_joined(known.aliases, tuple(more)))
        return Overlay(tools)

    def unknown(self, names: Iterable[str]) -> list[str]:
        """The tools of the overlay that are not among `names`."""
        known = set(names)
        return [name for name in self.tools if name not in known]

    def as_json(self) -> dict[str, Any]:
        """The overlay as the content of a file."""
        return {"tools": {name: _plain(addition) for name, addition in self.tools.items()}}

    def write(self, path: str | Path) -> None:
        """Write the overlay to a file, atomically: JSON if its name ends with `.json`, else YAML.

        Raises:
            ToolSourceError: the file has comments, which would be lost, or cannot be written.
        """
        file = Path(path)
        as_json = file.suffix.lower() == ".json"
        try:
            if not as_json and file.exists() and _has_comments(_text(file)):
                remedy = "Name another file, or take the comments out."
                raise ToolSourceError(str(path), "has comments, which writing would lose", remedy)
            replace_file(file, self._as_text(as_json=as_json).encode())
        except OSError as error:
            raise ToolSourceError(str(path), f"cannot be written ({error.strerror})", "Check the path.") from error

    def _as_text(self, *, as_json: bool) -> str:
        if as_json:
            return json.dumps(self.as_json(), ensure_ascii=False, indent=2) + "\n"
        import yaml  # slow to import, and most catalogues have no overlay

        content = self.as_json()
        for readable in (True, False):  # some line separators are read back as spaces unless they are escaped
            text = yaml.safe_dump(content, allow_unicode=readable, sort_keys=False, width=120)
            if yaml.safe_load(text) == content:
                break
        return _WRITTEN_BY + text


def overlay_of(given: Overlay | Mapping[str, Any] | str | Path | None) -> Overlay | None:
    """The overlay of an option: an `Overlay`, a dict of its shape, or the path of a file.

    Raises:
        ToolSourceError: it cannot be read, or is not valid.
    """
    if given is None or isinstance(given, Overlay):
        return given
    return Overlay.read(given) if isinstance(given, str | Path) else Overlay.of(given)


def entry_with(overlay: Overlay | None, tool: Any, position: int | None = None) -> Entry:
    """The entry of `tool`, with the aliases and the description of the overlay.

    Raises:
        ToolValidationError: it is not a tool, see `entry_of`.
    """
    if overlay is None:
        return entry_of(tool, position)
    changed = overlay.applied(tool)
    entry = entry_of(changed, position)
    addition = overlay.tools.get(entry.name)
    if addition is None or changed is not tool:
        return entry
    described = entry.description if addition.description is None else addition.description
    return replace(entry, description=described, aliases=_joined(entry.aliases, addition.aliases))


def _name_of(tool: Any) -> str:
    if isinstance(tool, Tool):
        return tool.name
    named = as_object(tool)
    # OpenAI: {"type": "function", "function": {...}}
    return as_text((as_object(named.get("function")) or named).get("name"))


def _applied_to_dict(tool: dict[str, Any], addition: Addition) -> dict[str, Any]:
    inner = tool.get("function")
    if is_object(inner):
        return {**tool, "function": _applied_to_dict(inner, addition)}
    changed = dict(tool)
    if addition.description is not None:
        changed["description"] = addition.description
    if addition.aliases:
        given = changed.get("aliases")
        own = given if is_sequence(given) else [given] if isinstance(given, str) else []
        changed["aliases"] = list(_joined(tuple(own), addition.aliases))
    return changed


def _joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _plain(addition: Addition) -> dict[str, Any]:
    described = {} if addition.description is None else {"description": addition.description}
    return {**({"aliases": list(addition.aliases)} if addition.aliases else {}), **described}


def _has_comments(text: str) -> bool:
    """Whether a YAML file may have comments; a `#` after a space in a text counts too, to be safe."""
    return _COMMENT.search(text.removeprefix(_WRITTEN_BY)) is not None


_Lines = dict[tuple[str, ...], int]


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise ToolSourceError(str(path), f"is larger than {_LARGEST:,} bytes, so it is hardly an overlay")
    except FileNotFoundError as error:
        raise no_such_file(str(path), "Name an overlay, in YAML or JSON.") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        raise ToolSourceError(str(path), f"cannot be read ({error})", "Check the path and its permissions.") from error
    if path.is_dir():
        raise ToolSourceError(str(path), "is a folder", "Name an overlay, in YAML or JSON.")
    return text_of(path, _SHAPE)


def _parsed(text: str, source: str) -> tuple[Any, _Lines]:
    """The content of a file, and the lines of its keys."""
    import yaml  # slow to import, and most catalogues have no overlay

    is_json = source.lower().endswith(".json")
    lines: _Lines = {}
    twice: tuple[str, ...] = ()
    try:
        content = json.loads(text) if is_json else yaml.safe_load(text)
        try:
            # YAML parsers read JSON too, except tabs.
            twice = _note_lines(yaml.SafeLoader(text.replace("\t", " ")).get_single_node(), (), lines)
        except yaml.YAMLError:  # not all JSON is YAML: then errors have no lines
            lines.clear()
    except json.JSONDecodeError as error:
        raise ToolSourceError(source, f"is not JSON: {error.msg} (column {error.colno})", line=error.lineno) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = error.problem or error.context or "it cannot be parsed"
        raise ToolSourceError(source, f"is not YAML: {why}", line=mark.line + 1 if mark else None) from error
    except (yaml.YAMLError, ValueError) as error:  # a character that YAML does not allow, a number too long
        raise ToolSourceError(source, f"cannot be parsed: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise ToolSourceError(source, "is nested too deeply") from error
    if twice:
        raise ToolSourceError(source, f"`{'.'.join(twice)}` is duplicated", "Leave one.", lines[twice])
    return content, lines


def _note_lines(node: Any, path: tuple[str, ...], lines: _Lines) -> tuple[str, ...]:
    """Collect the lines of the keys, three levels deep; the path of the first duplicate key, if any."""
    if node is None or node.id != "mapping" or len(path) > 2:
        return ()
    twice: tuple[str, ...] = ()
    for key, value in node.value:
        inner = (*path, str(key.value))
        twice = twice or (inner if inner in lines else _note_lines(value, inner, lines))
        lines[inner] = key.start_mark.line + 1
    return twice


def _checked(content: Any, lines: _Lines, source: str) -> Overlay:
    problems: list[tuple[tuple[str, ...], str]] = []
    tools: dict[str, Addition] = {}
    listed = content.get("tools") if is_mapping(content) else None
    if not is_mapping(content) or not is_mapping(listed):
        raise ToolSourceError(source, "has no `tools`", _SHAPE)
    problems += [
        ((str(key),), f"`{key}` is not a key of an overlay: only `tools` is") for key in content if key != "tools"
    ]
    entries: Mapping[Any, Any] = listed
    for name, given in entries.items():
        path = ("tools", str(name))
        if not isinstance(name, str):
            problems.append((path, f"`{name!r}` is not the name of a tool: put it in quotes"))
            continue
        if not is_mapping(given):
            problems.append((path, f"`tools.{name}` is {_kind(given)}, not `aliases` and `description`"))
            continue
        problems += [
            ((*path, str(key)), f"`tools.{name}.{key}` is none of {' and '.join(map(repr, _KEYS))}")
            for key in given
            if key not in _KEYS
        ]
        aliases, described = given.get("aliases", []), given.get("description")
        if not is_list(aliases) or not all(map(_is_text, aliases)):
            problems.append(((*path, "aliases"), f"`tools.{name}.aliases` is not a list of strings"))
        elif described is not None and not _is_text(described):
            problems.append(((*path, "description"), f"`tools.{name}.description` is {_kind(described)}, not a text"))
        else:
            tools[name] = Addition(aliases=tuple(aliases), description=described)
    if problems:
        problems.sort(key=lambda problem: lines.get(problem[0], 0))
        said_of = [f"{text} (line {lines[path]})" if path in lines else text for path, text in problems]
        line = lines.get(problems[0][0])
        raise ToolSourceError(source, "; ".join(said_of[:10]), _SHAPE, line)
    return Overlay(tools)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _kind(value: Any) -> str:
    match value:
        case None:
            return "empty"
        case str() if not value.strip():
            return "an empty text"
        case str():
            return "a text"
        case bool() | int() | float():
            return f"{value!r}"
        case list():
            return "a list"
        case _:
            return f"a {type(value).__name__}"
