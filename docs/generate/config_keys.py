"""The reference of the config file: every key with its type, default and meaning, from the classes that check it."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hikidashi.config import Config

from .markdown import docstring, heading, paragraphs, source, table
from .python_api import attribute_docs
from .signatures import alias, default

__all__ = ["Key", "keys", "reference"]


@dataclass(frozen=True)
class Key:
    """One key of a section."""

    name: str
    kind: str
    default: str
    allowed: str
    """What may be written there, as the check says it; empty where the type says it."""
    meaning: str

    @property
    def text(self) -> str:
        """All that is said about it."""
        return " ".join([self.meaning, self.allowed, f"Default: {self.default}." if self.default else ""])


def keys() -> dict[str, list[Key]]:
    """The keys of each section, by its full name such as `tools.web_search`."""
    return {name: list(_keys_of(section)) for name, section in _sections("", Config)}


def reference(example: str) -> str:
    """The whole page, below its introduction; `example` is the example file."""
    parts: list[str] = []
    for name, section in _sections("", Config):
        parts += [heading(2, f"`{name}`", name), *docstring(section.__doc__, {})]
        rows = ([f"`{key.name}`", key.kind, key.text] for key in _keys_of(section))
        parts.append(table(["key", "type", "meaning"], rows))
    return paragraphs([*parts, heading(2, "A whole file", "example"), source(example.strip(), "yaml")])


def _sections(name: str, cls: type) -> Iterator[tuple[str, type]]:
    """The sections below `cls` that have keys of their own: those whose fields carry a rule."""
    for key, hint in typing.get_type_hints(cls).items():
        options = _options(hint)
        named = [typing.get_args(kind)[1] for kind in options if typing.get_origin(kind) is Mapping]
        inner = next((kind for kind in (*options, *named) if dataclasses.is_dataclass(kind)), None)
        if isinstance(inner, type):
            full = f"{name}.{key}".lstrip(".") + (".NAME" if inner in named else "")
            if any("rule" in field.metadata for field in dataclasses.fields(inner)):
                yield full, inner
            yield from _sections(full, inner)


def _keys_of(section: type) -> Iterator[Key]:
    hints = typing.get_type_hints(section)
    said = attribute_docs(section)
    for field in dataclasses.fields(section):
        rule: Any = field.metadata.get("rule")
        if rule is None:  # not for files
            continue
        kinds = [kind for kind in _options(hints[field.name]) if kind is not types.NoneType]
        literal = [
            f"`{value}`"
            for kind in kinds
            if typing.get_origin(kind) is typing.Literal
            for value in typing.get_args(kind)
        ]
        others = [f"`{_written(one)}`" for one in kinds if typing.get_origin(one) is not typing.Literal]
        kind = " or ".join([*literal, *others])
        value = "" if field.default is None else f"`{_yaml(field.default)}`"
        yield Key(field.name, kind, value, "" if literal and not others else rule.remedy, said.get(field.name, ""))


def _options(hint: Any) -> tuple[Any, ...]:
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if union else (hint,)


def _written(kind: Any) -> str:
    """A type as it is written in YAML."""
    return {tuple: "list", Mapping: "section"}.get(typing.get_origin(kind)) or alias(kind)


def _yaml(value: object) -> str:
    if value == ():
        return "[]"
    return str(value).lower() if isinstance(value, bool) else default(value).strip("'")
