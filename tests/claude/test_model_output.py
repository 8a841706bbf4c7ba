"""Structured output in all three modes, on the real CLI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, NativeOutput, PromptedOutput, ToolOutput
from pydantic_core import to_json
from tests.support import ClaudeCode

from hikidashi.testing import Answer, RecordedRequest, call, say

pytestmark = pytest.mark.cli


class City(BaseModel):
    kind: Literal["city"] = "city"
    name: str
    people: int


@dataclass
class River:
    name: str
    length_km: float
    kind: Literal["river"] = "river"


KYOTO: dict[str, Any] = {"kind": "city", "name": "京都", "people": 1_460_000}
SHINANO: dict[str, Any] = {"kind": "river", "name": "信濃川", "length_km": 367.0}

TYPES: list[tuple[str, Any, dict[str, Any], object]] = [
    ("model", City, KYOTO, City(**KYOTO)),
    ("dataclass", River, SHINANO, River(**SHINANO)),
    ("union", City | River, SHINANO, River(**SHINANO)),
]


@pytest.mark.parametrize(("label", "output_type", "value", "expected"), TYPES, ids=[row[0] for row in TYPES])
async def test_tool_output(
    claude_code: ClaudeCode, label: str, output_type: Any, value: dict[str, Any], expected: object
) -> None:
    tool = "final_result_River" if label == "union" else "final_result"
    model, server = claude_code([call(tool, value)], tool_execution="mcp" if label == "union" else "agent")
    result = await Agent(model, output_type=output_type).run("Tell me.")
    assert result.output == expected
    assert len(server.requests) == 1


@pytest.mark.parametrize(("label", "output_type", "value", "expected"), TYPES, ids=[row[0] for row in TYPES])
async def test_native_output(
    claude_code: ClaudeCode, label: str, output_type: Any, value: dict[str, Any], expected: object
) -> None:
    wrapped = {"result": {"kind": "River", "data": value}} if label == "union" else value

    def script(request: RecordedRequest) -> Answer:
        return say("Done.") if request.tool_results else call("StructuredOutput", wrapped)

    model, server = claude_code(script, tool_execution="mcp" if label == "union" else "agent")
    types = [City, River] if label == "union" else output_type
    result = await Agent(model, output_type=NativeOutput(types)).run("Tell me.")
    assert result.output == expected
    assert "StructuredOutput" in server.requests[0].tool_names


@pytest.mark.parametrize(("label", "output_type", "value", "expected"), TYPES, ids=[row[0] for row in TYPES])
async def test_prompted_output(
    claude_code: ClaudeCode, label: str, output_type: Any, value: dict[str, Any], expected: object
) -> None:
    wrapped = {"result": {"kind": "River", "data": value}} if label == "union" else value
    model, server = claude_code([say(to_json(wrapped).decode())])
    types = [City, River] if label == "union" else output_type
    result = await Agent(model, output_type=PromptedOutput(types)).run("Tell me.")
    assert result.output == expected
    assert "people" in server.requests[0].system_text or "length_km" in server.requests[0].system_text


@pytest.mark.parametrize("tool_execution", ["mcp", "agent"])
async def test_an_output_that_does_not_fit_is_sent_back_and_mended(
    claude_code: ClaudeCode, tool_execution: str
) -> None:
    model, server = claude_code(
        [call("final_result", {"name": "京都", "people": "many"}), call("final_result", KYOTO)],
        tool_execution=tool_execution,
    )
    result = await Agent(model, output_type=City, retries=2).run("Tell me.")
    assert result.output == City(**KYOTO)
    (wrong,) = server.requests[1].tool_results
    assert wrong["is_error"]
    assert "people" in str(wrong["content"])


async def test_an_output_validator_can_ask_again_about_text(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("no"), say("yes please")])
    agent = Agent(model, retries=2)

    @agent.output_validator
    def polite(text: str) -> str:
        if "please" not in text:
            raise ModelRetry("Say please.")
        return text

    assert (await agent.run("Ask.")).output == "yes please"
    assert "Say please." in str(server.requests[1].messages[-1]) or "Say please." in str(server.requests[1].messages)


async def test_named_output_tools_keep_their_names_and_descriptions(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("city", KYOTO)])
    agent = Agent(model, output_type=ToolOutput(City, name="city", description="A city."))
    assert (await agent.run("Tell me.")).output == City(**KYOTO)
    (tool,) = server.requests[0].tools
    assert tool["name"].endswith("__city")
    assert tool["description"].startswith("A city.")
