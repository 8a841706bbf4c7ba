"""User story 5: a request offers the tools it names, and no others."""

from __future__ import annotations

import pytest
from mcp.client import Client
from pydantic_ai import FunctionToolset
from pydantic_ai.tools import ToolDefinition

from hikidashi import ClaudeCodeModel, ToolNotFoundError, ToolsetNotRegisteredError


def one() -> int:
    return 1


def two() -> int:
    return 2


def three() -> int:
    return 3


def registered() -> ClaudeCodeModel:
    model = ClaudeCodeModel(model_name="sonnet")
    model.set_agent_toolsets(FunctionToolset([one, two, three]))
    return model


async def test_us5_1_the_server_has_the_requested_tools_only() -> None:
    config = registered()._process_function_tools([ToolDefinition(name="one"), ToolDefinition(name="three")])

    assert config is not None
    assert config["name"] == "pydantic_tools"
    async with Client(config["instance"]) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["one", "three"]
        assert (await client.call_tool("two", {})).is_error


def test_us5_2_a_tool_that_was_not_registered_is_not_found() -> None:
    with pytest.raises(ToolNotFoundError) as missing:
        registered()._process_function_tools([ToolDefinition(name="one"), ToolDefinition(name="four")])

    assert (missing.value.missing, missing.value.available) == (("four",), ("one", "two", "three"))


def test_us5_3_without_a_toolset_there_is_nothing_to_offer() -> None:
    with pytest.raises(ToolsetNotRegisteredError) as unregistered:
        ClaudeCodeModel(model_name="sonnet")._process_function_tools([ToolDefinition(name="one")])

    assert unregistered.value.requested == ("one",)
