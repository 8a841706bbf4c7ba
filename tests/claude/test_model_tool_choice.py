"""`tool_choice`: which tools a request offers, and whether the model must call one, as with `AnthropicModel`."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings, ToolOrOutput
from pydantic_ai.tools import ToolDefinition
from tests.support import ClaudeCode

from hikidashi.claude.settings import chosen_tools
from hikidashi.errors import InvalidSettingError
from hikidashi.testing import MessagesServer, call, say

ADD, MULTIPLY = ToolDefinition(name="add"), ToolDefinition(name="multiply")
OUTPUT = ToolDefinition(name="final_result", kind="output")


class City(BaseModel):
    name: str


def add() -> str:
    return "3"


def multiply() -> str:
    return "6"


def offered(server: MessagesServer) -> list[tuple[list[str], Any]]:
    return [
        ([name.removeprefix("mcp__pydantic_tools__") for name in request.tool_names], request.body.get("tool_choice"))
        for request in server.requests
    ]


@pytest.mark.cli
@pytest.mark.parametrize(
    ("choice", "names", "sent"),
    [
        ("required", ["add", "multiply"], {"type": "any"}),
        ("none", ["add", "multiply"], {"type": "none"}),
        (["add"], ["add"], {"type": "tool", "name": "mcp__pydantic_tools__add"}),
        (["multiply", "add"], ["add", "multiply"], {"type": "any"}),
    ],
)
async def test_a_choice_reaches_the_api(claude_code: ClaudeCode, choice: Any, names: list[str], sent: Any) -> None:
    model, server = claude_code([say("ok")])
    await model_request(
        model,
        [ModelRequest.user_text_prompt("Hello.")],
        model_settings={"tool_choice": choice},
        model_request_parameters=ModelRequestParameters(function_tools=[ADD, MULTIPLY]),
    )
    assert offered(server) == [(names, sent)]


@pytest.mark.cli
async def test_an_agent_without_its_tools_still_has_its_output(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("final_result", {"name": "Nara"})])
    agent = Agent(model, output_type=City, tools=[add], model_settings={"tool_choice": "none"})
    assert (await agent.run("Go.")).output == City(name="Nara")
    assert offered(server) == [(["final_result"], None)]


@pytest.mark.cli
async def test_some_tools_and_the_output_can_be_chosen_for_a_run(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("add"), say("3")])
    settings = ModelSettings(tool_choice=ToolOrOutput(function_tools=["add"]))
    agent = Agent(model, tools=[add, multiply], model_settings=settings)
    assert (await agent.run("Go.")).output == "3"
    assert offered(server) == [(["add"], None)] * 2


@pytest.mark.cli
async def test_a_choice_for_the_first_step_alone_ends_with_it(claude_code: ClaudeCode) -> None:
    def settings(ctx: RunContext[object]) -> ModelSettings:
        return ModelSettings(tool_choice="required") if ctx.run_step == 1 else ModelSettings()

    model, server = claude_code([call("add"), say("3")])
    assert (await Agent(model, tools=[add], model_settings=settings).run("Go.")).output == "3"
    assert offered(server) == [(["add"], {"type": "any"}), (["add"], None)]


async def test_a_call_that_is_forced_and_run_by_the_server_would_never_end(claude_code: ClaudeCode) -> None:
    model, server = claude_code([])
    model.set_agent_toolsets([add])
    with pytest.raises(InvalidSettingError, match=r"runs 'add' within one request, which would never end"):
        await model_request(
            model,
            [ModelRequest.user_text_prompt("Hello.")],
            model_settings={"tool_choice": "required"},
            model_request_parameters=ModelRequestParameters(function_tools=[ADD]),
        )
    assert server.requests == []


@pytest.mark.parametrize("choice", ["always", 3, {"type": "any"}, ("add",)])
def test_a_choice_that_pydantic_ai_does_not_have_is_refused(choice: Any) -> None:
    with pytest.raises(InvalidSettingError, match=r"`tool_choice` cannot be .* it must be 'auto'"):
        chosen_tools(choice, [ADD])


@pytest.mark.parametrize("choice", [["subtract"], [3, ["add"]], ToolOrOutput(function_tools=["final_result"])])
def test_a_choice_that_names_no_tool_of_the_request_is_refused(choice: Any) -> None:
    with pytest.raises(InvalidSettingError, match=r"no such tool is in the request\. Its tools: 'add'"):
        chosen_tools(choice, [ADD, OUTPUT])


def test_a_name_that_is_not_in_the_request_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    chosen = chosen_tools(["add", "subtract"], [ADD, MULTIPLY])
    assert (chosen.offered, chosen.mode) == ([ADD], "required")
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        "`tool_choice` names tools that are not in the request: 'subtract'."
    ]


@pytest.mark.parametrize("choice", ["none", [], ToolOrOutput(function_tools=[])])
def test_no_function_tools_leaves_the_output_alone(choice: Any) -> None:
    assert chosen_tools(choice, [ADD, OUTPUT]).offered == [OUTPUT]
    assert chosen_tools(choice, [ADD]).mode == "none"
