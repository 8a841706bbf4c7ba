"""Input schemas with one object at the root, which Claude Code and the Anthropic API want."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import BaseModel

from hikidashi import Unsupported
from hikidashi.convert.wire import root_schema

NODE: dict[str, Any] = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}},
    "required": ["value"],
}
DEFS: dict[str, Any] = {"Node": NODE, "Alias": {"$ref": "#/$defs/Node"}, "a/b~c": NODE}


def rewritten(schema: Any, **options: Any) -> dict[str, Any]:
    return root_schema(schema, tool_name="grow", target="Claude Code", **options)


class Tree(BaseModel):
    """A tree."""

    value: int
    branches: list[Tree] = []


@pytest.mark.parametrize(
    "schema",
    [{"type": "object"}, {"type": "object", "properties": {"a.b-c_1": True}, "not": {}, "if": {}, "$defs": DEFS}],
)
def test_a_root_that_is_an_object_is_the_schema_itself(schema: dict[str, Any]) -> None:
    assert rewritten(schema) is schema


def test_a_recursive_model_has_its_root_in_place_of_the_reference() -> None:
    schema = Tree.model_json_schema()
    assert schema["$ref"] == "#/$defs/Tree"
    assert rewritten(schema) == {**schema["$defs"]["Tree"], "$defs": schema["$defs"]}


REWRITTEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"type": "object"}),
    ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
    ({"properties": None, "required": None, "anyOf": None}, {"type": "object"}),
    ({"type": ["object", "null"]}, {"type": "object"}),
    ({"$ref": "#/$defs/Alias"}, NODE),
    ({"$ref": "#/$defs/a~1b~0c"}, NODE),
    ({"$ref": "#/$defs/a%7E1b~0c", "type": "object", "title": "T"}, {**NODE, "title": "T"}),
    ({"$ref": "#/$defs/Node", "required": ["next"]}, {**NODE, "required": ["value", "next"]}),
    (
        {"$ref": "#/$defs/Node", "properties": {"value": {"minimum": 1}, "more": True}},
        {
            **NODE,
            "properties": {
                "value": {"allOf": [{"type": "integer"}, {"minimum": 1}]},
                "next": {"$ref": "#/$defs/Node"},
                "more": True,
            },
        },
    ),
    (
        {"allOf": [{"patternProperties": {"^a": {}}, "additionalProperties": False}], "required": ["a"]},
        {"type": "object", "patternProperties": {"^a": {}}, "additionalProperties": False, "required": ["a"]},
    ),
    ({"allOf": []}, {"type": "object"}),
    ({"allOf": [True, {"$ref": "#/$defs/Node"}], "description": "d"}, {**NODE, "description": "d"}),
    ({"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}, NODE),
    ({"oneOf": [{"const": 3}, {"enum": ["a"]}, False, NODE, {"type": ["string", "null"]}]}, NODE),
    ({"allOf": [{"allOf": [{"anyOf": [{"$ref": "#/$defs/Alias"}]}]}]}, NODE),
    (
        {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/$defs/Node", "required": ["next"]},
        {**NODE, "$schema": "http://json-schema.org/draft-07/schema#"},  # which ignores what stands beside `$ref`
    ),
]


@pytest.mark.parametrize(
    ("root", "expected"),
    REWRITTEN,
)
def test_a_root_that_says_the_same_in_another_way_is_rewritten(root: dict[str, Any], expected: dict[str, Any]) -> None:
    assert rewritten({**root, "$defs": DEFS}) == {**expected, "$defs": DEFS}


UNION = "Put the union into a property: let the function take one argument of that type"
ARGUMENTS = 'Give it `"type": "object"` at the root, with one property for each argument'


REFUSED: list[tuple[Any, str, str]] = [
    (True, "which is a bool", "a dict"),
    ([], "which is a list", "a dict"),
    ({"type": "array"}, "whose root type is 'array'", ARGUMENTS),
    ({"type": ["string", "null"]}, r"whose root type is \['string', 'null'\]", ARGUMENTS),
    ({"const": 1}, "whose root allows no object", ARGUMENTS),
    ({"anyOf": [NODE, {"type": "object"}]}, "which has `anyOf` at its root", UNION),
    ({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "which has `oneOf`", UNION),
    ({"oneOf": []}, "which has `oneOf`", UNION),
    ({"anyOf": NODE}, "whose `anyOf` is", "a list of schemas"),
    ({"allOf": [3]}, "part of whose root is 3", ARGUMENTS),
    ({"$ref": "#"}, "whose root refers to itself", ARGUMENTS),
    ({"$ref": "#/$defs/A", "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}}, "refers to itself", ARGUMENTS),
    ({"$ref": "https://example.com/a.json"}, "which is not in it", r"into `\$defs`"),
    ({"$ref": "#/$defs/Lost", "$defs": {}}, "'#/\\$defs/Lost', which is not in it", r"into `\$defs`"),
    ({"$ref": "#/allOf/7", "allOf": [{}]}, "which is not in it", r"into `\$defs`"),
    ({"$ref": "#named", "$defs": {"A": {"$anchor": "named"}}}, "which is not in it", r"into `\$defs`"),
    ({"$ref": 3}, "refers to 3", r"into `\$defs`"),
    ({"$dynamicRef": "#node"}, "whose root is a `\\$dynamicRef`", ARGUMENTS),
    ({"allOf": [{"$id": "other.json"}]}, "'other.json', with references of its own", ARGUMENTS),
    (
        {"allOf": [{"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}}]},
        "forbids the arguments of another",
        ARGUMENTS,
    ),
    (
        {"allOf": [{"additionalProperties": False}], "patternProperties": {"^a": {}}},
        "forbids the arguments of another",
        ARGUMENTS,
    ),
    ({"allOf": [{"if": {"required": ["a"]}, "then": False}], "else": False}, "have conditions", ARGUMENTS),
    ({"allOf": [{"maxProperties": 1}, {"maxProperties": 2}]}, "have a `maxProperties` each", ARGUMENTS),
    (
        {"allOf": [{"properties": {"a": {}}}], "properties": {"b": {"$ref": "#/allOf/0/properties/a"}}},
        "a part of its root",
        r"into `\$defs`",
    ),
    ({"properties": []}, "whose `properties` are \\[\\]", "an object"),
    ({"properties": {"a": "string"}}, "whose argument 'a' is 'string'", "a schema"),
    ({"properties": {"a b": {}}}, "'a b' has a name that the Anthropic API refuses", "rename the argument"),
    ({"properties": {"検索": {}}}, "'検索' has a name", "rename the argument"),
    ({"properties": {"n" * 65: {}}}, "has a name", "rename the argument"),
    ({"properties": {"": {}}}, "has a name", "rename the argument"),
    ({"required": "a"}, "whose `required` is 'a'", "a list of names"),
    ({"required": [1]}, "whose `required` is", "a list of names"),
    ({"$schema": 3}, "whose `\\$schema` is 3", "a URI"),
    ({"default": float("nan")}, "which is not JSON", "Leave out NaN"),
    ({"default": object()}, "which holds a builtins.object", "write it as JSON"),
]


@pytest.mark.parametrize(
    ("schema", "why", "remedy"),
    REFUSED,
)
def test_a_root_that_cannot_be_one_object_is_refused_with_the_tool_and_the_remedy(
    schema: Any, why: str, remedy: str
) -> None:
    said = f"(?s)^Claude Code cannot express the input schema of tool 'grow',.*{why}.*{remedy}"
    with pytest.raises(Unsupported, match=said):
        rewritten(schema)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return {"type": "object", "properties": {"a": schema}}


def test_a_schema_deeper_than_its_list_can_be_written_is_refused() -> None:
    circle: dict[str, Any] = {"type": "object"}
    circle["properties"] = {"again": circle}
    assert rewritten(nested(190))
    for schema in (nested(250), nested(100_000)):
        with pytest.raises(Unsupported, match="nested more than 200 levels deep"):
            rewritten(schema)
    with pytest.raises(Unsupported, match="Circular reference"):
        rewritten(circle)


def test_defaults_that_only_python_knows_are_written_as_json() -> None:
    assert rewritten({"type": "object", "default": {"a": {1}}})["default"] == {"a": [1]}


def test_mcp_itself_takes_unions_and_any_names_of_arguments() -> None:
    union: dict[str, Any] = {"anyOf": [NODE, {"type": "object"}], "properties": {"検索": {}}}
    assert rewritten(union, for_claude=False) == {"type": "object", **union}
    assert rewritten({"$ref": "#/$defs/Node", "$defs": DEFS}, for_claude=False) == {**NODE, "$defs": DEFS}


names: st.SearchStrategy[str] = st.sampled_from(["a", "b", "c"])
leaves: st.SearchStrategy[Any] = st.sampled_from(
    [{"type": "integer"}, {"type": "string"}, {"minimum": 3}, True, {"type": ["integer", "null"]}]
)
parts: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", ["object", "null"], "object"]),
        "properties": st.dictionaries(names, leaves, max_size=2),
        "required": st.lists(names, max_size=2, unique=True),
        "additionalProperties": st.sampled_from([True, False, {"type": "integer"}]),
        "minProperties": st.integers(0, 2),
        "title": st.sampled_from(["T", "U"]),
        "if": st.just({"required": ["a"]}),
        "then": st.just({"required": ["b"]}),
    },
)
references: st.SearchStrategy[Any] = st.sampled_from(
    [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}, {"$ref": "#"}, {"type": "null"}, True]
)
composed: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
        "allOf": st.lists(parts | references, max_size=2),
        "anyOf": st.lists(parts | references, min_size=1, max_size=2),
        "oneOf": st.lists(parts | references, min_size=1, max_size=2),
    },
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A schema, two definitions, and references between all three."""
    two = draw(parts) | draw(composed)
    return draw(parts) | draw(composed) | {"$defs": {"one": draw(parts), "two": two}}


