"""Model settings: checked, and carried to the API."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions
from pydantic_ai import Agent
from pydantic_ai.models import override_allow_model_requests
from tests.support import ClaudeCode

from hikidashi import ClaudeCodeModel
from hikidashi.claude.settings import checked
from hikidashi.errors import InvalidSettingError
from hikidashi.testing import TokenUsage, call, say


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_tokens": "100"}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": 1.5}, "temperature"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": "soon"}, "timeout"),
        ({"max_turns": 2.5}, "max_turns"),
        ({"max_turns": True}, "max_turns"),
        ({"max_turns": 0}, "max_turns"),
        ({"max_budget_usd": "1"}, "max_budget_usd"),
        ({"max_budget_usd": 0}, "max_budget_usd"),
        ({"resume": 7}, "resume"),
        ({"resume": ""}, "resume"),
        ({"permission_mode": "yolo"}, "permission_mode"),
        ({"working_directory": "/nowhere/at/all"}, "working_directory"),
        ({"stop_sequences": "END"}, "stop_sequences"),
        ({"extra_body": ["x"]}, "extra_body"),
        ({"max_retries": -1}, "max_retries"),
    ],
)
def test_a_setting_of_the_wrong_type_or_size_is_refused_by_name(settings: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidSettingError, match=f"`{expected}` cannot be") as caught:
        checked(settings)
    assert caught.value.setting == expected
    assert caught.value.value == settings[expected]


def test_settings_of_other_models_are_left_alone() -> None:
    assert checked({"openai_user": 3, "seed": 1}) == checked({})


@pytest.mark.parametrize(
    "options", [{"timeout": "1"}, {"max_turns": -1}, {"permission_mode": "yes"}, {"working_directory": "/nowhere"}]
)
def test_the_constructor_checks_the_same(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidSettingError, match=next(iter(options))):
        ClaudeCodeModel("sonnet", **options)


@pytest.mark.cli
async def test_settings_reach_the_api(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("ok")])
    await Agent(model).run(
        "Hello.",
        model_settings={
            "temperature": 0.5,
            "top_p": 0.9,
            "max_tokens": 1234,
            "stop_sequences": ["END"],
            "parallel_tool_calls": False,
            "extra_body": {"metadata": {"user_id": "u1"}},
            "extra_headers": {"x-team": "rivers"},
            "thinking": False,
        },
    )
    body = server.requests[0].body
    assert body["temperature"] == 0.5
    assert body["top_p"] == 0.9
    assert body["max_tokens"] == 1234
    assert body["stop_sequences"] == ["END"]
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert body["metadata"] == {"user_id": "u1"}
    assert server.requests[0].headers["x-team"] == "rivers"
    assert body.get("thinking", {"type": "disabled"})["type"] == "disabled"


@pytest.mark.cli
@pytest.mark.parametrize(("level", "effort"), [("minimal", "low"), ("high", "high")])
async def test_a_thinking_level_reaches_the_api(claude_code: ClaudeCode, level: Any, effort: str) -> None:
    model, server = claude_code([say("ok")])
    await Agent(model).run("Hello.", model_settings={"thinking": level})
    assert server.requests[0].body["thinking"]["type"] == "adaptive"
    assert server.requests[0].body["output_config"]["effort"] == effort


@pytest.mark.cli
async def test_usage_counts_every_turn_and_the_cache(claude_code: ClaudeCode) -> None:
    first = TokenUsage(input_tokens=100, output_tokens=10, cache_creation_input_tokens=50, cache_read_input_tokens=0)
    second = TokenUsage(input_tokens=20, output_tokens=5, cache_creation_input_tokens=0, cache_read_input_tokens=150)
    model, _ = claude_code([call("add", {"a": 1, "b": 2}, usage=first), say("3", usage=second)])
    agent = Agent(model)

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    model.set_agent_toolsets(agent._function_toolset)
    result = await agent.run("1 + 2?")
    usage = result.usage
    assert (usage.input_tokens, usage.output_tokens) == (320, 15)
    assert (usage.cache_write_tokens, usage.cache_read_tokens) == (50, 150)
    details = result.response.provider_details or {}
    assert details["num_turns"] == 2
    assert details["total_cost_usd"] > 0
    assert usage.cost is not None
    assert float(usage.cost) == pytest.approx(details["total_cost_usd"])
    assert result.response.model_name is not None
    assert result.response.model_name.startswith("claude-")


@pytest.mark.cli
async def test_claude_code_gets_no_tool_of_its_own_unless_allowed(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("ok")])
    await Agent(model).run("Hello.")
    assert server.requests[0].tool_names == []


@pytest.mark.cli
async def test_a_tool_of_claude_code_can_be_allowed(claude_code: ClaudeCode, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("雪国")
    model, server = claude_code(
        [call("Read", {"file_path": str(tmp_path / "note.txt")}), say("Snow.")], allowed_tools=["Read"]
    )
    result = await Agent(model).run("Read it.")
    assert result.output == "Snow."
    assert server.requests[0].tool_names == ["Read"]
    assert "雪国" in server.requests[1].tool_result_texts[0]
    assert [part.part_kind for part in result.response.parts] == ["builtin-tool-call", "builtin-tool-return", "text"]


@pytest.mark.cli
async def test_what_nobody_allowed_is_refused_not_asked_for(claude_code: ClaudeCode, tmp_path: Path) -> None:
    target = tmp_path / "made.txt"
    model, server = claude_code(
        [call("Bash", {"command": f"touch {target}"}), say("I may not.")], allowed_tools=["Bash(git log:*)"]
    )
    assert (await Agent(model).run("Make it.")).output == "I may not."
    assert server.requests[1].tool_results[0]["is_error"]
    assert not target.exists()


@pytest.mark.cli
async def test_options_can_be_customized_last(claude_code: ClaudeCode) -> None:
    def mine(options: ClaudeAgentOptions) -> ClaudeAgentOptions:
        return replace(options, system_prompt="Mine.")

    model, server = claude_code([say("ok")], customize=mine)
    await Agent(model, instructions="Theirs.").run("Hello.")
    assert "Mine." in server.requests[0].system_text
    assert "Theirs." not in server.requests[0].system_text


async def test_model_requests_can_be_forbidden() -> None:
    with override_allow_model_requests(False), pytest.raises(RuntimeError, match="not allowed"):
        await Agent(ClaudeCodeModel("sonnet")).run("Hello.")


def test_a_model_says_what_it_is() -> None:
    model = ClaudeCodeModel("opus", tool_execution="agent")
    assert (model.model_name, model.system, model.tool_execution) == ("opus", "anthropic", "agent")
    assert "opus" in repr(model)
