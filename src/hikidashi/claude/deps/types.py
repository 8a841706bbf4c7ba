"""Types that can be serialised as JSON: a walk through type hints that reports the first that cannot."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import logging
import sys
import types
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from typing_extensions import ReadOnly, is_typeddict

from ...errors import TypeHintResolutionError, UnsupportedDepsTypeError

logger = logging.getLogger("hikidashi")

# Classes without a config of their own inherit this one: bytes need not be UTF-8, and NaN is not null.
JSON_CONFIG = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="strings")

CONTAINERS = (dict, list, tuple, set, frozenset)

# Core schemas that describe live objects: pydantic accepts them as they are, but JSON has no form for them.
_LIVE = frozenset({"callable", "is-instance", "is-subclass", "generator"})

NO_FORM = "JSON has no form for it"

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

_WRAPPERS = (Annotated, Required, NotRequired, ReadOnly)


def is_namedtuple(kind: type[Any]) -> bool:
    """Whether `kind` is a `NamedTuple`."""
    return issubclass(kind, tuple) and hasattr(cast("Any", kind), "_fields")


def type_name(hint: object) -> str:
    """`hint` as in source code, with its module unless it is a builtin."""
    if not isinstance(hint, type) or get_origin(hint) is not None:
        return str(hint)
    return hint.__qualname__ if hint.__module__ == "builtins" else f"{hint.__module__}.{hint.__qualname__}"


def adapter(hint: Any) -> TypeAdapter[list[Any]]:
    """A pydantic adapter for a JSON list of one `hint`.

    The list is there because pydantic takes a config for a list, but not for a dataclass alone.

    Raises:
        TypeHintResolutionError: `hint` reaches a forward reference that cannot be resolved.
        UnsupportedDepsTypeError: pydantic has no schema for `hint`.
    """
    try:
        found = TypeAdapter[list[Any]](_list_of(hint), config=JSON_CONFIG)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise UnsupportedDepsTypeError(type_name(hint), reason=_reason(error)) from error
    if not found.pydantic_complete:
        unresolved = ", ".join(unresolved_hints(hint)) or "a forward reference cannot be resolved"
        raise TypeHintResolutionError(type_name(hint), unresolved)
    return found


def check_type(hint: Any, path: str) -> bool:
    """Whether every forward reference in `hint` could be resolved; those that could not are logged and tolerated.

    Raises:
        UnsupportedDepsTypeError: `hint`, or something inside it, has no JSON form; it says where.
    """
    unresolved: list[str] = []
    _walk(hint, path, set(), unresolved)
    for place in unresolved:
        logger.warning("The type of %s cannot be resolved; it is assumed to be serialisable.", place)
    return not unresolved


def unresolved_hints(hint: Any) -> list[str]:
    """The places inside `hint` whose forward references cannot be resolved."""
    unresolved: list[str] = []
    with suppress(UnsupportedDepsTypeError):  # another error, reported when a schema is needed
        _walk(hint, type_name(hint), set(), unresolved)
    return unresolved


def fields_of(hint: Any) -> dict[str, Any] | None:
    """The fields of a dataclass, model, TypedDict or NamedTuple with their types; `None` for any other type.

    A type that cannot be resolved stays a string. Type variables are filled in from `Box[int]`.
    """
    origin = _class_of(hint)
    if origin is None:
        return None
    if issubclass(origin, BaseModel):
        origin.model_rebuild(raise_errors=False)
        return {name: field.annotation for name, field in cast("type[BaseModel]", hint).model_fields.items()}
    if not (dataclasses.is_dataclass(origin) or is_typeddict(origin) or is_namedtuple(origin)):
        return None
    hints = _resolved(origin)
    names = [field.name for field in dataclasses.fields(origin)] if dataclasses.is_dataclass(origin) else list(hints)
    parameters: tuple[Any, ...] = getattr(origin, "__parameters__", ())
    given = dict(zip(parameters, get_args(hint), strict=False))
    return {name: _filled_in(hints[name], given) for name in names}


def _walk(hint: Any, path: str, seen: set[Any], unresolved: list[str]) -> None:
    if isinstance(hint, str | ForwardRef):
        unresolved.append(f"{path} ({hint if isinstance(hint, str) else hint.__forward_arg__})")
        return None
    if hint is None or hint in (Any, object) or isinstance(hint, TypeVar):
        return None  # the values decide
    if hasattr(hint, "__value__"):  # `type Name = ...`, of which there is more than one class
        return _walk(hint.__value__, path, seen, unresolved)
    origin = get_origin(hint)
    if origin in _WRAPPERS:
        return _walk(get_args(hint)[0], path, seen, unresolved)
    if origin in (Union, types.UnionType):
        return _walk_all(get_args(hint), path, seen, unresolved)
    if origin is Literal:
        return None
    fields = fields_of(hint)
    if fields is not None:
        if hint in seen:
            return None
        seen.add(hint)
        _refuse_old_typed_dicts(origin or hint, path)
        _refuse_lost_arguments(origin or hint, path)
        for name, inner in fields.items():
            _walk(inner, f"{path}.{name}", seen, unresolved)
        return None
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping | Iterable):
        return _walk_all([arg for arg in get_args(hint) if arg is not ...], f"{path}[...]", seen, unresolved)
    return _refuse_live_objects(hint, path)


def _walk_all(hints: Iterable[Any], path: str, seen: set[Any], unresolved: list[str]) -> None:
    for hint in hints:
        _walk(hint, path, seen, unresolved)


def _refuse_lost_arguments(owner: type, path: str) -> None:
    """Raise for an `InitVar` without a default: its value is lost after `__init__`, which could not be called again."""
    if not dataclasses.is_dataclass(owner):
        return
    kept = {field.name for field in dataclasses.fields(owner)}
    for name, parameter in inspect.signature(owner).parameters.items():
        if name not in kept and parameter.default is parameter.empty and parameter.kind in _NAMED:
            raise UnsupportedDepsTypeError(
                "dataclasses.InitVar", f"{path}.{name}", "its value is not kept; give it a default"
            )


def _refuse_old_typed_dicts(owner: type, path: str) -> None:
    if sys.version_info < (3, 12) and is_typeddict(owner) and type(owner).__module__ == "typing":
        reason = "before Python 3.12, `TypedDict` must come from `typing_extensions`"
        raise UnsupportedDepsTypeError(type_name(owner), path, reason)


def _refuse_live_objects(hint: Any, path: str) -> None:
    if hint in CONTAINERS or (isinstance(hint, type) and issubclass(hint, enum.Enum)):
        return
    hint = cast("Any", hint)
    try:
        schema = cast("dict[str, Any]", TypeAdapter(hint).core_schema)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise UnsupportedDepsTypeError(type_name(hint), path, _reason(error)) from error
    if schema.get("schema", schema)["type"] in _LIVE:  # the schema of bare `type` is wrapped for its error message
        raise UnsupportedDepsTypeError(type_name(hint), path, "it is a live object")


def _resolved(owner: type) -> dict[str, Any]:
    """The type hints of `owner`; where a name is not known, the hint stays the string it was."""
    try:
        return get_type_hints(owner, include_extras=True)
    except NameError:
        return {
            name: _resolved_alone(raw, base)
            for base in reversed(owner.__mro__)
            for name, raw in inspect.get_annotations(base).items()
        }


def _resolved_alone(raw: Any, owner: type) -> Any:
    holder = type("holder", (), {"__annotations__": {"hint": raw}, "__module__": owner.__module__})
    try:
        return get_type_hints(holder, include_extras=True)["hint"]
    except NameError:
        return str(raw)


def _filled_in(hint: Any, given: Mapping[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return given.get(hint, hint)
    parameters: tuple[Any, ...] = getattr(hint, "__parameters__", ())
    if parameters and get_origin(hint) is not None:
        return hint[tuple(given.get(parameter, parameter) for parameter in parameters)]
    return hint


def _class_of(hint: Any) -> type[Any] | None:
    origin: Any = get_origin(hint) or hint
    return cast("type[Any]", origin) if isinstance(origin, type) else None


def _list_of(hint: Any) -> Any:
    return list.__class_getitem__(hint)


def _reason(error: Exception) -> str:
    if isinstance(error, PydanticSchemaGenerationError):
        return NO_FORM  # pydantic's message suggests allowing arbitrary types, which does not help here
    return str(error).splitlines()[0].rstrip(".")
