"""Front matter: metadata between `---` (YAML) or `+++` (TOML) at the start of a document.

Only top-level fields are read, and YAML is composed into nodes without constructing objects, so that nested aliases
("billion laughs") cost nothing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, cast

from ._dates import day_of

__all__ = ["FrontMatter", "front_matter"]

_LONGEST = 16 * 1024
_YAML = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\A\ufeff?\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:[ \t]+(.*\S)[ \t]*$", re.MULTILINE)

_TITLES = ("title", "name")
_DATES = ("date", "published", "published_at", "publishdate", "pubdate", "created", "created_at", "updated", "lastmod")
_TEXTS = ("description", "summary", "abstract", "subtitle")
_TAGS = ("tags", "keywords", "categories", "category", "topics", "aliases")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The metadata of a document."""

    title: str
    published: str | None
    """YYYY-MM-DD."""
    about: str
    """Description and tags."""
    length: int
    """Its length in characters."""


def front_matter(text: str) -> FrontMatter | None:
    """The front matter at the start of `text`, if any."""
    head = text[:_LONGEST]
    if block := _YAML.match(head):
        fields = _yaml(block[1])
        if not fields:  # two horizontal rules
            return None
    elif block := _TOML.match(head):
        fields = _toml(block[1])
    else:
        return None
    lowered = {name.lower(): value for name, value in fields.items()}
    return FrontMatter(
        title=" ".join(next(iter(_texts(lowered, _TITLES)), "").split()),
        published=next(filter(None, (day_of(value) for value in _texts(lowered, _DATES))), None),
        about="\n".join([*_texts(lowered, _TEXTS), *_texts(lowered, _TAGS)]),
        length=block.end(),
    )


def _texts(fields: dict[str, Any], names: Iterable[str]) -> list[str]:
    """The values of the fields `names`, in that order."""
    values = (fields.get(name) for name in names)
    each = (one for value in values for one in cast("list[object]", value if isinstance(value, list) else [value]))
    known = (str(one) for one in each if isinstance(one, str | int | float | date | datetime))
    return [text.strip() for text in known if text.strip()]


def _yaml(block: str) -> dict[str, Any]:
    """The top-level fields, each a string or a list of strings; of invalid YAML, the lines `name: value`."""
    import yaml

    try:
        root: Any = cast("Any", yaml).compose(block, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {name: value.strip("\"'") for name, value in _FIELD.findall(block)}
    if not isinstance(root, yaml.MappingNode):
        return {}
    return {
        name.value: _value(value)
        for name, value in cast("list[tuple[yaml.Node, yaml.Node]]", root.value)
        if isinstance(name, yaml.ScalarNode)
    }


def _value(node: Any) -> str | list[str]:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [item.value for item in cast("list[yaml.Node]", node.value) if isinstance(item, yaml.ScalarNode)]
    return node.value if isinstance(node, yaml.ScalarNode) else ""


def _toml(block: str) -> dict[str, Any]:
    try:
        return tomllib.loads(block.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {}
