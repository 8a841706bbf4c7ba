"""Which dependencies tools find when an MCP server of this process runs them, and who runs them by default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from pydantic_ai import Agent, FunctionToolset, ModelRequest, RunContext, Tool
from pydantic_ai.direct import model_request
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from tests.support import ClaudeCode

from hikidashi import ClaudeCodeModel, ToolsetNotRegisteredError, UnsupportedDepsTypeError
from hikidashi.errors import InvalidSettingError, MissingDepsError
from hikidashi.testing import RecordedRequest, Reply, call, say


@dataclass
class Shop:
    name: str


@dataclass
class Connected:
    client: Any


def where(ctx: RunContext[Shop]) -> str:
    """Where we are."""
    return ctx.deps.name


def anywhere(ctx: RunContext[None]) -> str:
    """Say what deps there are."""
    return repr(ctx.deps)


def plain() -> str:
    """Need nothing."""
    return "plain"


def asks(name: str) -> Callable[[RecordedRequest], Reply]:
    """A model that calls a tool once, and then says what it read."""
    return lambda request: say(request.tool_result_texts[-1]) if request.tool_results else call(name, {})


def agent_of(model: Model[Any], *tools: Any, **options: Any) -> Agent[Any, str]:
    return Agent(model, tools=tools, **options)


async def answered(agent: Agent[Any, str], **options: Any) -> str:
    return (await agent.run("Where?", **options)).output


async def streamed(agent: Agent[Any, str], **options: Any) -> str:
    async with agent.run_stream("Where?", **options) as result:
        return await result.get_output()


# Deps of the run


@pytest.mark.cli
@pytest.mark.parametrize("run", [answered, streamed])
async def test_the_deps_of_the_run_win_over_those_registered_before(claude_code: ClaudeCode, run: Any) -> None:
    model, _ = claude_code(asks("where"))
    agent = agent_of(model, where, deps_type=Shop)
    model.set_agent_toolsets(agent, deps=Shop("registered"))

    assert await run(agent, deps=Shop("of the run")) == "of the run"
    assert await run(agent) == "registered"
    assert await run(agent, deps=Shop("of another run")) == "of another run"


@pytest.mark.cli
async def test_the_deps_of_the_run_reach_tools_through_a_wrapped_model(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(asks("where"))
    agent = agent_of(FallbackModel(model), where, deps_type=Shop)
    model.set_agent_toolsets(agent)
    assert await answered(agent, deps=Shop("of the run")) == "of the run"


@pytest.mark.cli
async def test_a_request_outside_of_a_run_has_the_deps_registered_before(claude_code: ClaudeCode) -> None:
    model, server = claude_code(asks("where"))
    model.set_agent_toolsets(where, deps=Shop("registered"))
    parameters = ModelRequestParameters(function_tools=[Tool(where).tool_def])
    await model_request(model, [ModelRequest.user_text_prompt("Where?")], model_request_parameters=parameters)
    assert server.requests[-1].tool_result_texts == ["registered"]


@pytest.mark.parametrize("registered", [None, Shop("registered")])
async def test_deps_that_cannot_be_carried_are_refused_before_the_first_request(registered: Shop | None) -> None:
    model = ClaudeCodeModel(cli_path="/nowhere/claude")
    agent = agent_of(model, where)
    model.set_agent_toolsets(agent, deps=registered)
    async with httpx.AsyncClient() as client:
        with pytest.raises(UnsupportedDepsTypeError, match="set_agent_toolsets") as refused:
            await agent.run("Where?", deps=Connected(client))
    assert refused.value.path == "deps.client"
    assert 'tool_execution="agent"' in str(refused.value)


@pytest.mark.cli
async def test_deps_that_no_offered_tool_reads_may_be_anything(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(asks("plain"))
    agent = agent_of(model, plain)
    model.set_agent_toolsets(agent, where)
    async with httpx.AsyncClient() as client:
        assert await answered(agent, deps=client) == "plain"


@pytest.mark.cli
async def test_deps_of_any_type_work_where_pydantic_ai_runs_the_tools(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(asks("connected"))
    agent = Agent(model, deps_type=Connected)

    @agent.tool
    def connected(ctx: RunContext[Connected]) -> str:
        """Say what is connected."""
        return type(ctx.deps.client).__name__

    async with httpx.AsyncClient() as client:
        assert await answered(agent, deps=Connected(client)) == "AsyncClient"


# Deps that nobody gave


async def test_missing_deps_are_an_error_before_the_first_request() -> None:
    model = ClaudeCodeModel(cli_path="/nowhere/claude")
    agent = agent_of(model, where, deps_type=Shop)
    model.set_agent_toolsets(agent)
    with pytest.raises(MissingDepsError, match=r"'where' reads `ctx.deps` \(Shop\).*set_agent_toolsets") as missing:
        await agent.run("Where?")
    assert (missing.value.tool_name, missing.value.wanted) == ("where", "Shop")
    assert 'tool_execution="agent"' in str(missing.value)


@pytest.mark.cli
async def test_a_tool_that_needs_no_deps_in_its_context_runs_without(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(asks("anywhere"))
    agent = agent_of(model, anywhere)
    model.set_agent_toolsets(agent)
    assert await answered(agent) == "None"


# Who runs the tools


def test_pydantic_ai_runs_the_tools_until_toolsets_are_registered() -> None:
    model = ClaudeCodeModel()
    assert model.tool_execution == "agent"
    model.set_agent_toolsets(plain)
    assert model.tool_execution == "mcp"


def test_what_is_said_wins_over_what_is_registered() -> None:
    here, there = ClaudeCodeModel(tool_execution="agent"), ClaudeCodeModel(tool_execution="mcp")
    here.set_agent_toolsets(plain)
    assert (here.tool_execution, there.tool_execution) == ("agent", "mcp")
    there.tool_execution = "agent"
    assert there.tool_execution == "agent"


@pytest.mark.parametrize("value", ["claude", "", 1, True])
def test_another_way_to_run_tools_is_refused(value: Any) -> None:
    with pytest.raises(InvalidSettingError, match="'agent', 'mcp' or None"):
        ClaudeCodeModel(tool_execution=value)


async def test_a_server_that_was_asked_for_needs_its_tools() -> None:
    model = ClaudeCodeModel(tool_execution="mcp", cli_path="/nowhere/claude")
    with pytest.raises(ToolsetNotRegisteredError, match="set_agent_toolsets"):
        await Agent(model, tools=[plain]).run("Go.")


@pytest.mark.cli
async def test_an_agent_with_tools_needs_nothing_else(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(asks("plain"))
    result = await Agent(model, tools=[plain]).run("Go.")
    assert result.output == "plain"
    assert result.usage.requests == 2


@pytest.mark.cli
async def test_an_agent_whose_toolsets_are_wrapped_is_registered_whole(claude_code: ClaudeCode) -> None:
    def script(request: RecordedRequest) -> Any:
        if request.tool_results:
            return say(f"{request.tool_result_texts[-1]} of {sorted(request.tool_names)}")
        return call("mcp__pydantic_tools__far_plain", {})

    model, _ = claude_code(script)
    tools = FunctionToolset[Any]([plain, anywhere]).filtered(lambda _, tool: tool.name == "plain").prefixed("far")
    agent = agent_of(model, where, toolsets=[tools])
    model.set_agent_toolsets(agent, deps=Shop("registered"))
    assert await answered(agent) == "plain of ['mcp__pydantic_tools__far_plain', 'mcp__pydantic_tools__where']"
