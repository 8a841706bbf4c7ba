"""Signatures as one would write them: annotations as in the source, defaults where they say something."""

from __future__ import annotations

import ast
import contextlib
import enum
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["alias", "annotation", "call_of", "default"]

_WIDE = 88


def call_of(name: str, func: Callable[..., Any], *, keyword: str = "", skip_self: bool = False) -> str:
    """`func` as `def name(…) -> …`, with one parameter per line where it does not fit on one.

    `keyword` stands in front (`def`, `async def`, `class`); `skip_self` leaves the first parameter out.
    """
    signature = inspect.signature(func)
    names = _names_of(func)
    parameters = list(signature.parameters.values())[1 if skip_self else 0 :]
    written: list[str] = []
    star = False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            written.append("*")
            star = True
        star = star or parameter.kind is parameter.VAR_POSITIONAL
        written.append(_parameter(parameter, names))
    result = "" if signature.return_annotation is signature.empty else annotation(signature.return_annotation, names)
    end = f") -> {result}" if result and keyword != "class" else ")"
    start = f"{keyword} {name}(".lstrip()
    one_line = start + ", ".join(written) + end
    if len(one_line) <= _WIDE or not written:
        return one_line
    return "\n".join([start, *(f"    {item}," for item in written), end])


def annotation(value: object, names: Mapping[str, Any]) -> str:
    """A type as the source has it, with aliases of a few literals written out."""
    text = value if isinstance(value, str) else alias(value)
    with contextlib.suppress(SyntaxError):
        text = ast.unparse(_Plain(names).visit(ast.parse(text, mode="eval")))
    return text


def alias(value: object) -> str:
    """What a type alias stands for."""
    if value is type(None) or value is None:
        return "None"
    if isinstance(value, type) and not typing.get_args(value):
        return value.__name__
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", str(value))


def default(value: object) -> str:
    """A default as one would write it; `...` where only the code can say it."""
    if isinstance(value, enum.Enum):
        return "..." if type(value).__name__.startswith("_") else str(value)
    if isinstance(value, (str, bytes, int, float, bool, type(None))) or value == ():
        return repr(value)
    return "..."


def _parameter(parameter: inspect.Parameter, names: Mapping[str, Any]) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = stars + parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {annotation(parameter.annotation, names)}"
    if parameter.default is not parameter.empty:
        text += f" = {default(parameter.default)}"
    return text


def _names_of(func: Callable[..., Any]) -> Mapping[str, Any]:
    """The global names that the annotations of a function or class are written with."""
    made = func.__init__ if isinstance(func, type) else func
    module = inspect.getmodule(func)
    return getattr(inspect.unwrap(made), "__globals__", None) or (vars(module) if module else {})


class _Plain(ast.NodeTransformer):
    """Annotations without what only a validator reads, and with private aliases of literals written out."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "Annotated" and isinstance(node.slice, ast.Tuple):
            return self.visit(node.slice.elts[0])
        if isinstance(node.value, ast.Name) and node.value.id == "Literal":
            return node
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self.names.get(node.id)
        if typing.get_origin(value) is typing.Literal and len(typing.get_args(value)) <= 4:
            return ast.parse(alias(value), mode="eval").body
        return node
