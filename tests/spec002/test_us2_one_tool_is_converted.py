"""User story 2: one pydantic-ai tool becomes one SdkMcpTool."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from claude_agent_sdk import SdkMcpTool
from pydantic_ai import RunContext, Tool

from hikidashi import DepsContext, convert_tool
from hikidashi.claude.tool_converter import _create_async_handler, _format_return_value_as_mcp


def greet(name: str, *, times: int = 1) -> str:
    """Greet somebody."""
    return f"hello {name} " * times


async def test_us2_1_a_converted_tool_keeps_name_description_and_schema() -> None:
    tool = Tool(greet)

    converted = convert_tool(tool)

    assert isinstance(converted, SdkMcpTool)
    assert (converted.name, converted.description) == ("greet", "Greet somebody.")
    assert converted.input_schema == tool.tool_def.parameters_json_schema


async def test_us2_2_a_sync_function_works_as_an_async_handler() -> None:
    threads: list[threading.Thread] = []

    def where(n: int) -> int:
        threads.append(threading.current_thread())
        return n

    handler = _create_async_handler(where, takes_ctx=False)

    assert await handler({"n": 3}) == {"content": [{"type": "text", "text": "3"}]}
    assert threads != [threading.current_thread()]


def test_us2_3_a_function_with_context_needs_a_deps_context() -> None:
    def who(ctx: RunContext[str]) -> str:
        return ctx.deps

    with pytest.raises(NotImplementedError):
        _create_async_handler(who, takes_ctx=True)
    with pytest.raises(NotImplementedError):
        convert_tool(Tool(who))
    assert callable(_create_async_handler(who, True, DepsContext("me")))


def test_us2_4_a_dict_becomes_json_text() -> None:
    assert _format_return_value_as_mcp({"名前": "引き出し", "n": 1}) == {
        "content": [{"type": "text", "text": '{"名前": "引き出し", "n": 1}'}]
    }


@pytest.mark.parametrize(
    "answer",
    [
        {"content": [{"type": "text", "text": "done"}]},
        {"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}], "isError": True},
    ],
)
def test_us2_5_what_is_mcp_already_stays_as_it_is(answer: dict[str, Any]) -> None:
    assert _format_return_value_as_mcp(answer) == answer
