"""The check behind `serialize_deps`: a value must survive a round trip through JSON.

Type hints alone cannot show that. So a value is serialised, read back by its own type, and compared
part by part. Messages name paths and types, never contents: dependencies hold secrets.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from numbers import Number
from typing import Any, TypeVar, Union, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from ...common.validation import without_prefix
from ...errors import UnsupportedDepsTypeError
from .types import CONTAINERS, adapter, check_type, fields_of, is_namedtuple, type_name


def checked_json(value: object, path: str) -> str:
    """`value` as JSON text from which it was rebuilt as a check.

    Plain containers declare no types, so each item is checked by its own type. A value whose type hints
    cannot be resolved is serialised by its runtime type, without the check.

    Raises:
        UnsupportedDepsTypeError: something inside `value` has no JSON form, or comes back changed; it says where.
    """
    try:
        return _checked(value, path)
    except RecursionError as error:
        raise _refused(value, path, "it refers to itself, or is nested too deeply") from error


def _checked(value: Any, path: str) -> str:
    if type(value) is dict:
        items = cast("dict[Any, Any]", value).items()
        return (
            "{" + ",".join(f"{_checked_key(key, path)}:{_checked(item, _at(path, key))}" for key, item in items) + "}"
        )
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
        raise _refused(
            value, path, "JSON has no form for it" if "unknown type" in str(error) else str(error)
        ) from error


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
        held = cast("dict[str, Any]", cast("Any", value)._asdict())
    elif isinstance(value, Mapping):
        return {key: (_at("", key), part) for key, part in cast("Mapping[Any, Any]", value).items()}
    elif isinstance(value, CONTAINERS):
        return {index: (_at("", index), part) for index, part in enumerate(cast("list[Any]", value))}
    else:
        return None
    return {name: (f".{name}", part) for name, part in held.items()}


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
        return dict[_any_of(value), _any_of(cast("dict[Any, Any]", value).values())]
    if type(value) is tuple:
        return tuple[tuple(_described(item) for item in cast("tuple[Any, ...]", value))]
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
    if isinstance(value, Mapping) and len(arguments) == 2:
        for item in cast("Mapping[Any, Any]", value).items():
            pairs += zip(arguments, item, strict=True)
    elif isinstance(value, CONTAINERS) and arguments:
        pairs = [(arguments[0], item) for item in cast("list[Any]", value)]
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
