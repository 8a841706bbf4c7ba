"""How long the answer to a search may be, whatever the tools are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.search.answers import (
    AnswerBudget,
    budget_of,
    compact_schema,
    definition_line,
    short_line,
    smaller_schemas,
    tokens_of,
)
from hikidashi.search.engine.entry import Entry, entry_of

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


def entry(name: str, description: str = "Does it.", schema: dict[str, Any] | None = None) -> Entry:
    return entry_of({"name": name, "description": description, "input_schema": OBJECT if schema is None else schema})


def arguments(count: int, **fields: Any) -> dict[str, Any]:
    properties = {f"argument_{n}": {"type": "string", **fields} for n in range(count)}
    return {"type": "object", "properties": properties, "required": ["argument_0", f"argument_{count - 1}"]}


def test_what_fits_is_shown_whole_and_the_rest_in_short() -> None:
    tools = [entry("a"), entry("b", "long " * 600), entry("c"), entry("d", "long " * 600)]
    shown = AnswerBudget(1_000).shown(tools)
    assert ([tool.name for tool in shown.whole], [tool.name for tool in shown.short]) == (["a", "b", "c"], ["d"])
    assert json.loads(short_line(tools[3])) == {"tool": "d", "about": ("long " * 24)[:-1][:119] + "…"}


def test_names_and_lines_that_do_not_fit_either_are_counted() -> None:
    shown = AnswerBudget(400).shown([entry(f"a_tool_with_a_rather_long_name_{n}", "word " * 40) for n in range(50)])
    assert shown.further > 30
    assert len(shown.whole) + len(shown.short) + shown.further == 50


def test_a_description_that_is_too_long_is_cut_with_a_note_and_the_schema_stays() -> None:
    schema = arguments(5, description="Which one it is.")
    (cut,) = AnswerBudget(1_000).shown([entry("a", "very long " * 10_000, schema)]).whole
    assert cut.input_schema == schema
    assert cut.description.startswith("very long very long")
    assert cut.description.endswith(" of 100,000 characters]")
    assert 700 < tokens_of(definition_line(cut)) <= 1_000


TOO_LONG: list[tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]] = [
    (
        arguments(40, description="word " * 100),
        lambda cut: cut["properties"].keys() == arguments(40)["properties"].keys(),
    ),
    (arguments(5, enum=[f"value_{n}" for n in range(900)]), lambda cut: len(cut["properties"]) == 5),
    (arguments(20, anyOf=[arguments(20)] * 5), lambda cut: len(cut["properties"]) == 20),
    (arguments(5_000), lambda cut: {"argument_0", "argument_4999"} <= cut["properties"].keys()),
    ({"type": "object", "anyOf": [arguments(50)] * 50}, lambda cut: cut["type"] == "object"),
    ({"type": "object", "properties": {"x" * 100_000: {"type": "string"}}, "required": 5}, lambda cut: True),
]


@pytest.mark.parametrize(("schema", "kept"), TOO_LONG)
def test_a_schema_that_is_too_long_loses_what_a_call_needs_least(schema: dict[str, Any], kept: Any) -> None:
    (cut,) = AnswerBudget(1_000).shown([entry("a", "Does it, in a few words.", schema)]).whole
    assert tokens_of(definition_line(cut)) <= 1_000
    assert cut.description == "Does it, in a few words. […the arguments are shown in short]"
    assert cut.input_schema["type"] == "object"
    assert kept(cut.input_schema)


def test_descriptions_in_a_schema_go_first() -> None:
    schema = arguments(30, description="word " * 60)
    lengths = [len(json.dumps(smaller)) for smaller in smaller_schemas(schema)]
    assert lengths == sorted(lengths, reverse=True)
    first = next(smaller for smaller in smaller_schemas(schema) if smaller != schema)
    assert first["properties"]["argument_3"] == {"type": "string", "description": ("word " * 40)[:199].rstrip() + "…"}


TEXTS = st.text(max_size=50) | st.integers(0, 20_000).map("x".__mul__) | st.integers(0, 5_000).map("mot ".__mul__)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "anyOf", "enum", "required", "description", "$defs"])
            | st.text(max_size=5),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXTS, st.dictionaries(st.text(max_size=9), JSON, max_size=5)), min_size=1, max_size=6))
def test_an_answer_never_costs_more_than_its_budget_and_each_line_is_json(tools: list[tuple[str, Any]]) -> None:
    found = [
        entry(f"tool_{n}", said, {**schema, "type": "object", "properties": schema})
        for n, (said, schema) in enumerate(tools)
    ]
    shown = AnswerBudget(600).shown(found)
    lines = [*map(definition_line, shown.whole), *map(short_line, shown.short)]
    assert sum(map(tokens_of, lines)) <= 600
    assert [json.loads(line).get("name") or json.loads(line)["tool"] for line in lines]
    assert shown.whole[0].name == "tool_0"


def test_no_smaller_schema_refers_to_what_was_left_out() -> None:
    tree = {"type": "object", "properties": {f"p{n}": {"$ref": "#/$defs/tree"} for n in range(300)}}
    for schema in smaller_schemas({"$ref": "#/$defs/tree", "$defs": {"tree": tree}}):
        assert "$ref" not in json.dumps(schema) or "tree" in schema["$defs"]


def test_a_schema_is_shown_without_the_titles_that_libraries_make() -> None:
    schema = {"$schema": "x", "title": "A", "properties": {"title": {"title": "Title", "type": "string"}}}
    assert compact_schema(schema) == {"properties": {"title": {"type": "string"}}}


@pytest.mark.parametrize("tokens", [199, 0, -1, True, 1e9, None])
def test_a_budget_in_which_nothing_can_be_shown_is_refused(tokens: Any) -> None:
    with pytest.raises(ValueError, match="use a whole number from 200 on"):
        budget_of(tokens)
