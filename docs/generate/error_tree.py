"""The reference of errors: the tree, and for each class what it means, what it carries and what its message says."""

from __future__ import annotations

import enum
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import hikidashi.errors as door

from .markdown import Links, docstring, heading, paragraphs, source, table
from .python_api import attribute_docs, links
from .signatures import call_of

__all__ = ["errors", "message_of", "reference"]

SAMPLES: dict[str, list[dict[str, Any]]] = {
    "ClaudeCodeAPIError": [{"status_code": status} for status in (401, 404, 413, 429, 529, 400, None)],
    "SlackError": [
        {"code": code, "detail": "", "needed": needed}
        for code, needed in [
            ("invalid_auth", ""),
            ("not_in_channel", ""),
            ("missing_scope", "chat:write"),
            ("token_revoked", ""),
            ("unreachable", ""),
        ]
    ],
}
"""Values that decide what a message advises; other errors advise the same whatever happened."""


def errors() -> list[type[Exception]]:
    """Every class of the tree, each below its parent."""
    found = [value for value in (getattr(door, name) for name in door.__all__) if issubclass(value, Exception)]
    return list(_below(door.HikidashiError, found))


def reference() -> str:
    """The whole page, below its introduction."""
    known = {name: address.removeprefix("errors.md") for name, address in links().items()}
    parts = [table(["error", "meaning"], _tree(door.HikidashiError, errors(), known))]
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


def message_of(cls: type[Exception], **values: Any) -> str:
    """The message of the class, with `<names>` where an error has values other than `values`."""
    parameters = inspect.signature(cls).parameters.items()
    return str(cls(**{name: values.get(name, _stand_in(name, parameter)) for name, parameter in parameters}))


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


def _described(cls: type[Exception], known: Links) -> Iterator[str]:
    yield heading(2, f"`{cls.__name__}`", cls.__name__)
    yield from docstring(cls.__doc__, known)
    parents = (base.__name__ for base in cls.__bases__)
    yield (
        "Base classes: "
        + ", ".join(f"[`{one}`]({known[one]})" if one in known else f"`{one}`" for one in parents)
        + "."
    )
    if "__init__" not in vars(cls):
        return
    yield source(call_of(cls.__name__, cls, keyword="class"))
    messages = [message_of(cls, **values) for values in SAMPLES.get(cls.__name__, [{}])]
    yield "What it says:" if len(messages) == 1 else "What it says, for instance:"
    yield source("\n\n".join("\n".join(textwrap.wrap(one, 92, break_on_hyphens=False)) for one in messages), "text")


def _below(cls: type[Exception], found: list[type[Exception]]) -> Iterator[type[Exception]]:
    yield cls
    for inner in found:
        if cls in inner.__bases__:
            yield from _below(inner, found)


def _tree(cls: type[Exception], found: list[type[Exception]], known: Links, depth: int = 0) -> Iterator[list[str]]:
    """The rows of the overview, each class below its parent."""
    indent = "&emsp;" * (depth - 1) + ("└&nbsp;" if depth else "")
    yield [f"{indent}[`{cls.__name__}`](#{cls.__name__})", next(docstring(cls.__doc__, known)).partition("\n")[0]]
    for inner in found:
        if cls in inner.__bases__:
            yield from _tree(inner, found, known, depth + 1)
