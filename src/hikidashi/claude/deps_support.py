"""Dependencies of tools that Claude Code runs: check, serialise, deserialise, provide to a tool.

Everything goes through one check, so what passes it can be serialised and comes back equal. pydantic
rebuilds the values: dacite, which spec 002 names, cannot restore dates, enums, sets or bytes from JSON
without a hook for each.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import logging
import math
import sys
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from numbers import Number
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Generic,
    Literal,
    NotRequired,
    Required,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import ReadOnly, is_typeddict

from ..common.exceptions import without_prefix
from ..common.json import is_mapping, is_object
from ..errors import DepsJSONError, TypeHintResolutionError, UnsupportedDepsTypeError

__all__ = ["DepsContext", "check_deps", "deserialize_deps", "serialize_deps"]

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
    return hasattr(kind, "_fields") and issubclass(kind, tuple)


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
    listed: Any = list.__class_getitem__(hint)
    try:
        found = TypeAdapter[list[Any]](listed, config=JSON_CONFIG)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise UnsupportedDepsTypeError(type_name(hint), reason=_reason(error)) from error
    if not found.pydantic_complete:
        places: list[str] = []
        with suppress(UnsupportedDepsTypeError):  # the unresolved hint is the first thing to mend
            places.extend(_unresolved(hint, type_name(hint), set()))
        raise TypeHintResolutionError(type_name(hint), ", ".join(places) or "a forward reference cannot be resolved")
    return found


def check_type(hint: Any, path: str) -> bool:
    """Whether every forward reference in `hint` could be resolved; those that could not are logged and tolerated.

    Raises:
        UnsupportedDepsTypeError: `hint`, or something inside it, has no JSON form; it says where.
    """
    unresolved = list(_unresolved(hint, path, set()))
    for place in unresolved:
        logger.warning("The type of %s cannot be resolved; it is assumed to be serialisable.", place)
    return not unresolved


def fields_of(hint: Any) -> dict[str, Any] | None:
    """The fields of a dataclass, model, TypedDict or NamedTuple with their types; `None` for any other type.

    A type that cannot be resolved stays a string. Type variables are filled in from `Box[int]`.
    """
    origin: Any = get_origin(hint) or hint
    if not inspect.isclass(origin):
        return None
    if issubclass(origin, BaseModel):
        origin.model_rebuild(raise_errors=False)
        return {name: field.annotation for name, field in hint.model_fields.items()}
    if not (dataclasses.is_dataclass(origin) or is_typeddict(origin) or is_namedtuple(origin)):
        return None
    hints = _resolved(origin)
    names = [field.name for field in dataclasses.fields(origin)] if dataclasses.is_dataclass(origin) else list(hints)
    parameters: tuple[Any, ...] = getattr(origin, "__parameters__", ())
    given = dict(zip(parameters, get_args(hint), strict=False))
    return {name: _filled_in(hints[name], given) for name in names}


def _unresolved(hint: Any, path: str, seen: set[Any]) -> Iterator[str]:
    """The places inside `hint` whose forward references cannot be resolved.

    Raises:
        UnsupportedDepsTypeError: something inside it has no JSON form.
    """
    origin = get_origin(hint)
    inner: list[tuple[str, Any]] = []
    if isinstance(hint, str | ForwardRef):
        yield f"{path} ({hint if isinstance(hint, str) else hint.__forward_arg__})"
    elif hint is None or hint in (Any, object) or isinstance(hint, TypeVar) or origin is Literal:
        pass  # the values decide
    elif hasattr(hint, "__value__"):  # `type Name = ...`, of which there is more than one class
        inner = [(path, hint.__value__)]
    elif origin in _WRAPPERS:
        inner = [(path, get_args(hint)[0])]
    elif origin in (Union, types.UnionType):
        inner = [(path, part) for part in get_args(hint)]
    elif (fields := fields_of(hint)) is not None:
        if hint not in seen:
            seen.add(hint)
            _refuse_old_typed_dicts(origin or hint, path)
            _refuse_lost_arguments(origin or hint, path)
            inner = [(f"{path}.{name}", part) for name, part in fields.items()]
    elif isinstance(origin, type) and issubclass(origin, Mapping | Iterable):
        inner = [(f"{path}[...]", part) for part in get_args(hint) if part is not ...]
    else:
        _refuse_live_objects(hint, path)
    for place, part in inner:
        yield from _unresolved(part, place, seen)


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
    if hint in CONTAINERS or (inspect.isclass(hint) and issubclass(hint, enum.Enum)):
        return
    try:
        schema: Any = TypeAdapter[Any](hint).core_schema
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


def _reason(error: Exception) -> str:
    if isinstance(error, PydanticSchemaGenerationError):
        return NO_FORM  # pydantic's message suggests allowing arbitrary types, which does not help here
    return str(error).splitlines()[0].rstrip(".")


# The check behind `serialize_deps`: a value must survive a round trip through JSON.
#
# Type hints alone cannot show that. So a value is serialised, read back by its own type, and compared
# part by part. Plain containers declare no types, so each item is checked by its own type. A value whose type hints
# cannot be resolved is serialised by its runtime type, without the check. Messages name paths and types, never
# contents: dependencies hold secrets.


def _checked(value: Any, path: str) -> str:
    if is_object(value) and type(value) is dict:
        items = [f"{_checked_key(key, path)}:{_checked(item, _at(path, key))}" for key, item in value.items()]
        return "{" + ",".join(items) + "}"
    if type(value) in CONTAINERS:
        return "[" + ",".join(_checked(item, _at(path, index)) for index, item in enumerate(value)) + "]"
    _refuse_unwritable(value, path)
    hint = _described(value)
    if not check_type(hint, path):
        return _written(value)
    return _proven(value, hint, path)


def _checked_key(key: Any, path: str) -> str:
    try:
        text = _proven({key: None}, dict[type(key), None], path)
    except UnsupportedDepsTypeError as error:
        raise _refused(key, path, "it is a key there, and cannot be read back from text") from error
    return text.removeprefix("{").removesuffix(":null}")


def _proven(value: Any, hint: Any, path: str) -> str:
    reader = adapter(hint)
    try:
        if isinstance(value, BaseModel):
            text = value.model_dump_json(warnings="none")
        else:
            text = reader.dump_json([value], warnings="none").decode()[1:-1]
        [back] = reader.validate_json(f"[{text}]", by_alias=True, by_name=True)
    except PydanticSerializationError as error:
        raise _refused(value, path, str(error)) from error
    except ValidationError as error:
        place, reason = first_problem(error)
        raise _refused(value, path + place, f"what JSON keeps of it cannot be read back: {reason}") from error
    _refuse_change(value, back, path)
    return text


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Where, inside a list of one, the JSON did not fit, and why; without the JSON itself."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in problem["loc"][1:])
    return place, without_prefix(problem["msg"])


def _refuse_unwritable(value: Any, path: str) -> None:
    """Raise for the innermost object that has no JSON form, by runtime types rather than type hints."""
    parts = _parts(value)
    if parts is not None:
        for place, part in parts.values():
            _refuse_unwritable(part, path + place)
        return
    try:
        _written(value)
    except PydanticSerializationError as error:
        raise _refused(value, path, NO_FORM if "unknown type" in str(error) else str(error)) from error


def _refuse_change(before: Any, after: Any, path: str) -> None:
    if not _same_kind(before, after):
        raise _refused(before, path, f"it comes back as {type_name(_kind(after))}; declare its type")
    old, new = _parts(before), _parts(after)
    if old is None or new is None or _kind(before) in (set, frozenset):
        if not _equal(before, after):
            raise _refused(before, path, "it comes back with another value")
        return
    if old.keys() != new.keys():
        raise _refused(before, path, "it comes back with other parts")
    for key, (place, part) in old.items():
        _refuse_change(part, new[key][1], path + place)


def _parts(value: Any) -> dict[Any, tuple[str, Any]] | None:
    """The parts of `value` by key, each with its path; `None` if it is not a container."""
    if isinstance(value, BaseModel):
        held = {name: getattr(value, name) for name in type(value).model_fields}
        held |= (value.__pydantic_extra__ or {}) | (value.__pydantic_private__ or {})
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        held = {name: getattr(value, name) for name in names if hasattr(value, name)}
    elif is_namedtuple(_kind(value)):
        held = _kind(value)._asdict(value)
    elif is_mapping(value):
        return {key: (_at("", key), part) for key, part in value.items()}
    elif _is_container(value):
        return {index: (_at("", index), part) for index, part in enumerate(value)}
    else:
        return None
    return {name: (f".{name}", part) for name, part in held.items()}


def _is_container(value: object) -> TypeGuard[Collection[Any]]:
    return isinstance(value, CONTAINERS)


def _kind(value: object) -> type[Any]:
    return type(value)


def _same_kind(before: Any, after: Any) -> bool:
    if isinstance(before, BaseModel):  # `Box` and `Box[int]` are one kind
        return _generic_origin(type(before)) is _generic_origin(type(after))
    return type(before) is type(after) or (isinstance(before, Number) and isinstance(after, Number))


def _generic_origin(kind: Any) -> Any:
    metadata: dict[str, Any] = getattr(kind, "__pydantic_generic_metadata__", {})
    return metadata.get("origin") or kind


def _equal(before: Any, after: Any) -> bool:
    if isinstance(before, float) and math.isnan(before):
        return math.isnan(after)
    return bool(before == after)


def _described(value: Any) -> Any:
    """The type that brings `value` back, with the type variables of a generic class filled in from what it holds."""
    if (generic := getattr(value, "__orig_class__", None)) is not None:  # made as `Box[int](...)`
        return generic
    kind: Any = _kind(value)
    if type(value) is dict:
        return dict[_any_of(value), _any_of(value.values())]
    if kind is tuple:
        return tuple[tuple(_described(item) for item in value)]
    if type(value) in CONTAINERS:
        return kind[_any_of(value)]
    if isinstance(value, BaseModel):
        parameters = kind.__pydantic_generic_metadata__["parameters"]
    else:
        parameters = getattr(kind, "__parameters__", ())
    fields = fields_of(kind)
    if not parameters or fields is None:
        return kind
    found: dict[Any, Any] = {}
    for name, hint in fields.items():
        _bind(hint, getattr(value, name, None), found)
    return kind[tuple(found.get(parameter, Any) for parameter in parameters)]


def _any_of(values: Any) -> Any:
    return Union[tuple(_described(value) for value in values)] if values else Any  # noqa: UP007 - made at run time


def _bind(hint: Any, value: Any, found: dict[Any, Any]) -> None:
    """Record the types that `value` implies for the type variables in `hint`."""
    if isinstance(hint, TypeVar):
        seen = _described(value)
        found[hint] = Union[found.get(hint, seen), seen]  # noqa: UP007 - made at run time
        return
    arguments = get_args(hint)
    pairs: list[tuple[Any, Any]] = []
    if is_mapping(value) and len(arguments) == 2:
        for item in value.items():
            pairs += zip(arguments, item, strict=True)
    elif _is_container(value) and arguments:
        pairs = [(arguments[0], item) for item in value]
    elif value is not None:  # `T | None`
        pairs = [(argument, value) for argument in arguments if isinstance(argument, TypeVar)]
    for argument, item in pairs:
        _bind(argument, item, found)


def _written(value: Any) -> str:
    return to_json(value, bytes_mode="base64", inf_nan_mode="strings").decode()


def _at(path: str, key: object) -> str:
    return f"{path}[{key!r}]"


def _refused(value: object, path: str, reason: str) -> UnsupportedDepsTypeError:
    return UnsupportedDepsTypeError(type_name(type(value)), path, reason)


# What the spec offers


T = TypeVar("T")
DepsT_co = TypeVar("DepsT_co", covariant=True)


class DepsContext(Generic[DepsT_co]):
    """What a tool gets as its `RunContext` when Claude Code runs it: `deps`, and nothing else.

    **Experimental**: this class may change in any release.

    A tool written for `ctx: RunContext[Config]` that reads `ctx.deps` works with it unchanged. Other attributes
    of a `RunContext` belong to a live pydantic-ai run, which is not there; reading one raises an `AttributeError`
    that says so.

    Raises:
        UnsupportedDepsTypeError: `deps` cannot be serialised; `path` says which part.
    """

    __slots__ = ("_deps",)

    def __init__(self, deps: DepsT_co) -> None:
        check_deps(deps)
        self._deps = deps

    @property
    def deps(self) -> DepsT_co:
        """The dependencies, the same object that was given."""
        return self._deps

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"`ctx.{name}` is not available: this tool runs inside Claude Code with a `DepsContext`, which has `deps` "
            'only. Use `ClaudeCodeModel(tool_execution="agent")` to run it with a full `RunContext`.',
            name=name,
            obj=self,
        )

    def __repr__(self) -> str:
        return f"DepsContext(<{type_name(type(self._deps))}>)"  # deps hold secrets: name them, do not show them


def check_deps(deps: object) -> None:
    """Raise unless `serialize_deps(deps)` works and `deserialize_deps` rebuilds an equal value from it.

    The check looks at values as well as types, at any depth. Type hints that cannot be resolved are logged as a
    warning and assumed to be serialisable; `deserialize_deps`, which needs them, raises.

    Raises:
        UnsupportedDepsTypeError: something inside `deps` is not serialisable; `path` says where.
    """
    serialize_deps(deps)


def serialize_deps(deps: object) -> str:
    """`deps` as JSON text from which `deserialize_deps` rebuilds an equal value.

    A pydantic model is its `model_dump_json()`. Everything else follows pydantic too, with bytes as URL-safe base64
    and NaN and infinities as strings.

    Raises:
        UnsupportedDepsTypeError: `check_deps` refuses `deps`.
    """
    try:
        return _checked(deps, "deps")
    except RecursionError as error:
        raise _refused(deps, "deps", "it refers to itself, or is nested too deeply") from error


@overload
def deserialize_deps(json_str: str, deps_type: type[T]) -> T: ...
@overload
def deserialize_deps(json_str: str, deps_type: Any) -> Any: ...
def deserialize_deps(json_str: str, deps_type: Any) -> Any:
    """The `deps_type` that `serialize_deps` wrote as `json_str`.

    Args:
        json_str: what `serialize_deps` returned.
        deps_type: a class, or any other type: `dict[str, date]`, `Box[int]`, `Config | None`.

    Raises:
        DepsJSONError: `json_str` is not JSON, or describes something else.
        TypeHintResolutionError: `deps_type` has type hints that cannot be resolved.
        UnsupportedDepsTypeError: `deps_type` has no JSON form.
    """
    check_type(deps_type, "deps")
    reader = adapter(deps_type)
    if not isinstance(json_str, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DepsJSONError(type_name(deps_type), "deps", f"it is a {type(json_str).__name__}, not text")
    try:
        values = reader.validate_json(f"[{json_str}]", by_alias=True, by_name=True)
    except ValidationError as error:
        place, reason = first_problem(error)
        raise DepsJSONError(type_name(deps_type), f"deps{place}", reason) from error
    if len(values) != 1:
        raise DepsJSONError(type_name(deps_type), "deps", f"{len(values)} values instead of one")
    return values[0]
