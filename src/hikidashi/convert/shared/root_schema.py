"""The root of an input schema, as Claude Code, the Anthropic API and MCP take it: one object, without a union.

Claude Code leaves out a tool with `anyOf`, `oneOf` or `allOf` at the root of its schema, and every tool of a server
if one root lacks `"type": "object"`; the API answers such a request with 400. A root that says the same in another
way (a `$ref`, an `allOf`, a union with `null`) is rewritten here, since arguments are always an object; what means
something else is refused. Everything below the root stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, cast
from urllib.parse import unquote

from ...errors import Unsupported
from ...tool import json_text

__all__ = ["root_schema"]

Schema = dict[str, Any]

_DEPTH = 200
"""Levels of nesting; pydantic, which writes the list of an MCP server, fails somewhat above."""

_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_OLD_DRAFT = re.compile(r"draft-0[3-7]")
_COMPOSITION = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_DEFINITIONS = ("$defs", "definitions")
_SAYS_NOTHING = frozenset({"title", "description", "default", "examples", "$comment", "deprecated"})
_STAYS_BEHIND = frozenset({*_DEFINITIONS, "$schema", "$anchor", "$dynamicAnchor", "$comment"})
_CONDITION = frozenset({"if", "then", "else"})
_MISSING = object()


class _Refused(Exception):  # noqa: N818 - never leaves this module
    """Why a root cannot be rewritten, and what to do about it."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.why = why
        self.remedy = remedy


_SHORTEST_DEEP = 2 * _DEPTH
"""The fewest characters of a schema that deep; shorter ones need no check."""

_ONE_OBJECT = 'Give it `"type": "object"` at the root, with one property for each argument.'
_WRAP_UNION = (
    "Put the union into a property: let the function take one argument of that type, or wrap the type in a model "
    "with one field. A tool that is not yours can only be left out."
)


def root_schema(schema: object, *, tool_name: str, target: str, for_claude: bool = True) -> Schema:
    """`schema` with one object at its root: `schema` itself where it has that already.

    Args:
        schema: the input schema of a tool.
        tool_name: the tool, for the error.
        target: where the tool goes, for the error.
        for_claude: whether a union at the root and the names of arguments are held to the rules of the Anthropic
            API; MCP itself has none for them.

    Raises:
        Unsupported: the root is not an object, is a union of several, or refers to something that is not in the
            schema; an argument has a name that the API refuses; or the schema is not JSON.
    """
    try:
        plain = _json(schema)
        flat = _with_object_root(plain, for_claude)
        _check_arguments(flat, for_claude)
    except _Refused as refused:
        raise Unsupported(f"the input schema of tool {tool_name!r}, {refused.why}", target, refused.remedy) from refused
    return flat


def _with_object_root(schema: Schema, for_claude: bool) -> Schema:
    unions = () if for_claude else ("anyOf", "oneOf", "allOf")  # which MCP itself carries
    if schema.get("type") == "object" and not any(key in schema for key in _COMPOSITION if key not in unions):
        return schema
    kept = {key: schema[key] for key in unions if key in schema}
    composed = {key: value for key, value in schema.items() if key not in kept}
    flat = {**_flat(composed, schema, frozenset({"#"}), is_root=True), **kept}
    if not _may_be_object(flat, schema):
        raise _Refused(f"whose root {_about_root(flat)}", _ONE_OBJECT)
    flat = {**({} if "type" in flat else {"type": "object"}), **flat, "type": "object"}
    _check_references(schema, flat)
    return flat


def _about_root(flat: Schema) -> str:
    return f"type is {flat['type']!r}" if "type" in flat else "allows no object"