values: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    names, st.integers(0, 5) | st.just("x") | st.none(), max_size=3
)


@settings(max_examples=300)
@given(documents(), st.lists(values, min_size=1, max_size=8))
def test_what_is_rewritten_allows_the_same_arguments(document: dict[str, Any], arguments: list[dict[str, Any]]) -> None:
    before = repr(document)
    try:
        schema = rewritten(document)
    except Unsupported:
        return
    assert repr(document) == before
    assert schema["type"] == "object"
    assert not schema.keys() & {"$ref", "allOf", "anyOf", "oneOf"}
    assert rewritten(schema) is schema
    was, now = cast("Any", Draft202012Validator(document)), cast("Any", Draft202012Validator(schema))
    assert [now.is_valid(value) for value in arguments] == [was.is_valid(value) for value in arguments]


keywords = st.sampled_from(
    ["type", "$ref", "$defs", "allOf", "anyOf", "oneOf", "properties", "required", "additionalProperties", "$id", "if"]
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300)
@given(st.dictionaries(keywords, json_values | st.sampled_from(["object", "#", "#/$defs"]), max_size=5))
def test_any_value_is_rewritten_or_refused(schema: dict[str, Any]) -> None:
    try:
        result = rewritten(schema)
    except Unsupported:
        return
    assert result["type"] == "object"
    try:
        Draft202012Validator.check_schema(result)
    except SchemaError:  # below the root everything stays as it is
        assert result != {"type": "object"}
