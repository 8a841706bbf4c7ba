"""The reference of errors: the tree, and for each class what it means, what it carries and what its message says."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from typing import Any

import hikidashi.errors as door

from .markdown import docstring, heading, paragraphs, source, table
from .python_api import attribute_docs, links
from .signatures import call_of

__all__ = ["errors", "message_of", "reference"]


def errors() -> list[type[Exception]]:
    """Every class of the tree, each below its parent."""
    found = [value for value in (getattr(door, name) for name in door.__all__) if issubclass(value, Exception)]
    return list(_below(door.HikidashiError, found))


def reference() -> str:
    """The whole page, below its introduction."""
    known = {name: address.removeprefix("errors.md") for name, address in links().items()}
    parts = [source("\n".join(_tree(door.HikidashiError, errors())), "text")]
    for cls in errors():
        parts += _described(cls, known)
    for name in door.__all__:
        value = getattr(door, name)
        if issubclass(value, enum.Enum):
            parts += [heading(2, f"`{name}`", name), *docstring(value.__doc__, known)]
            docs = attribute_docs(value)
            rows = ([f"`{member.value}`", docs.get(member.name, "")] for member in value)
            parts.append(table(["value", "meaning, and what to do"], rows))
    return paragraphs(parts)


def message_of(cls: type[Exception]) -> str:
    """The message of the class, with `<names>` where an error has values; empty for classes that are only bases."""
    if "__init__" not in vars(cls):
        return ""
    parameters = inspect.signature(cls).parameters.items()
    return str(cls(**{name: _stand_in(name, parameter) for name, parameter in parameters}))


def _stand_in(name: str, parameter: inspect.Parameter) -> Any:
    kind = str(parameter.annotation)
    if kind.startswith("Sequence"):
        return [_Name(name)]
    if kind.startswith(("int", "float")):
        return None if "None" in kind else 30
    if isinstance(choices := getattr(door, kind, None), enum.EnumType):
        return next(iter(choices))
    return _Name(name)


class _Name(str):
    """`<name>`, which stays without quotes where a message would quote a value."""

    __slots__ = ()

    def __new__(cls, name: str) -> _Name:
        return super().__new__(cls, f"<{name}>")

    def __repr__(self) -> str:
        return str(self)


def _described(cls: type[Exception], known: dict[str, str]) -> Iterator[str]:
    yield heading(2, f"`{cls.__name__}`", cls.__name__)
    yield from docstring(cls.__doc__, known)
    bases = [base.__name__ for base in cls.__bases__]
    yield (
        "Is a " + " and a ".join(f"[`{name}`]({known[name]})" if name in known else f"`{name}`" for name in bases) + "."
    )
    if message := message_of(cls):
        yield source(call_of(cls.__name__, cls, keyword="class"))
        yield "The message:"
        yield source(re.sub(r" +", " ", message), "text")


def _below(cls: type[Exception], found: list[type[Exception]]) -> Iterator[type[Exception]]:
    yield cls
    for inner in found:
        if cls in inner.__bases__:
            yield from _below(inner, found)


def _tree(cls: type[Exception], found: list[type[Exception]]) -> Iterator[str]:
    """The tree as a terminal shows folders, with what each class means."""
    yield cls.__name__
    yield from _branches(cls, found, "")


def _branches(cls: type[Exception], found: list[type[Exception]], lead: str) -> Iterator[str]:
    inner = [one for one in found if cls in one.__bases__]
    for one in inner:
        last = one is inner[-1]
        name = f"{lead}{'└── ' if last else '├── '}{one.__name__}"
        yield f"{name:<36}{(one.__doc__ or '').splitlines()[0]}"
        yield from _branches(one, found, lead + ("    " if last else "│   "))
