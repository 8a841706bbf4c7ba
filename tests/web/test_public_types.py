"""Every type of ours that a public signature names can be imported from a public door."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar, cast, get_args

import pytest

import hikidashi
import hikidashi.agents
import hikidashi.config
import hikidashi.errors
import hikidashi.search
import hikidashi.web
import hikidashi.web.local
import hikidashi.web.strands

WALKED = [hikidashi.web, hikidashi.web.local, hikidashi.web.strands, hikidashi.agents]
DOORS = [*WALKED, hikidashi, hikidashi.config, hikidashi.errors, hikidashi.search]


@cache
def homes(module: str) -> dict[str, tuple[str, str]]:
    """The module and the name of ours that each name in a module stands for."""
    source = importlib.import_module(module)
    package = module if hasattr(source, "__path__") else module.rpartition(".")[0]
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(ast.parse(Path(str(source.__file__)).read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom():
                base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                origin = ".".join([*base, *([node.module] if node.module else [])])
                found |= {alias.asname or alias.name: (origin, alias.name) for alias in node.names}
            case ast.ClassDef(name=name):
                found[name] = (module, name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.setdefault(name, (module, name))
            case _:
                pass
    return {name: origin for name, origin in found.items() if origin[0].partition(".")[0] == "hikidashi"}


def hints_of(value: object) -> Iterator[tuple[str, str]]:
    """The module and the text of each annotation that a public name shows."""
    if isinstance(value, type):
        for kind in value.__mro__:
            if is_ours(kind):
                yield from ((kind.__module__, str(text)) for _, text in shown(kind.__annotations__))
                for _, member in [*shown(vars(kind)), ("__init__", vars(kind).get("__init__"))]:
                    yield from hints_of(unwrapped(member))
    elif isinstance(value, FunctionType) and value.__module__.partition(".")[0] == "hikidashi":
        yield from ((value.__module__, str(text)) for text in inspect.get_annotations(value).values())


def shown(members: Any) -> list[tuple[str, Any]]:
    return [(name, member) for name, member in members.items() if not name.startswith("_")]


def unwrapped(member: Any) -> Any:
    match member:
        case property(fget=function) | cached_property(func=function):
            return function
        case classmethod() | staticmethod():
            return cast("Any", member).__func__
        case _:
            return None if isinstance(member, type) else inspect.unwrap(member) if callable(member) else member


def types_of(door: ModuleType) -> set[tuple[str, str]]:
    """The types of ours in the signatures and aliases of a door, by module and name."""
    found: set[tuple[str, str]] = set()
    for public in door.__all__:
        value = getattr(door, public)
        found |= {(part.__module__, part.__name__) for part in get_args(value) if is_ours(part)}
        for module, text in hints_of(value if isinstance(value, type) else unwrapped(value)):
            named = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
            found |= {homes(module)[name] for name in named if name in homes(module)}
    return found


def is_ours(value: Any) -> bool:
    return isinstance(value, type) and value.__module__.partition(".")[0] == "hikidashi"


@pytest.mark.parametrize("door", WALKED, ids=lambda door: door.__name__)
def test_every_type_in_a_public_signature_can_be_imported_from_a_public_door(door: ModuleType) -> None:
    missing: list[str] = []
    for module, name in sorted(types_of(door)):
        value = getattr(importlib.import_module(module), name)
        if isinstance(value, ParamSpec | TypeVar):
            continue
        if not any(name in entrance.__all__ and getattr(entrance, name) == value for entrance in DOORS):
            missing.append(f"{name} of {module}")
    assert missing == []


def test_the_walk_sees_what_it_should() -> None:
    named = {name for _, name in types_of(hikidashi.web)}
    assert {"SearchFilters", "ExtractOptions", "CrawlOptions", "RetryPolicy", "Untrusted", "SearchResults"} <= named
    assert {"Message", "AnswerEvent", "Audience", "Config"} <= {name for _, name in types_of(hikidashi.agents)}