def _flat(schema: object, document: Schema, seen: frozenset[str], *, is_root: bool = False) -> Schema:
    """`schema` without composition at its root; definitions of a part stay where they are."""
    if schema is True:
        return {}
    if not isinstance(schema, dict):
        raise _Refused(f"part of whose root is {schema!r}", _ONE_OBJECT)
    body = cast("Schema", schema)
    if not is_root and "$id" in body:
        raise _Refused(f"whose root is the schema {body['$id']!r}, with references of its own", _ONE_OBJECT)
    if dynamic := next((key for key in ("$dynamicRef", "$recursiveRef") if key in body), None):
        raise _Refused(f"whose root is a `{dynamic}`", _ONE_OBJECT)
    parts = [_flat(part, document, at) for part, at in _parts(body, document, seen)]
    left_out = _COMPOSITION if is_root else _COMPOSITION | _STAYS_BEHIND
    rest = {key: value for key, value in body.items() if key not in left_out}
    if "$ref" in body and _OLD_DRAFT.search(str(document.get("$schema"))):  # before 2019-09 the rest is ignored
        rest = {key: value for key, value in rest.items() if key in _SAYS_NOTHING | _STAYS_BEHIND}
    return reduce(_both, [*parts, rest], Schema())


def _parts(body: Schema, document: Schema, seen: frozenset[str]) -> Iterator[tuple[object, frozenset[str]]]:
    """The schemas that `body` is composed of, each with the references that led there."""
    if "$ref" in body:
        target, reference = _resolved(document, body["$ref"]), str(body["$ref"])
        if reference in seen:
            raise _Refused(f"whose root refers to itself ({reference!r})", _ONE_OBJECT)
        yield target, seen | {reference}
    for part in _list_of(body, "allOf"):
        yield part, seen
    for keyword in ("anyOf", "oneOf"):
        if keyword not in body:
            continue
        possible = [option for option in _list_of(body, keyword) if _may_be_object(option, document)]
        if len(possible) != 1:
            raise _Refused(f"which has `{keyword}` at its root", _WRAP_UNION)
        yield possible[0], seen


def _list_of(body: Schema, keyword: str) -> list[object]:
    value = body.get(keyword, [])
    if not isinstance(value, list):
        raise _Refused(f"whose `{keyword}` is {value!r}", "It must be a list of schemas.")
    return cast("list[object]", value)


def _may_be_object(option: object, document: Schema) -> bool:
    """Whether some object matches `option`; True if its type does not decide it."""
    for _ in range(_DEPTH):
        if not isinstance(option, dict) or "$ref" not in option:
            break
        option = _resolved(document, cast("Schema", option)["$ref"])
    if not isinstance(option, dict):
        return option is not False
    body = cast("Schema", option)
    if "type" in body:
        return "object" in _kinds(body["type"])
    if "const" in body:
        return isinstance(body["const"], dict)
    return not isinstance(body.get("enum"), list) or any(isinstance(value, dict) for value in body["enum"])


def _kinds(kind: object) -> list[object]:
    return cast("list[object]", kind) if isinstance(kind, list) else [kind]


# Merging two schemas that must both be valid


def _both(one: Schema, other: Schema) -> Schema:
    """A schema that is valid where both are; annotations of `other` take precedence."""
    if not one or not other:
        return one or other
    if (_is_closed(one) and _adds_arguments(one, other)) or (_is_closed(other) and _adds_arguments(other, one)):
        raise _Refused("where a part of the root forbids the arguments of another", _ONE_OBJECT)
    conditions = [{key: part[key] for key in _CONDITION if key in part} for part in (one, other)]
    if all(conditions) and conditions[0] != conditions[1]:
        raise _Refused("where two parts of the root have conditions", _ONE_OBJECT)
    merged = dict(one)
    for key, value in other.items():
        merged[key] = value if key not in one or key in _SAYS_NOTHING else _both_values(key, one[key], value)
    return merged


def _both_values(key: str, one: Any, other: Any) -> Any:
    if one == other:
        return one
    match key:
        case "properties" | "patternProperties" if isinstance(one, dict) and isinstance(other, dict):
            return _both_by_name(cast("Schema", one), cast("Schema", other))
        case "required" if isinstance(one, list) and isinstance(other, list):
            return list(dict.fromkeys(cast("list[Any]", one + other)))
        case "type":
            return [kind for kind in _kinds(cast("object", one)) if kind in _kinds(cast("object", other))]
        case _:
            raise _Refused(f"where two parts of the root have a `{key}` each", _ONE_OBJECT)


def _both_by_name(one: Schema, other: Schema) -> Schema:
    twice = {name for name in one.keys() & other.keys() if one[name] != other[name]}
    return {**one, **other, **{name: {"allOf": [one[name], other[name]]} for name in twice}}


