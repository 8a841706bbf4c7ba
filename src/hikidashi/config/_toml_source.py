"""Parse TOML; line numbers are searched in the text, since `tomllib` does not give them."""

from __future__ import annotations

import re
import tomllib
from typing import cast

from ..errors import ConfigError
from ._source import Node

__all__ = ["parse_toml"]

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([\w\-.\"' ]+?)\s*=")


def parse_toml(text: str, path: str) -> Node:
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


def _node(value: object, key: str, lines: dict[str, int]) -> Node:
    line = lines.get(key)
    if isinstance(value, dict):
        inside = cast("dict[str, object]", value)
        section = {name: _node(item, f"{key}.{name}" if key else name, lines) for name, item in inside.items()}
        return Node({}, line, section)
    if isinstance(value, list):
        return Node([], line, items=tuple(map(_item, cast("list[object]", value))))
    return Node(value, line)


def _item(value: object) -> object:
    if isinstance(value, dict | list):
        return type(cast("object", value))()
    return value


def _lines(text: str) -> dict[str, int]:
    """The line of each key, except those in inline tables."""
    found: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = _plain(header[1])
            found.setdefault(section, number)
        elif key := _KEY.match(line):
            name = _plain(key[1])
            found.setdefault(f"{section}.{name}" if section else name, number)
    return found


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
