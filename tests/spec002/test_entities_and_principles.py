"""The key entities and design principles of spec 002."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import pytest
from pydantic_ai import Agent

from hikidashi import DepsContext, convert_tool_with_deps, errors
from hikidashi.claude import mcp_integration, tool_converter
from hikidashi.claude.mcp_integration import AgentToolset, PydanticAITool, ToolDefinition
from hikidashi.claude.tool_converter import McpResponse


def ping() -> str:
    return "pong"


def test_entity_protocols_describe_tools_and_toolsets() -> None:
    attributes: dict[str, Any] = {"name": "t", "description": None, "parameters_json_schema": {}, "function": ping}

    assert isinstance(SimpleNamespace(**attributes), PydanticAITool)
    for name in attributes:
        rest = {key: value for key, value in attributes.items() if key != name}
        assert not isinstance(SimpleNamespace(**rest), PydanticAITool)
    assert isinstance(Agent(tools=[ping])._function_toolset, AgentToolset)
    assert not isinstance(SimpleNamespace(**attributes), AgentToolset)


def test_entity_typed_dicts_have_the_promised_fields() -> None:
    assert set(ToolDefinition.__annotations__) == {"name", "description", "input_schema", "function"}
    assert {"content", "isError"} <= set(get_type_hints(McpResponse))


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("ToolValidationError", ValueError),
        ("UnsupportedDepsTypeError", errors.ClaudeCodeError),
        ("ToolsetNotRegisteredError", errors.ClaudeCodeError),
        ("ToolNotFoundError", errors.ClaudeCodeError),
        ("TypeHintResolutionError", errors.ClaudeCodeError),
    ],
)
def test_entity_errors_have_the_promised_bases(name: str, base: type[Exception]) -> None:
    assert issubclass(getattr(errors, name), base)


def imported_at_run_time(module: Any) -> set[str]:
    tree = ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8"))
    plain = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.name for node in plain for alias in node.names} | {
        node.module or "" for node in plain if isinstance(node, ast.ImportFrom)
    }


def test_principle_1_the_high_level_knows_protocols_and_not_pydantic_ai() -> None:
    assert not any(name.startswith("pydantic_ai") for name in imported_at_run_time(mcp_integration))


def test_principle_2_the_low_level_does_not_know_the_high_level() -> None:
    assert not any("mcp_integration" in name for name in imported_at_run_time(tool_converter))


def test_principle_4_a_deps_context_insists_on_the_check() -> None:
    with pytest.raises(errors.UnsupportedDepsTypeError):
        DepsContext(object())


@pytest.mark.parametrize("item", [DepsContext, convert_tool_with_deps])
def test_principle_5_experimental_names_say_so(item: Any) -> None:
    assert "**Experimental**" in item.__doc__
