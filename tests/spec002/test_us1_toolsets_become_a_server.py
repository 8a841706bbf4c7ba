"""User story 1: the tools of an agent become an MCP server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from claude_agent_sdk import SdkMcpTool
from mcp.client import Client
from pydantic_ai import Agent, Tool

from hikidashi import ClaudeCodeModel, convert_tool, create_mcp_server_from_tools
from hikidashi.claude.mcp_integration import extract_tools_from_toolset
from hikidashi.testing import call, say

Ask = Callable[..., Awaitable[Any]]


def calculator() -> Agent[object, str]:
    agent = Agent()

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @agent.tool_plain
    async def multiply(a: int, b: int) -> int:
        """Multiply two numbers."""
        return a * b

    return agent


def explode() -> str:
    raise LookupError("no such row")


async def test_us1_1_registering_an_agents_toolset_makes_a_server_of_its_tools() -> None:
    agent, model = calculator(), ClaudeCodeModel(model_name="sonnet")

    model.set_agent_toolsets(agent._function_toolset)

    tools = extract_tools_from_toolset(agent._function_toolset)
    assert [(type(tool), tool.name) for tool in tools] == [(SdkMcpTool, "add"), (SdkMcpTool, "multiply")]
    config = model.mcp_servers["pydantic_tools"]
    assert (config["type"], config["name"]) == ("sdk", "pydantic_tools")
    async with Client(config["instance"]) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add", "multiply"]


@pytest.mark.cli
async def test_us1_2_claude_sees_every_tool_under_the_name_of_its_server(ask_claude: Ask) -> None:
    config = create_mcp_server_from_tools(calculator()._function_toolset)

    server, _ = await ask_claude(config, [say("Nothing to do.")])

    assert {"mcp__pydantic_tools__add", "mcp__pydantic_tools__multiply"} <= set(server.requests[0].tool_names)


@pytest.mark.cli
async def test_us1_3_a_call_by_claude_runs_the_function_and_answers_in_mcp_form(ask_claude: Ask) -> None:
    config = create_mcp_server_from_tools(calculator()._function_toolset)

    server, end = await ask_claude(config, [call("multiply", {"a": 6, "b": 7}), say("It is 42.")])

    [result] = server.requests[1].tool_results
    assert server.requests[1].tool_result_texts[0].startswith("42")
    assert not result.get("is_error")
    assert end.result == "It is 42."
    [_, multiply] = extract_tools_from_toolset(calculator()._function_toolset)
    assert await multiply.handler({"a": 6, "b": 7}) == {"content": [{"type": "text", "text": "42"}]}


async def test_us1_4_an_exception_is_logged_and_raised_or_is_an_error_answer(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent(tools=[explode])

    [high] = extract_tools_from_toolset(agent._function_toolset)
    with pytest.raises(LookupError, match="no such row"):
        await high.handler({})
    assert [record.getMessage() for record in caplog.records] == ["tool 'explode' failed"]

    answer = await convert_tool(Tool(explode)).handler({})
    assert answer["isError"] is True
    assert "no such row" in answer["content"][0]["text"]


@pytest.mark.cli
async def test_us1_4_claude_reads_what_a_tool_raised(ask_claude: Ask) -> None:
    config = create_mcp_server_from_tools(Agent(tools=[explode])._function_toolset)

    server, end = await ask_claude(config, [call("explode", {}), say("It is broken.")])

    [result] = server.requests[1].tool_results
    assert result["is_error"] is True
    assert "LookupError: no such row" in server.requests[1].tool_result_texts[0]
    assert end.result == "It is broken."
