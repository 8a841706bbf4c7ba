"""JSON Schemas of arguments, shortened step by step; each step is a valid schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

__all__ = ["compact_schema", "shallow_schema", "smaller_schemas"]

_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS_OF_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ANNOTATIONS = frozenset({"examples", "example", "$comment", "default", "deprecated", "markdownDescription"})
_SOME_VALUES = 8
_DEEPEST = 60  # deeper levels do not help a model, recursion is limited, and strands leaves a deeper tool out
_DEEPER = "Deeper levels are left out here."

_Change = Callable[[dict[str, Any], int], dict[str, Any]]


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without `$schema` and generated titles; a property named `title` stays."""
    return _changed(schema, lambda part, _: part, 0)


def shallow_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` itself, or without its levels below the sixtieth."""
    layer: list[Any] = [schema]
    for _ in range(_DEEPEST + 1):
        layer = [inner for part in layer for inner in _parts(part)]
        if not layer:
            return schema
    return compact_schema(schema)


def smaller_schemas(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """`schema`, then ever shorter versions: less of descriptions, annotations, enums, deep levels, arguments."""
    yield compact_schema(schema)
    for length in (200, 60, 0):
        yield _changed(schema, _describing(length), 0)
    bare = _changed(schema, _without_annotations, 0)
    yield bare
    for depth in (4, 3, 2, 1):
        yield _flattened(bare, depth)
    properties = bare.get("properties")
    if not isinstance(properties, dict):
        yield {"type": "object"}
        return
    named = cast("dict[str, Any]", properties)
    wanted = bare.get("required")
    listed = cast("list[Any]", wanted) if isinstance(wanted, list) else []
    required = [name for name in listed if isinstance(name, str) and name in named]
    order = [*required, *(name for name in named if name not in set(required))]
    kept = len(order)
    while kept:
        kept //= 2
        few = {name: _type_of(named[name]) for name in order[:kept]}
        yield {
            "type": "object",
            "properties": few,
            "required": [name for name in required if name in few],
            "description": f"{len(order) - kept:,} of {len(order):,} arguments are left out here.",
        }


def _changed(schema: Mapping[str, Any], change: _Change, depth: int) -> dict[str, Any]:
    """`schema` with `change` applied to each subschema, the innermost first."""
    if depth > _DEEPEST:
        return {"description": _DEEPER}
    part: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$schema" or (key == "title" and isinstance(value, str)):
            continue
        if key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            part[key] = {name: _inner(inner, change, depth) for name, inner in named.items()}
        elif key in _SCHEMAS:
            part[key] = _inner(value, change, depth)
        elif key in _LISTS_OF_SCHEMAS and isinstance(value, list):
            part[key] = [_inner(inner, change, depth) for inner in cast("list[Any]", value)]
        else:
            part[key] = value
    return change(part, depth)


def _parts(schema: Any) -> Iterator[Any]:
    """The schemas directly inside of `schema`."""
    if not isinstance(schema, Mapping):
        return
    for key, value in cast("Mapping[str, Any]", schema).items():
        if key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            yield from cast("Mapping[str, Any]", value).values()
        elif key in _SCHEMAS:
            yield value
        elif key in _LISTS_OF_SCHEMAS and isinstance(value, list):
            yield from cast("list[Any]", value)


def _inner(schema: Any, change: _Change, depth: int) -> Any:
    return _changed(cast("Mapping[str, Any]", schema), change, depth + 1) if isinstance(schema, Mapping) else schema


def _describing(length: int) -> _Change:
    def change(part: dict[str, Any], _: int) -> dict[str, Any]:
        description = part.get("description")
        if not isinstance(description, str) or len(description) <= length:
            return part
        if length:
            return {**part, "description": description[: length - 1].rstrip() + "…"}
        return {key: value for key, value in part.items() if key != "description"}

    return change


def _without_annotations(part: dict[str, Any], _: int) -> dict[str, Any]:
    """Without descriptions and examples; a long enum becomes a few examples, so that all values stay allowed."""
    plain = {key: value for key, value in part.items() if key not in _ANNOTATIONS and key != "description"}
    values = plain.get("enum")
    if isinstance(values, list) and len(cast("list[Any]", values)) > _SOME_VALUES:
        del plain["enum"]
        few = cast("list[Any]", values)[:_SOME_VALUES]
        kinds = {"type": "string"} if all(isinstance(value, str) for value in few) else {}
        plain = {**kinds, **plain, "description": f"One of {len(cast('list[Any]', values))} values.", "examples": few}
    return plain


def _flattened(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    """`schema` down to `depth`; deeper levels keep their type alone, without references to definitions."""

    def change(part: dict[str, Any], at: int) -> dict[str, Any]:
        return part if at < depth else _type_of(part)

    cut = _changed(schema, change, 0)
    return {key: value for key, value in cut.items() if key not in ("$defs", "definitions", "$ref") or depth > 1}


def _type_of(schema: Any) -> dict[str, Any]:
    kind = cast("Mapping[str, Any]", schema).get("type") if isinstance(schema, Mapping) else None
    return {} if kind is None else {"type": kind}
