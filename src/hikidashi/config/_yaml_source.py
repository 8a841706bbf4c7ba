"""Parse YAML with line numbers and duplicate keys, safely.

Nothing is constructed from tags, and an aliased section is built once, so a file that would expand to billions of
values ("billion laughs") costs no more than its text.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import cast

import yaml

from ..errors import ConfigError
from ._source import Node, Problems

__all__ = ["parse_yaml"]

_MERGE = "tag:yaml.org,2002:merge"


def parse_yaml(text: str, path: str, problems: Problems) -> Node:
    """The file as a tree; problems of single keys are added to `problems`.

    Raises:
        ConfigError: the file is not YAML.
    """
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        return Node({}, None, {}) if root is None else _Tree(loader, problems).node(root, "")
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
        self._sections: dict[int, dict[str, Node]] = {}

    def node(self, node: yaml.Node, key: str) -> Node:
        line = node.start_mark.line + 1
        if isinstance(node, yaml.SequenceNode):
            items = cast("list[yaml.Node]", node.value)
            return Node([], line, items=tuple(self._item(item, key) for item in items))
        if isinstance(node, yaml.MappingNode):
            return Node({}, line, self._section(node, key))
        return Node(self._scalar(node, key), line)

    def _item(self, node: yaml.Node, key: str) -> object:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, key)
        empty: object = {} if isinstance(node, yaml.MappingNode) else []
        return empty

    def _section(self, node: yaml.MappingNode, key: str) -> dict[str, Node]:
        if id(node) in self._sections:  # an alias, or a section inside itself
            return self._sections[id(node)]
        section = self._sections[id(node)] = {}
        for name_node, value_node in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
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
            value = cast("object", self._loader.construct_object(node))  # pyright: ignore[reportUnknownMemberType]
        except (yaml.constructor.ConstructorError, ValueError):  # an unknown tag; 2026-99-99, which looks like a date
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            self._problems.add(
                f"cannot be read as {tag}. Write it without a tag, or in quotes.", key, node.start_mark.line + 1
            )
            return None
        return value if isinstance(value, str | int | float | bool | date | None) else str(node.value)
