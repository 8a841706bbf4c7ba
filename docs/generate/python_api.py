"""The Python reference: every public name of every door, with its signature and docstring."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from typing_extensions import is_typeddict

from .markdown import Links, docstring, heading, paragraphs, source, table
from .signatures import alias, annotation, call_of, default

__all__ = ["DOORS", "attribute_docs", "links", "reference"]

DOORS = (
    "hikidashi",
    "hikidashi.search",
    "hikidashi.web",
    "hikidashi.web.local",
    "hikidashi.web.strands",
    "hikidashi.agents",
    "hikidashi.gateway",
    "hikidashi.testing",
    "hikidashi.config",
)
"""Where people import from."""

_ERRORS = "hikidashi.errors"


@dataclass(frozen=True)
class _Name:
    """One public name."""

    door: str
    name: str
    value: Any

    @property
    def anchor(self) -> str:
        return f"{self.door}.{self.name}"


def _names(door: str) -> list[_Name]:
    module = import_module(door)
    return [_Name(door, name, getattr(module, name)) for name in module.__all__ if not name.startswith("__")]


def links() -> Links:
    """Where each public name is described: by its short name, and by each door it comes through."""
    found: Links = {name: f"errors.md#{name}" for name in import_module(_ERRORS).__all__}
    homes: dict[int, str] = {}
    for door in DOORS:
        for item in _names(door):
            there = f"errors.md#{item.name}" if _is_error(item) else f"api.md#{item.anchor}"
            if isinstance(item.value, type | types.FunctionType | types.ModuleType):
                there = homes.setdefault(id(item.value), there)
            found.setdefault(item.name, there)
            found[item.anchor] = there
    return found


def _is_error(item: _Name) -> bool:
    return item.name in import_module(_ERRORS).__all__


def reference() -> str:
    """The whole page, below its introduction."""
    known = links()
    return paragraphs(part for door in DOORS for part in _door(door, known))


def _door(door: str, known: Links) -> Iterator[str]:
    items = _names(door)
    yield heading(2, f"`{door}`", door)
    yield from docstring(import_module(door).__doc__, known)
    elsewhere = [item for item in items if known[item.anchor] != f"api.md#{item.anchor}"]
    if elsewhere:
        yield "Described elsewhere: " + ", ".join(f"[`{item.name}`]({known[item.anchor]})" for item in elsewhere) + "."
    for item in items:
        if item not in elsewhere:
            yield from _described(item, known)


def _described(item: _Name, known: Links) -> Iterator[str]:
    value = inspect.unwrap(item.value) if callable(item.value) else item.value
    yield heading(3, f"`{item.name}`", item.anchor)
    if isinstance(value, types.ModuleType):
        yield from docstring(value.__doc__, known)
        for name in value.__all__:
            inner = getattr(value, name)
            if inspect.isfunction(inner):
                yield source(call_of(f"{item.name}.{name}", inner))
                yield from docstring(inner.__doc__, known)
    elif isinstance(value, type):
        yield from _class(item, value, known)
    elif inspect.isfunction(value):
        yield source(_function(item.name, value))
        yield from docstring(value.__doc__, known)
    elif typing.get_origin(value) is not None:
        written, said = _assignment(item)
        yield source(written)
        yield from docstring(said, known)
    else:
        yield f"An object of type `{type(value).__name__}`."
        if type(value).__doc__ != value.__doc__:  # one of its own, not that of its class
            yield from docstring(value.__doc__, known)


def _function(name: str, func: Any, *, method: bool = False) -> str:
    kind: str = type(func).__name__
    bound = method and kind != "staticmethod"
    plain: Any = inspect.unwrap(getattr(func, "__func__", func))
    keyword = "async def" if inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain) else "def"
    told = typing.get_overloads(plain) or [plain]
    above = f"@{kind}\n" if kind in ("classmethod", "staticmethod") else ""
    return above + "\n".join(call_of(name, one, keyword=keyword, skip_self=bound) for one in told)


def _class(item: _Name, cls: Any, known: Links) -> Iterator[str]:
    if issubclass(cls, enum.Enum):
        yield from docstring(cls.__doc__, known)
        docs = attribute_docs(cls)
        yield table(["value", "meaning"], ([f"`{member.value}`", docs.get(member.name, "")] for member in cls))
        return
    if is_typeddict(cls):
        yield source(f"class {item.name}(TypedDict)")
        yield from docstring(cls.__doc__, known)
    elif getattr(cls, "_is_protocol", False):
        yield source(f"class {item.name}(Protocol)")
        yield from docstring(cls.__doc__, known)
    else:
        yield source(call_of(item.name, cls, keyword="class"))
        yield from docstring(cls.__doc__, known)
        made: Any = cls.__dict__.get("__init__")
        if isinstance(made, types.FunctionType):
            yield from docstring(made.__doc__, known)
    yield _fields(cls)
    for name, member in _members(cls):
        yield heading(4, f"`{item.name}.{name}`", f"{item.anchor}.{name}")
        if isinstance(member, property):
            result = inspect.signature(member.fget).return_annotation if member.fget else ""
            yield source(f"{name}: {annotation(result, {})}")
            yield from docstring(member.__doc__, known)
        else:
            yield source(_function(name, member, method=True))
            yield from docstring(inspect.getdoc(getattr(cls, name)), known)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that hikidashi itself writes, in the order of the source."""
    seen: set[str] = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("hikidashi"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            if isinstance(member, (types.FunctionType, classmethod, staticmethod, property)) and member.__doc__:
                seen.add(name)
                yield name, member


def _fields(cls: type) -> str:
    """The fields of a dataclass or typed dict that have a docstring of their own."""
    docs = {name: said for base in reversed(cls.__mro__) for name, said in attribute_docs(base).items()}
    if is_typeddict(cls):
        docs = {name: docs.get(name, "") for name in cls.__annotations__ if name in docs}
    names = vars(inspect.getmodule(cls))
    kinds = {
        name: kind for base in reversed(cls.__mro__) for name, kind in vars(base).get("__annotations__", {}).items()
    }
    defaults = {field.name: field.default for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
    rows: list[list[str]] = []
    for name, said in docs.items():
        if name.startswith("_") or name not in kinds:
            continue
        kind = annotation(getattr(kinds[name], "__forward_arg__", kinds[name]), names)
        value = defaults.get(name, dataclasses.MISSING)
        given = "" if value is dataclasses.MISSING else f" = {default(value)}"
        rows.append([f"`{name}: {kind}{given}`", said])
    return table(["field", "meaning"], rows)


def attribute_docs(cls: type) -> dict[str, str]:
    """The text below each attribute of a class, which Python itself does not keep."""
    if not cls.__module__.startswith("hikidashi"):
        return {}
    inherited = [attribute_docs(base) for base in reversed(cls.__bases__)]
    return {name: said for texts in (*inherited, _texts_below(_class_source(cls).body)) for name, said in texts.items()}


def _texts_below(body: Sequence[ast.stmt]) -> dict[str, str]:
    """The text that stands right below an assignment, by the name that is assigned."""
    found: dict[str, str] = {}
    for node, after in pairwise(body):
        match node, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(said))),
            ):
                found[name] = inspect.cleandoc(said)
            case _:
                pass
    return found


def _assignment(item: _Name) -> tuple[str, str]:
    """An alias of types as it is written, in whichever file of its door, and the text below it."""
    door = Path(str(import_module(item.door).__file__))
    for file in sorted(door.parent.rglob("*.py")) if door.name == "__init__.py" else [door]:
        text = file.read_text(encoding="utf-8")
        if f"\n{item.name} = " not in text:
            continue
        body = ast.parse(text).body
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name(id=item.name)]):
                    return ast.unparse(node), _texts_below(body).get(item.name, "")
                case _:
                    pass
    return f"{item.name} = {alias(item.value)}", ""


def _class_source(cls: type) -> ast.ClassDef:
    """The class as it is written; errors say they come from their door, so its other files are looked through too."""
    module = Path(str(inspect.getsourcefile(import_module(cls.__module__))))
    for file in [module, *sorted(module.parent.glob("*.py"))]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                return node
    raise LookupError(f"The source of {cls.__qualname__} is not in {module.parent}.")
