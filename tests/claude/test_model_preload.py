"""Claude Code as a pydantic-ai model with `preload=N`: the real CLI offers what a message needs in its first turn."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.toolsets import FunctionToolset
from tests.support import ClaudeCode

from hikidashi.search import deferred, to_pydantic_ai_search
from hikidashi.testing import call, say


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def refund_order(number: int) -> str:
    """Refund an order of a customer."""
    return f"refunded {number}"


def send_mail(to: str) -> str:
    """Send a mail to a person."""
    return f"sent to {to}"


TOOLS = FunctionToolset[Any]([get_weather, refund_order, send_mail])
MAIL = "Send a mail to Ada, please."
WEATHER = "What is the weather in Rome?"
THANKS = "thanks, that was great"


def agent_of(model: Any) -> Agent[Any, str]:
    return Agent(model, toolsets=[deferred(TOOLS)], capabilities=[to_pydantic_ai_search(preload=2)])


@pytest.mark.cli
@pytest.mark.parametrize("mode", ["agent", "mcp"])
async def test_claude_code_calls_what_was_loaded_in_its_first_turn(claude_code: ClaudeCode, mode: str) -> None:
    script = [
        *(call("send_mail", {"to": "Ada"}), say("done")),
        *(call("get_weather", {"city": "Rome"}), say("rain")),
        say("gladly"),
    ]
    model, server = claude_code(script, tool_execution=mode)
    if mode == "mcp":
        model.set_agent_toolsets(TOOLS)
    history = (await agent_of(model).run(MAIL)).all_messages()
    history = (await agent_of(model).run(WEATHER, message_history=history)).all_messages()
    saved = ModelMessagesTypeAdapter.dump_json(history)
    assert (await agent_of(model).run(THANKS, message_history=ModelMessagesTypeAdapter.validate_json(saved))).output
    offered = [sorted(name.rpartition("__")[2] for name in request.tool_names) for request in server.requests]
    assert offered == [
        *[["search_tools", "send_mail"]] * 2,
        *[["get_weather", "search_tools", "send_mail"]] * 3,
    ]
    (loaded,) = (tool for tool in server.requests[0].tools if tool["name"].endswith("send_mail"))
    assert loaded["description"] == "Send a mail to a person."
    assert loaded["input_schema"]["properties"] == {"to": {"type": "string"}}
    assert server.requests[1].tool_result_texts == ["sent to Ada"]
    assert server.requests[3].tool_result_texts[-1] == "rain in Rome"
    assert server.refusals == []
