"""A tool of any framework becomes one row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from mcp.types import Tool as McpTool
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.tools import ToolDefinition
from strands import tool as strands_tool  # pyright: ignore[reportUnknownVariableType]

from hikidashi import Tool, ToolResult
from hikidashi.errors import ToolValidationError
from hikidashi.search import ToolCatalog
from hikidashi.search.engine.entry import entry_of
from hikidashi.tool import ToolAnnotations

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Name of the city"}},
    "required": ["city"],
}


async def call(arguments: dict[str, Any]) -> ToolResult:
    return ToolResult()


def get_weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: Name of the city
    """
    return city


TOOLS = [
    {"name": "get_weather", "description": "Tells the weather.", "input_schema": SCHEMA},
    {"name": "get_weather", "description": "Tells the weather.", "inputSchema": SCHEMA},
    {
        "type": "function",
        "function": {"name": "get_weather", "description": "Tells the weather.", "parameters": SCHEMA},
    },
    Tool(name="get_weather", description="Tells the weather.", input_schema=SCHEMA, call=call),
    PydanticTool(get_weather),
    ToolDefinition(name="get_weather", description="Tells the weather.", parameters_json_schema=SCHEMA),
    McpTool(name="get_weather", description="Tells the weather.", input_schema=SCHEMA),
    strands_tool(get_weather),
]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: f"{type(tool).__module__}.{type(tool).__name__}")
def test_every_kind_of_tool_gives_the_same_searched_words(tool: Any) -> None:
    entry = entry_of(tool)
    assert (entry.name, entry.argument_names, entry.argument_descriptions) == (
        "get_weather",
        ("city",),
        ("Name of the city",),
    )
    assert entry.description.startswith("Tells the weather.")
    assert entry.tool is tool


def test_a_catalogue_takes_tools_of_all_kinds_mixed_and_gives_each_back_as_it_came() -> None:
    mcp = McpTool(name="read_file", description="Reads a file", input_schema={"type": "object"})
    anthropic = {"name": "send_mail", "description": "Sends mail", "input_schema": {"type": "object"}}
    catalog = ToolCatalog([mcp, anthropic, PydanticTool(get_weather)])
    assert catalog.search("read a file")[0].tool is mcp
    assert catalog.search("send mail")[0].tool is anthropic


def test_aliases_titles_and_tags_are_searched() -> None:
    neutral = Tool(
        name="op_17",
        description="Runs operation 17",
        input_schema={"type": "object"},
        call=call,
        aliases=("thermometer",),
        metadata={"tags": ["climate"]},
    )
    titled = McpTool(name="op_18", title="Barometer", input_schema={"type": "object"}, _meta={"tags": ["pressure"]})
    other = {"name": "op_19", "aliases": ["hygrometer"], "tags": "humidity", "annotations": {"title": "Moisture"}}
    hinted = replace(neutral, name="op_20", aliases=(), metadata={}, annotations=ToolAnnotations(title="Anemometer"))
    catalog = ToolCatalog([neutral, titled, other, hinted])
    for query, name in [
        ("thermometer", "op_17"),
        ("climate", "op_17"),
        ("barometer", "op_18"),
        ("pressure", "op_18"),
        ("hygrometer", "op_19"),
        ("humidity", "op_19"),
        ("moisture", "op_19"),
        ("anemometer", "op_20"),
    ]:
        assert catalog.search(query)[0].name == name


def test_nested_arguments_and_definitions_are_searched_each_once() -> None:
    schema = {
        "type": "object",
        "$defs": {
            "Address": {"type": "object", "properties": {"street": {"type": "string", "description": "Street name"}}},
            "Node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}},
        },
        "properties": {
            "home": {"$ref": "#/$defs/Address"},
            "work": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}], "description": "Where they work"},
            "pets": {"type": "array", "items": {"type": "object", "properties": {"breed": {"type": "string"}}}},
            "tree": {"$ref": "#/$defs/Node"},
            "flag": True,
        },
    }
    entry = entry_of({"name": "save_person", "input_schema": schema})
    assert entry.argument_names == ("home", "street", "work", "pets", "breed", "tree", "child", "flag")
    assert entry.argument_descriptions == ("Street name", "Where they work")


