"""The four real clients that the loopback Messages API serves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import MessageParam, ToolParam
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ResultError,
    ResultMessage,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    create_sdk_mcp_server,
    query,
    tool,
)
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from strands import Agent as StrandsAgent
from strands import tool as strands_tool  # pyright: ignore[reportUnknownVariableType]
from strands.models.anthropic import AnthropicModel as StrandsAnthropicModel

from hikidashi.testing import MessagesServer, Script, call, fault, say, think, turn

MODEL = "claude-test"
QUESTION: list[MessageParam] = [{"role": "user", "content": "1 + 2?"}]
ADD: ToolParam = {"name": "add", "description": "Sum of two numbers.", "input_schema": {"type": "object"}}
SUM_TURN = turn(
    think("A sum.", signature="c2ln"), "足し算します。", call("add", {"a": 1, "b": 2}, id="toolu_1"), chunk=3
)
SUM_CONTENT = [
    {"type": "thinking", "thinking": "A sum.", "signature": "c2ln"},
    {"type": "text", "text": "足し算します。"},
    {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}},
]

StartServer = Callable[[Script], MessagesServer]


def add(a: int, b: int) -> int:
    """Sum of two numbers."""
    return a + b


def test_the_anthropic_client_gets_a_plain_message(messages_server: StartServer) -> None:
    server = messages_server([SUM_TURN])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        message = client.messages.create(model=MODEL, max_tokens=100, messages=QUESTION, tools=[ADD])
    assert [block.to_dict() for block in message.content] == SUM_CONTENT
    assert (message.stop_reason, message.model) == ("tool_use", MODEL)
    assert not server.requests[0].stream


def test_the_anthropic_client_streams_piece_by_piece(messages_server: StartServer) -> None:
    server = messages_server([SUM_TURN])
    with (
        Anthropic(base_url=server.url, api_key="sk-test") as client,
        client.messages.stream(model=MODEL, max_tokens=100, messages=QUESTION, tools=[ADD]) as stream,
    ):
        seen = list(stream)
        message = stream.get_final_message()
    assert [event.text for event in seen if event.type == "text"] == ["足し算", "します", "。"]
    assert [event.thinking for event in seen if event.type == "thinking"] == ["A s", "um."]
    pieces = [event.partial_json for event in seen if event.type == "input_json"]
    assert "".join(pieces) == '{"a": 1, "b": 2}'
    assert len(pieces) == 6
    assert [block.to_dict() for block in message.content] == SUM_CONTENT
    assert message.stop_reason == "tool_use"
    assert server.requests[0].stream


def test_the_anthropic_client_counts_tokens(messages_server: StartServer) -> None:
    server = messages_server([])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        counted = client.messages.count_tokens(model=MODEL, messages=QUESTION)
    assert counted.input_tokens > 0
    assert server.requests == []


def test_the_anthropic_client_tries_again_after_a_rate_limit(messages_server: StartServer) -> None:
    server = messages_server([fault.rate_limited(retry_after=0.01), fault.overloaded(), "at last"])
    with Anthropic(base_url=server.url, api_key="sk-test", max_retries=2) as client:
        message = client.messages.create(model=MODEL, max_tokens=100, messages=QUESTION)
    assert message.content[0].to_dict() == {"type": "text", "text": "at last"}
    assert [request.headers["x-stainless-retry-count"] for request in server.requests] == ["0", "1", "2"]


async def test_a_pydantic_ai_agent_runs_its_tools(messages_server: StartServer) -> None:
    server = messages_server([turn(call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4})), say("3 and 7")])
    async with AsyncAnthropic(base_url=server.url, api_key="sk-test") as client:
        model = AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client))
        result = await Agent(model, tools=[add]).run("1 + 2 and 3 + 4?")
    assert result.output == "3 and 7"
    assert server.requests[1].tool_result_texts == ["3", "7"]


async def test_a_pydantic_ai_agent_streams_and_runs_its_tools(messages_server: StartServer) -> None:
    server = messages_server([call("add", {"a": 1, "b": 2}), say("It is three.", chunk=4)])
    async with AsyncAnthropic(base_url=server.url, api_key="sk-test") as client:
        model = AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client))
        async with Agent(model, tools=[add]).run_stream("1 + 2?") as result:
            pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
    assert pieces == ["It i", "s th", "ree."]
    assert all(request.stream for request in server.requests)
    assert server.requests[1].tool_result_texts == ["3"]


async def test_a_strands_agent_runs_its_tools(messages_server: StartServer) -> None:
    server = messages_server([call("add", {"a": 1, "b": 2}), say("It is three.")])
    model = StrandsAnthropicModel(
        client_args={"base_url": server.url, "api_key": "sk-test"}, model_id=MODEL, max_tokens=100
    )
    async with model.client:
        agent = StrandsAgent(model=model, tools=[strands_tool(add)], callback_handler=None)
        result = await agent.invoke_async("1 + 2?")
    assert str(result) == "It is three.\n"
    assert server.requests[1].tool_result_texts == ["3"]


Environment = Callable[[MessagesServer], dict[str, str]]


@pytest.mark.cli
async def test_the_claude_code_cli_tells_at_once_that_a_script_is_used_up(
    messages_server: StartServer, claude_code_env: Environment, tmp_path: Path
) -> None:
    server = messages_server([])
    options = ClaudeAgentOptions(setting_sources=[], tools=[], cwd=tmp_path, env=claude_code_env(server))
    with pytest.raises(ResultError, match="The script is used up: it had 0 answers"):
        _ = [message async for message in query(prompt="Hello?", options=options)]
    assert len(server.requests) == 1  # it tries ten times where it is not told to stop


@pytest.mark.cli
async def test_the_claude_code_cli_survives_a_rate_limit_and_a_cut_stream(
    messages_server: StartServer, claude_code_env: Environment, tmp_path: Path
) -> None:
    server = messages_server([fault.rate_limited(retry_after=0.01), fault.cut(after_events=4), say("At last.")])
    options = ClaudeAgentOptions(setting_sources=[], tools=[], cwd=tmp_path, env=claude_code_env(server))
    seen = [message async for message in query(prompt="Hello?", options=options)]
    assert isinstance(seen[-1], ResultMessage)
    assert (seen[-1].result, len(server.requests)) == ("At last.", 3)


@pytest.mark.cli
async def test_the_claude_code_cli_runs_the_tools_of_an_sdk_server(
    messages_server: StartServer, claude_code_env: Environment, tmp_path: Path
) -> None:
    @tool("add", "Sum of two numbers.", {"a": int, "b": int})
    async def sdk_add(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}

    server = messages_server([turn(think("A sum."), "I add.", call("add", {"a": 1, "b": 2})), say("It is three.")])
    options = ClaudeAgentOptions(
        setting_sources=[],
        tools=[],
        cwd=tmp_path,
        env=claude_code_env(server),
        system_prompt="You add numbers.",
        mcp_servers={"sums": create_sdk_mcp_server("sums", tools=[sdk_add])},
        allowed_tools=["mcp__sums__add"],
    )
    seen = [message async for message in query(prompt="1 + 2?", options=options)]

    blocks = [block for message in seen if isinstance(message, AssistantMessage) for block in message.content]
    assert [type(block) for block in blocks] == [ThinkingBlock, TextBlock, ToolUseBlock, TextBlock]
    assert isinstance(blocks[2], ToolUseBlock)
    assert (blocks[2].name, blocks[2].input) == ("mcp__sums__add", {"a": 1, "b": 2})
    assert isinstance(seen[-1], ResultMessage)
    assert seen[-1].result == "It is three."
    first, second = server.requests
    assert "You add numbers." in first.system_text
    assert "1 + 2?" in first.text
    assert "mcp__sums__add" in first.tool_names
    assert second.tool_result_texts == ["3"]
    assert (server.remaining, server.refusals) == (0, [])
