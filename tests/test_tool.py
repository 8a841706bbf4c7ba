"""The neutral tool, its annotations and its results."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from hikidashi import Tool, ToolAnnotations, ToolResult, ToolValidationError, Unsupported
from hikidashi.tool import audio, image, json_text, resource, text

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


async def nothing(_: dict[str, Any]) -> ToolResult:
    return ToolResult()


def tool(**fields: Any) -> Tool:
    plain: dict[str, Any] = {"name": "t", "description": "", "input_schema": {"type": "object"}, "call": nothing}
    return Tool(**{**plain, **fields})


class Colour(Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    y: int = 2


@dataclass
class Pair:
    left: int
    right: Point


class Silent:
    pass


class Spoken:
    def __str__(self) -> str:
        return "my own words"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"city": "東京"}, '{"city": "東京"}'),
        (datetime(2026, 2, 3, 4, 5, tzinfo=UTC), '"2026-02-03T04:05:00Z"'),
        (Decimal("1.50"), '"1.50"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (PurePosixPath("/a/b"), '"/a/b"'),
        (Colour.RED, '"red"'),
        (Point(x=1), '{"x": 1, "y": 2}'),
        (Pair(1, Point(x=3)), '{"left": 1, "right": {"x": 3, "y": 2}}'),
        ({1, 2}, "[1, 2]"),
        ((1, "b"), '[1, "b"]'),
        (b"\xff\xfe", '"__4="'),
        ([math.nan, math.inf, -math.inf, {"deep": math.nan}], '["NaN", "Infinity", "-Infinity", {"deep": "NaN"}]'),
        ([math.nan, 1], '["NaN", 1]'),
        ({1: "one"}, '{"1": "one"}'),
        (Spoken(), '"my own words"'),
        ("\ud83d", '"\ufffd"'),
    ],
)
def test_json_text_has_one_form_for_every_value(value: object, written: str) -> None:
    assert json_text(value) == written


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def circle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "named"), [(Silent(), "Silent"), (circle(), "list"), (nested(100_000), "nested"), ([Silent()], "Silent")]
)
def test_json_text_refuses_what_has_no_form_and_names_it(value: object, named: str) -> None:
    with pytest.raises(Unsupported, match=named):
        json_text(value)


@given(json_values)
def test_a_json_value_survives_the_way_through_a_result(value: Any) -> None:
    result = ToolResult.of({"value": value}, structured=True)
    assert json.loads(result.text) == result.structured_content == {"value": value}


@pytest.mark.parametrize(
    ("value", "said"), [(None, ""), ("plain", "plain"), ("", ""), (7, "7"), ([1], "[1]"), ("[1", "[1")]
)
def test_a_value_becomes_one_text_block(value: object, said: str) -> None:
    assert ToolResult.of(value, structured=True) == ToolResult(content=(text(said),))


def test_a_result_stays_itself() -> None:
    result = ToolResult.error("no")
    assert ToolResult.of(result) is result


def test_an_mcp_shaped_dict_passes_whole() -> None:
    shaped = {
        "content": [text("a"), image(b"1", "image/png"), audio(b"2", "audio/wav"), resource("a:b", b"3", "x/y")],
        "structuredContent": {"a": 1},
        "isError": True,
        "_meta": {"k": 1},
    }
    assert ToolResult.of(shaped).to_mcp() == shaped


def test_the_sdk_spelling_of_is_error_is_understood() -> None:
    assert ToolResult.of({"content": [text("a")], "is_error": True}).is_error


@pytest.mark.parametrize(
    "value",
    [
        {"content": "a page", "isError": False},
        {"content": []},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "video", "url": "a"}]},
        {"content": ["text"]},
        {"content": [text("a")], "title": "A page of my own"},
        {"content": [{"type": "resource_link", "uri": "a:b"}]},
    ],
)
def test_a_dict_that_only_looks_like_an_mcp_result_is_a_value(value: dict[str, Any]) -> None:
    assert json.loads(ToolResult.of(value).text) == value


def test_an_empty_result_leaves_out_what_is_empty() -> None:
    assert ToolResult().to_mcp() == {"content": []}


def test_text_is_all_text_blocks() -> None:
    assert ToolResult(content=(text("a"), image(b"", "image/png"), text("b"))).text == "a\nb"


def test_without_content_a_model_reads_the_structured_content() -> None:
    assert ToolResult(structured_content={"a": "東"}).blocks == (text('{"a": "東"}'),)
    assert ToolResult().blocks == ()


def test_text_that_repeats_the_structured_content_is_told_from_other_text() -> None:
    result = ToolResult(structured_content={"n": 1})
    blocks = [text('{"n": 1}'), text("{'n': 1}"), text('{"n": 2}'), image(b"", "image/png")]
    assert [result.is_repeated_by(block) for block in blocks] == [True, False, False, False]
    assert not ToolResult().is_repeated_by(text("null"))


def test_text_resources_keep_their_text() -> None:
    assert resource("a:b", "words") == {"type": "resource", "resource": {"uri": "a:b", "text": "words"}}


def test_annotations_have_the_wire_spelling_both_ways() -> None:
    hints = {
        "title": "T",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert ToolAnnotations.from_mcp(hints).to_mcp() == hints
    assert ToolAnnotations.from_mcp({"readOnlyHint": None, "unknown": 1}) == ToolAnnotations.from_mcp(None)


@pytest.mark.parametrize("name", ["", "  ", None, 7])
def test_a_tool_needs_a_name(name: Any) -> None:
    with pytest.raises(ToolValidationError, match="needs a name"):
        tool(name=name)


def test_a_tool_needs_a_schema_that_is_a_dict() -> None:
    with pytest.raises(ToolValidationError, match="'t' must be a JSON Schema object") as caught:
        tool(input_schema=cast("Any", "string"))
    assert caught.value.tool_name == "t"


def test_a_change_makes_a_new_tool() -> None:
    first = tool()
    changed = (first.renamed("u").name, first.prefixed("my_").name, first.deferred().defer_loading)
    assert changed == ("u", "my_t", True)
    assert (first.name, first.defer_loading) == ("t", False)
    with pytest.raises(FrozenInstanceError):
        first.name = "x"  # pyright: ignore[reportAttributeAccessIssue]