def test_definitions_that_name_each_other_are_each_read_once_at_a_depth() -> None:
    every = [f"d{number}" for number in range(150)]
    definition = {"properties": {name: {"$ref": f"#/$defs/{name}"} for name in every}}
    schema = {"$defs": dict.fromkeys(every, definition), "properties": {"top": {"$ref": "#/$defs/d0"}}}
    assert entry_of({"name": "x", "input_schema": schema}).argument_names == ("top", *every)


def test_what_is_near_the_top_is_searched_though_it_was_met_far_down_before() -> None:
    schema: dict[str, Any] = {
        "$defs": {
            "A": {"properties": {"b": {"$ref": "#/$defs/B"}}},
            "B": {"properties": {"c": {"$ref": "#/$defs/C"}}},
            "C": {"properties": {"d": {"$ref": "#/$defs/D"}}},
            "D": {"properties": {"e": {"properties": {"f": {}}}}},
        },
        "properties": {"a": {"$ref": "#/$defs/A"}, "again": {"$ref": "#/$defs/D"}},
    }
    assert "f" in entry_of({"name": "x", "input_schema": schema}).argument_names


def test_the_words_an_argument_may_be_are_searched_unless_they_are_a_long_list() -> None:
    properties = {
        "format": {"enum": ["PDF", "PNG", 3, None]},
        "formats": {"type": "array", "items": {"enum": ["PNG", "SVG"]}},
        "currency": {"enum": [f"C{number}" for number in range(41)]},
        "odd": {"enum": "PDF"},
    }
    entry = entry_of({"name": "export", "input_schema": {"type": "object", "properties": properties}})
    assert entry.argument_values == ("PDF", "PNG", "SVG")


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ({}, "at position 1 (dict) has no name"),
        ({"name": "  "}, "has no name"),
        ({"name": 7}, "has no name"),
        ("get_weather", "(str) has no name"),
        (None, "(NoneType) has no name"),
        (
            get_weather,
            "(function) has no name. Give it one: a dict needs `name`, `description` and `input_schema`, a "
            "function is made a tool by `hikidashi.from_function`",
        ),
        ({"name": "a", "input_schema": ""}, "'a' at position 1 is str, not an object"),
        ({"name": "a", "input_schema": True}, "is bool, not an object"),
        ({"name": "a", "input_schema": {"type": ["object", "null"]}}, "has type ['object', 'null'], not 'object'"),
        ({"name": "a", "input_schema": ["city"]}, "'a' at position 1 is list, not an object"),
        ({"name": "a", "input_schema": {"type": "string"}}, "has type 'string', not 'object'"),
    ],
)
def test_a_tool_without_a_name_or_with_a_schema_that_is_no_object_is_refused(tool: Any, words: str) -> None:
    with pytest.raises(ToolValidationError) as caught:
        ToolCatalog([{"name": "fine"}, tool])
    assert words in str(caught.value)


def test_a_duplicate_name_is_refused_and_both_origins_are_named() -> None:
    mcp = McpTool(name="search", input_schema={"type": "object"})
    with pytest.raises(ToolValidationError) as caught:
        ToolCatalog([{"name": "other"}, {"name": "search", "description": "Searches the web"}, mcp])
    assert caught.value.tool_name == "search"
    home = McpTool.__module__.split(".")[0]
    assert str(caught.value) == (
        f"Two tools are named 'search': number 1 is a dict ('Searches the web'), number 2 is a {home} Tool with no "
        "description. Rename one, for example with a prefix of its server."
    )


def test_origins_are_told_apart_by_a_description_without_spaces_too() -> None:
    invoice, receipt = (
        "取引先への請求書を作成して保存します。" * 3,
        "領収書を発行して、指定された取引先へ送ります。" * 3,
    )
    with pytest.raises(ToolValidationError) as caught:
        ToolCatalog([{"name": "issue", "description": invoice}, {"name": "issue", "description": receipt}])
    assert f"number 0 is a dict ('{invoice[:39]}…'), number 1 is a dict ('{receipt[:39]}…')" in str(caught.value)


def test_a_tool_with_no_description_or_schema_is_found_by_its_name() -> None:
    assert [match.name for match in ToolCatalog([{"name": "ping_host", "description": None}]).search("ping")] == [
        "ping_host"
    ]
