"""No tool vanishes on the way to Claude Code: its schema, name and description are taken, rewritten or refused."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset
from tests.support import ClaudeCode

from hikidashi import Tool, ToolValidationError, Unsupported, to_claude
from hikidashi.claude.mcp_integration import create_mcp_server_from_tools, extract_tools_from_toolset
from hikidashi.claude.session import ParkedTools
from hikidashi.claude.tool_converter import convert_tool, convert_tools_to_mcp_server
from hikidashi.convert.claude import ClaudeNames
from hikidashi.testing import call, say

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
UNION: dict[str, Any] = {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
EXECUTIONS: list[Literal["mcp", "agent"]] = ["mcp", "agent"]


class Tree(BaseModel):
    """A tree of numbers."""

    value: int
    branches: list[Tree] = []


def grow(tree: Tree) -> int:
    """The sum of a tree."""
    return tree.value + sum(map(grow, tree.branches))


GROWN = {"value": 1, "branches": [{"value": 2, "branches": [{"value": 3}]}]}


def tool_of(schema: Any, name: str = "odd") -> PydanticTool[Any]:
    def odd(**arguments: Any) -> Any:
        return arguments

    return PydanticTool[object].from_schema(odd, name, None, schema)


def offered(*schemas: Any) -> ParkedTools:
    definitions = [ToolDefinition(name=f"t{n}", parameters_json_schema=schema) for n, schema in enumerate(schemas)]
    return ParkedTools(definitions, server_name="s")


@pytest.mark.cli
@pytest.mark.parametrize("execution", EXECUTIONS)
async def test_recursive_models_as_argument_and_output_keep_every_tool(
    claude_code: ClaudeCode, execution: Literal["mcp", "agent"]
) -> None:
    script = [call("grow", GROWN), call("other", {}), call("final_result", GROWN)]
    model, server = claude_code(script, tool_execution=execution)
    # A single argument that is a model is pydantic-ai's way to a `$ref` at the root.
    agent = Agent(model, output_type=ToolOutput(Tree), tools=[grow])

    @agent.tool_plain
    def other() -> str:
        """Another tool."""
        return "fine"

    if execution == "mcp":
        model.set_agent_toolsets(agent._function_toolset)
    assert (await agent.run("Grow.")).output == Tree.model_validate(GROWN)

    tools = {tool["name"].rpartition("__")[2]: tool for tool in server.requests[0].tools}
    assert sorted(tools) == ["final_result", "grow", "other"]
    assert server.refusals == []
    for name in ("grow", "final_result"):
        schema = tools[name]["input_schema"]
        assert schema["type"] == "object"
        assert schema["properties"]["branches"]["items"] == {"$ref": "#/$defs/Tree"}
        assert schema["$defs"]["Tree"]["properties"]["value"]["type"] == "integer"
    assert "6" in str(server.requests[1].tool_results[0]["content"])


@pytest.mark.cli
async def test_a_recursive_native_output_is_asked_for(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("StructuredOutput", GROWN), say("done")])
    agent = Agent(model, output_type=NativeOutput(Tree))
    assert (await agent.run("Grow.")).output == Tree.model_validate(GROWN)
    assert server.refusals == []


@pytest.mark.cli
async def test_odd_names_of_tools_and_server_reach_the_tools_they_are_names_of(claude_code: ClaudeCode) -> None:
    names = ["a.b", "日本語", "x/y", "A" * 64, "_", "-"]
    wire = ClaudeNames("my server", names)
    shown = [wire.of(name) for name in names]
    assert [shown[0], *shown[2:]] == ["a_b", "x_y", "A" * 64, "_", "-"]
    script = [*(call(f"mcp__my_server__{name}", {}) for name in shown), say("done")]
    model, server = claude_code(script, tool_execution="agent")
    heard: list[str] = []

    def named(name: str) -> PydanticTool[Any]:
        def answer() -> str:
            heard.append(name)
            return name

        return PydanticTool[object](answer, name=name)

    tools = [named(name) for name in names]
    model.set_agent_toolsets(tools, server_name="my server")
    assert (await Agent(model, tools=tools).run("Call them.")).output == "done"
    assert heard == names
    assert sorted(server.requests[0].tool_names) == sorted(f"mcp__my_server__{name}" for name in shown)


def test_every_way_to_claude_code_rewrites_a_root_and_keeps_its_meaning() -> None:
    schema = {"$ref": "#/$defs/A", "$defs": {"A": {**OBJECT, "required": ["a"]}}}
    expected = {**OBJECT, "required": ["a"], "$defs": schema["$defs"]}
    tool = tool_of(schema)
    assert convert_tool(tool).input_schema == expected
    assert [tool.input_schema for tool in extract_tools_from_toolset([tool])] == [expected]
    assert [tool["inputSchema"] for tool in offered(schema).listing] == [expected]


async def nothing(_: dict[str, Any]) -> Any: ...


WAYS: dict[str, Callable[[Any], object]] = {
    "agent": lambda schema: offered(OBJECT, schema),
    "convert_tool": lambda schema: convert_tool(tool_of(schema, "t1")),
    "convert_tools": lambda schema: convert_tools_to_mcp_server([tool_of(schema, "t1")]),
    "create_server": lambda schema: create_mcp_server_from_tools([tool_of(schema, "t1")]),
    "extract_tools": lambda schema: extract_tools_from_toolset([tool_of(schema, "t1")]),
    "to_claude": lambda schema: to_claude([Tool(name="t1", description="", input_schema=schema, call=nothing)]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "schema",
    [UNION, {**OBJECT, "properties": {"a b": {}}}, {"$ref": "https://example.com/a"}, {**OBJECT, "required": "a"}],
    ids=["union", "argument", "outside", "required"],
)
def test_every_way_to_claude_code_refuses_what_would_vanish(way: str, schema: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="Claude Code cannot express the input schema of tool 't1'"):
        WAYS[way](schema)


async def test_a_run_with_a_union_at_the_root_is_refused_before_anything_starts(claude_code: ClaudeCode) -> None:
    model, server = claude_code([], tool_execution="agent")
    toolset = ExternalToolset[Any]([ToolDefinition(name="either", parameters_json_schema=UNION)])
    with pytest.raises(Unsupported, match=r"tool 'either', which has `oneOf` at its root. Put the union into a prop"):
        await Agent(model, toolsets=[toolset]).run("Go.")
    assert server.requests == []


def test_names_that_claude_code_would_leave_out_are_mapped_and_no_two_become_one() -> None:
    names = ["n" * 120, "n" * 121, "a.b", "a b", "メール送信", "予定を追加", "😀"]
    definitions = [ToolDefinition(name=name, parameters_json_schema=OBJECT) for name in names]
    parked = ParkedTools(definitions, server_name="s")
    assert sorted(parked.names.values()) == sorted(names)
    assert parked.wire.full(names[0]) == f"mcp__s__{names[0]}"
    assert all(re.fullmatch(r"mcp__s__[a-zA-Z0-9_-]+", name) and len(name) <= 128 for name in parked.names)
    assert [f"mcp__s__{tool['name']}" for tool in parked.listing] == [parked.wire.full(name) for name in names]


def test_a_tool_without_a_name_and_a_server_with_no_room_for_names_are_refused() -> None:
    with pytest.raises(ToolValidationError, match="A tool needs a name, got ''"):
        ParkedTools([ToolDefinition(name="", parameters_json_schema=OBJECT)], server_name="s")
    with pytest.raises(ToolValidationError, match="Give the server a shorter name"):
        ParkedTools([ToolDefinition(name="a", parameters_json_schema=OBJECT)], server_name="s" * 120)


@pytest.mark.parametrize("name", ["ide", "", " "])
def test_a_server_whose_tools_claude_code_keeps_to_itself_is_refused(name: str) -> None:
    with pytest.raises(ToolValidationError, match="Give the server another name"):
        to_claude([], name=name)
    with pytest.raises(ToolValidationError, match=f"no tools of a server called '{name}'"):
        ParkedTools([], server_name=name)


def test_a_description_that_claude_code_cuts_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    definition = ToolDefinition(name="talkative", description="x" * 4_097, parameters_json_schema=OBJECT)
    with caplog.at_level(logging.WARNING, "hikidashi"):
        for _ in range(3):
            ParkedTools([definition], server_name="s")
    (record,) = caplog.records
    assert "only the first 4,096 of the 4,097 characters that describe tool 'talkative'" in record.getMessage()