def _is_closed(schema: Schema) -> bool:
    return any(schema.get(key, True) not in (True, {}) for key in ("additionalProperties", "unevaluatedProperties"))


def _adds_arguments(closed: Schema, other: Schema) -> bool:
    if other.get("patternProperties", {}) != closed.get("patternProperties", {}) and "patternProperties" in other:
        return True
    return not set(other.get("properties") or ()) <= set(closed.get("properties") or ())


# References


def _resolved(document: Schema, reference: object) -> object:
    found = _pointed_at(document, reference)
    if found is _MISSING:
        raise _Refused(
            f"whose root refers to {reference!r}, which is not in it",
            "Put what it refers to into `$defs`, and refer to it as `#/$defs/...`.",
        )
    return found


def _pointed_at(document: object, reference: object) -> object:
    """The target of a JSON pointer in a URI fragment; `_MISSING` for any other reference."""
    if reference == "#":
        return document
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return _MISSING
    found: Any = document
    for step in unquote(reference[2:]).split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = cast("dict[str, Any]", found)[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(cast("list[Any]", found)):
            found = cast("list[Any]", found)[int(key)]
        else:
            return _MISSING
    return found


def _check_references(before: Schema, after: Schema) -> None:
    """Raise unless every reference resolves to the same target as before; `#`, the root, does by construction."""
    for reference in set(_references(after)) - {"#"}:
        was = _pointed_at(before, reference)
        if was is not _MISSING and was != _pointed_at(after, reference):
            raise _Refused(
                f"which refers to {reference!r}, a part of its root",
                "Put what it refers to into `$defs`, and refer to it as `#/$defs/...`.",
            )


def _references(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        reference = cast("Mapping[str, Any]", value).get("$ref")
        if isinstance(reference, str):
            yield reference
        for item in cast("Mapping[str, Any]", value).values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _references(item)


# What every target requires of the result


def _json(schema: object) -> Schema:
    """`schema` as plain JSON without keywords that are null; the same object if nothing changes."""
    if not isinstance(schema, dict):
        raise _Refused(f"which is a {type(schema).__name__}", "It must be a JSON Schema object, a dict.")
    body = cast("Schema", schema)
    try:
        written = json.dumps(body, allow_nan=False)
    except TypeError:
        written = _rewritten(body)
        body = cast("Schema", json.loads(written))
    except ValueError as error:
        raise _Refused(f"which is not JSON ({error})", "Leave out NaN, infinities and circular references.") from error
    except RecursionError as error:
        raise _too_deep() from error
    if len(written) > _SHORTEST_DEEP and _deeper_than(body, _DEPTH):
        raise _too_deep()
    return {key: value for key, value in body.items() if value is not None} if None in body.values() else body


def _too_deep() -> _Refused:
    return _Refused(f"which is nested more than {_DEPTH} levels deep", "Refer to a definition in `$defs` instead.")


def _rewritten(schema: Schema) -> str:
    try:
        return json_text(schema)
    except Unsupported as error:
        raise _Refused(f"which holds {error.what}", "Leave it out, or write it as JSON.") from error


def _deeper_than(value: object, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        layer = [child for item in layer for child in _children(item)]
        if not layer:
            return False
    return True


def _children(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _check_arguments(schema: Schema, for_claude: bool) -> None:
    """Raise unless Claude Code can read the list of arguments; otherwise it drops every tool of the server."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict):
        raise _Refused(f"whose `properties` are {properties!r}", "They must be an object of schemas by name.")
    for name, value in cast("dict[str, Any]", properties).items():
        if not isinstance(value, dict | bool):
            raise _Refused(f"whose argument {name!r} is {value!r}", "It must be a schema, an object.")
        if for_claude and not _PROPERTY.fullmatch(str(name)):
            raise _Refused(
                f"whose argument {name!r} has a name that the Anthropic API refuses",
                "It takes 1 to 64 ASCII letters, digits, `_`, `.` and `-`: rename the argument.",
            )
    if not isinstance(required, list) or not all(isinstance(name, str) for name in cast("list[object]", required)):
        raise _Refused(f"whose `required` is {required!r}", "It must be a list of names.")
    if not isinstance(schema.get("$schema", ""), str):
        raise _Refused(f"whose `$schema` is {schema['$schema']!r}", "It must be a URI.")
