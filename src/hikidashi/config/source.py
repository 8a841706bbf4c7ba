"""A config file as a tree of values with their lines, from YAML or TOML.

Nothing is constructed from YAML tags, and an aliased section is built once, so a file that would expand to billions of
values ("billion laughs") costs no more than its text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import yaml

from ..common.json import is_list, is_object
from ..errors import ConfigError

_LARGEST = 1_000_000
"""Bytes; a larger file is not a config."""


@dataclass(frozen=True, slots=True)
class ConfigNode:
    """A value of the file and its line."""

    value: object
    line: int | None
    section: dict[str, ConfigNode] | None = None
    """The items of a section, whose `value` is then empty; None for other values."""
    items: tuple[object, ...] = ()
    """The items of a list, whose `value` is then empty; those that are lists or sections themselves are empty."""

    def plain(self) -> object:
        """The value; a list or section with its items, which are empty where they are lists or sections themselves."""
        if self.section is not None:
            return {name: node.value for name, node in self.section.items()}
        return list(self.items) if isinstance(self.value, list) else self.value


@dataclass
class Problems:
    """Collects the problems of a file."""

    path: str
    found: list[ConfigError] = field(default_factory=list[ConfigError])

    def add(self, reason: str, key: str = "", line: int | None = None) -> None:
        """Add a problem of `key`."""
        self.found.append(ConfigError(self.path, reason, key, line))

    def __iter__(self) -> Iterator[ConfigError]:
        """The problems by their line."""
        return iter(sorted(self.found, key=lambda problem: problem.line or 0))


def read_text(path: Path) -> str:
    """The text of the file.

    Raises:
        ConfigError: it is missing, unreadable, too large, empty or not UTF-8.
    """
    try:
        if not path.is_file():
            if path.exists():
                raise ConfigError(str(path), "is not a file. Name the config file itself.")
            raise ConfigError(
                str(path), "does not exist. Make one: hikidashi config example > config.yaml, or name another file."
            )
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ConfigError(str(path), f"cannot be read: {reason}. Check its owner and permissions.") from error
    if len(content) > _LARGEST:
        raise ConfigError(str(path), f"is larger than {_LARGEST:,} bytes, so it is hardly a config file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(str(path), "is not UTF-8. Save the file as UTF-8.", line=line) from error
    if not text.strip():
        raise ConfigError(
            str(path), "is empty. `hikidashi config example` prints an example; write a comment if you mean it."
        )
    return text


_MERGE = "tag:yaml.org,2002:merge"


def parse_yaml(text: str, path: str, problems: Problems) -> ConfigNode:
    """The file as a tree; problems of single keys are added to `problems`.

    Raises:
        ConfigError: the file is not YAML.
    """
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        return ConfigNode({}, None, {}) if root is None else _Tree(loader, problems).node(root, "")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # Only the message of the parser: the line it would quote may contain a key.
        words = error.problem or error.context or "it cannot be parsed"
        in_braces = mark is not None and "{" in words and "${" in text.splitlines()[mark.line]
        advice = "Inside braces, put ${NAME} in quotes." if in_braces else "Check quotes and indentation."
        reason = f"is not YAML: {words}. {advice}"
        raise ConfigError(path, reason, line=mark.line + 1 if mark else None) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = f"has a character that YAML does not allow (U+{error.character:04X}). Remove it."
        raise ConfigError(path, reason, line=line) from None
    except RecursionError:
        raise ConfigError(path, "is nested too deeply to be a config.") from None


class _Tree:
    def __init__(self, loader: yaml.SafeLoader, problems: Problems) -> None:
        self._loader = loader
        self._problems = problems
        self._sections: dict[int, dict[str, ConfigNode]] = {}

    def node(self, node: yaml.Node, key: str) -> ConfigNode:
        line = node.start_mark.line + 1
        if isinstance(node, yaml.SequenceNode):
            items: list[yaml.Node] = node.value
            return ConfigNode([], line, items=tuple(self._item(item, key) for item in items))
        if isinstance(node, yaml.MappingNode):
            return ConfigNode({}, line, self._section(node, key))
        return ConfigNode(self._scalar(node, key), line)

    def _item(self, node: yaml.Node, key: str) -> object:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, key)
        empty: object = {} if isinstance(node, yaml.MappingNode) else []
        return empty

    def _section(self, node: yaml.MappingNode, key: str) -> dict[str, ConfigNode]:
        if id(node) in self._sections:  # an alias, or a section inside itself
            return self._sections[id(node)]
        section = self._sections[id(node)] = {}
        pairs: list[tuple[yaml.Node, yaml.Node]] = node.value
        for name_node, value_node in pairs:
            line = name_node.start_mark.line + 1
            if name_node.tag == _MERGE:
                self._problems.add("Merge keys (`<<`) are not read here. Write the values out.", key, line)
                continue
            name = self._scalar(name_node, key) if isinstance(name_node, yaml.ScalarNode) else None
            if not isinstance(name, str):
                self._problems.add("A key must be text. Put it in quotes, or check the indentation.", key, line)
                continue
            inside = f"{key}.{name}" if key else name
            if name in section:
                first = section[name].line
                self._problems.add(f"is there twice, first in line {first}. Keep one of them.", inside, line)
                continue
            child = self.node(value_node, inside)
            # A section starts below its key; the line of the key is more helpful.
            section[name] = child if child.section is None else replace(child, line=line)
        return section

    def _scalar(self, node: yaml.Node, key: str) -> object:
        try:
            value: object = self._loader.construct_object(node)  # pyright: ignore[reportUnknownMemberType]
        except (yaml.constructor.ConstructorError, ValueError):  # an unknown tag; 2026-99-99, which looks like a date
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            self._problems.add(
                f"cannot be read as {tag}. Write it without a tag, or in quotes.", key, node.start_mark.line + 1
            )
            return None
        return value if isinstance(value, str | int | float | bool | date | None) else str(node.value)


_TOML_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_TOML_KEY = re.compile(r"\s*([\w\-.\"' ]+?)\s*=")


def parse_toml(text: str, path: str) -> ConfigNode:
    """The file as a tree.

    Raises:
        ConfigError: the file is not TOML.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        words, _, place = str(error).partition(" (at ")
        line = re.match(r"line (\d+)", place)
        reason = f"is not TOML: {words[:1].lower()}{words[1:]}. Check quotes and brackets."
        raise ConfigError(path, reason, line=int(line[1]) if line else len(text.splitlines())) from None
    except ValueError:  # Python's limit of 4,300 digits
        raise ConfigError(path, "has a number that is far too long. Write a shorter one.") from None
    except RecursionError:
        raise ConfigError(path, "is nested too deeply to be a config.") from None
    return _node(content, "", _lines(text))


def _node(value: object, key: str, lines: dict[str, int]) -> ConfigNode:
    line = lines.get(key)
    if is_object(value):
        section = {name: _node(item, f"{key}.{name}" if key else name, lines) for name, item in value.items()}
        return ConfigNode({}, line, section)
    if is_list(value):
        return ConfigNode([], line, items=tuple(map(_item, value)))
    return ConfigNode(value, line)


def _item(value: object) -> object:
    empty: object = {} if is_object(value) else []
    return empty if is_object(value) or is_list(value) else value


def _lines(text: str) -> dict[str, int]:
    """The line of each key, except those in inline tables."""
    found: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _TOML_HEADER.match(line):
            section = _plain(header[1])
            found.setdefault(section, number)
        elif key := _TOML_KEY.match(line):
            name = _plain(key[1])
            found.setdefault(f"{section}.{name}" if section else name, number)
    return found


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
