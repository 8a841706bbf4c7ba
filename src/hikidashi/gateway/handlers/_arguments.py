"""Arguments that a schema certainly does not allow, named for the model.

Only an explanation of an error that a server gave: calls are never refused here, since servers accept more than their
schemas say (`"3"` for a number).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

__all__ = ["argument_problems"]

_MAX_PROBLEMS = 5

_IS_OF_TYPE: dict[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1,
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def argument_problems(schema: object, arguments: Mapping[str, Any]) -> list[str]:
    """What is wrong with `arguments`, as far as plain keywords of `schema` decide it; at most five problems.

    Whatever a JSON Schema validator accepts has no problems. Values are not quoted: they may be secrets.
    """
    given = _plain(schema)
    if given is None:
        return []
    properties = _object(given.get("properties"))
    required: object = given.get("required")
    problems = [
        f"{name!r} is missing"
        for name in (cast("list[object]", required) if isinstance(required, list) else [])
        if isinstance(name, str) and name not in arguments
    ]
    for name, value in arguments.items():
        if name in properties:
            problems += [f"{name!r} {problem}" for problem in _value_problems(properties[name], value)]
        elif given.get("additionalProperties") is False and "patternProperties" not in given:
            problems.append(f"there is no {name!r}")
    return problems[:_MAX_PROBLEMS]


def _value_problems(schema: object, value: object) -> list[str]:
    given = _plain(schema)
    if given is None:
        return []
    allowed: object = given.get("type")
    types = cast("list[object]", allowed) if isinstance(allowed, list) else [allowed]
    checks = [_IS_OF_TYPE[name] for name in types if isinstance(name, str) and name in _IS_OF_TYPE]
    if len(checks) == len(types) > 0 and not any(check(value) for check in checks):
        return [f"must be of type {' or '.join(map(str, types))}"]
    choices: object = given.get("enum")
    if isinstance(choices, list) and choices and value not in cast("list[object]", choices):
        return [f"must be one of {cast('list[object]', choices)[:20]!r}"]
    return []


def _plain(schema: object) -> dict[str, Any] | None:
    """`schema`, if its keywords mean the same in every draft since 4: a `$ref` hides its siblings up to draft 7."""
    given = _object(schema)
    if not given or "$ref" in given or "draft-03" in str(given.get("$schema", "")):
        return None
    return given


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
