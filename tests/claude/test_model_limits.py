"""No run goes on for ever: what ends it, and after how many requests, is the same wherever the tools run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import Agent, FunctionToolset, ModelRetry, Tool, UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.usage import UsageLimits
from tests.support import ClaudeCode, cli_processes

from hikidashi import ClaudeCodeModelSettings
from hikidashi.claude.limits import Tally
from hikidashi.errors import ClaudeCodeLimitError
from hikidashi.testing import Answer, RecordedRequest, call, say, turn

MODES = ["mcp", "agent"]


def always(answer: Answer) -> Callable[[RecordedRequest], Answer]:
    return lambda _: answer


class Counted:
    """An agent whose tools are called, and how often."""

    def __init__(self, claude_code: ClaudeCode, mode: str, script: Any, **agent_options: Any) -> None:
        self.model, self.server = claude_code(script, tool_execution=mode)
        self.calls = 0
        self.agent = Agent(self.model, **agent_options)

    def register(self) -> None:
        if self.model.tool_execution == "mcp":
            self.model.set_agent_toolsets(self.agent)

    async def failure(self, **run_options: Any) -> Exception:
        self.register()
        with pytest.raises((UnexpectedModelBehavior, UsageLimitExceeded, ClaudeCodeLimitError)) as caught:
            await self.agent.run("Go.", **run_options)
        assert cli_processes() == set()
        return caught.value

    def failing(self, n: int = 0) -> str:
        """Fail."""
        self.calls += 1
        raise ModelRetry("Not like this.")

    def working(self, n: int = 0) -> str:
        """Work."""
        self.calls += 1
        return "done"


# Retries


@pytest.mark.cli
@pytest.mark.parametrize(
    ("mode", "said_by"), [("mcp", "agent"), ("mcp", "toolset"), ("mcp", "tool"), ("agent", "agent")]
)
async def test_a_tool_that_always_asks_for_a_retry_ends_the_run(
    claude_code: ClaudeCode, mode: str, said_by: str
) -> None:
    retries = 2
    counted = Counted(claude_code, mode, always(call("failing", {})), retries=retries if said_by == "agent" else 7)
    tool = Tool(counted.failing, max_retries=retries if said_by == "tool" else None)
    toolset = FunctionToolset([tool], max_retries=retries if said_by == "toolset" else None)
    counted.agent = Agent(counted.model, toolsets=[toolset], retries=retries if said_by == "agent" else 7)

    error = await counted.failure()

    assert isinstance(error, UnexpectedModelBehavior)
    assert str(error).startswith("Tool 'failing' exceeded max retries count of 2. Consider raising the retry limit")
    assert isinstance(error.__cause__, ModelRetry)
    assert counted.calls == len(counted.server.requests) == retries + 1


@pytest.mark.cli
@pytest.mark.parametrize("mode", MODES)
async def test_arguments_that_are_never_valid_end_the_run(claude_code: ClaudeCode, mode: str) -> None:
    counted = Counted(claude_code, mode, always(call("working", {"n": "many"})))
    counted.agent.tool_plain(counted.working)
    assert "Tool 'working' exceeded max retries count of 1" in str(await counted.failure())
    assert (counted.calls, len(counted.server.requests)) == (0, 2)


@pytest.mark.cli
@pytest.mark.parametrize("mode", MODES)
async def test_a_success_gives_the_retries_back_and_failures_of_one_turn_count_once(
    claude_code: ClaudeCode, mode: str
) -> None:
    odd, even = call("picky", {"n": 1}), call("picky", {"n": 2})
    counted = Counted(claude_code, mode, [turn(odd, odd, odd), even, odd, turn(odd, even), "At last."])

    @counted.agent.tool_plain
    def picky(n: int) -> str:
        """Take even numbers only."""
        if n % 2:
            raise ModelRetry("Even, please.")
        return "even"

    # The fourth turn is the second in a row that fails.
    assert "exceeded max retries count of 1" in str(await counted.failure())
    assert len(counted.server.requests) == 4


@pytest.mark.cli
@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_that_fails_for_good_costs_no_retries(claude_code: ClaudeCode, mode: str) -> None:
    counted = Counted(claude_code, mode, [*[call("hopeless", {})] * 4, "I give up."])

    @counted.agent.tool_plain
    def hopeless() -> str:
        """Fail for good."""
        raise ToolFailed("There is no such thing.")

    counted.register()
    assert (await counted.agent.run("Go.")).output == "I give up."


def test_retries_are_counted_per_tool_and_turn() -> None:
    tally, error = Tally(), ModelRetry("Again.")
    for _ in range(3):
        tally.next_turn()
        tally.failed("a", 3, error)
        tally.failed("a", 3, error)
        tally.failed("b", 5, error)
    tally.next_turn()
    tally.succeeded("b")
    with pytest.raises(UnexpectedModelBehavior, match="'a' exceeded max retries count of 3"):
        tally.failed("a", 3, error)
    tally.next_turn()
    tally.failed("b", 1, error)


# Usage limits


@pytest.mark.cli
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("limits", "said", "requests", "calls"),
    [
        (UsageLimits(request_limit=3), "The next request would exceed the request_limit of 3", 3, None),
        (UsageLimits(tool_calls_limit=2), "The next tool call(s) would exceed the tool_calls_limit of 2", 3, 2),
        (UsageLimits(output_tokens_limit=250), "Exceeded the output_tokens_limit of 250 (output_tokens=300)", 3, None),
        (UsageLimits(total_tokens_limit=2200), "Exceeded the total_tokens_limit of 2200 (total_tokens=3300)", 3, None),
        (
            UsageLimits(per_request_input_tokens_limit=900),
            "Exceeded the per_request_input_tokens_limit of 900",
            1,
            None,
        ),
    ],
    ids=["requests", "tool calls", "output tokens", "total tokens", "tokens of a request"],
)
async def test_usage_limits_of_the_run_end_it(
    claude_code: ClaudeCode, mode: str, limits: UsageLimits, said: str, requests: int, calls: int | None
) -> None:
    answer = call("working", {}, usage={"input_tokens": 1000, "output_tokens": 100})
    counted = Counted(claude_code, mode, always(answer))
    counted.agent.tool_plain(counted.working)

    error = await counted.failure(usage_limits=limits)

    assert isinstance(error, UsageLimitExceeded)
    assert str(error).startswith(said)
    # Tokens are known when a message ends: by then Claude Code may have sent the next request, which nobody reads.
    assert requests <= len(counted.server.requests) <= requests + ("token" in said and mode == "mcp")
    assert calls is None or counted.calls == calls


@pytest.mark.cli
async def test_a_run_without_limits_of_its_own_ends_after_fifty_turns(claude_code: ClaudeCode) -> None:
    counted = Counted(claude_code, "mcp", always(call("working", {})))
    counted.agent.tool_plain(counted.working)
    assert "request_limit of 50" in str(await counted.failure())
    assert len(counted.server.requests) == 50


@pytest.mark.cli
async def test_a_run_that_allows_more_turns_takes_them(claude_code: ClaudeCode) -> None:
    counted = Counted(claude_code, "mcp", [*[call("working", {})] * 60, "Done."])
    counted.agent.tool_plain(counted.working)
    counted.register()
    result = await counted.agent.run("Go.", usage_limits=UsageLimits(request_limit=None))
    assert (result.output, counted.calls, result.usage.tool_calls) == ("Done.", 60, 60)


@pytest.mark.cli
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_tools_of_claude_code_itself_count_too(claude_code: ClaudeCode, stream: bool) -> None:
    model, server = claude_code(always(call("Bash", {"command": "echo again"})), allowed_tools=["Bash"])
    agent, limits = Agent(model), UsageLimits(request_limit=4)

    async def streamed() -> None:
        async with agent.run_stream("Go.", usage_limits=limits) as running:
            await running.get_output()

    with pytest.raises(UsageLimitExceeded, match="request_limit of 4"):
        await (streamed() if stream else agent.run("Go.", usage_limits=limits))
    assert len(server.requests) == 4
    assert cli_processes() == set()


# Turns


@pytest.mark.cli
@pytest.mark.parametrize("max_turns", [None, 3], ids=["by default", "as set"])
async def test_a_request_outside_of_a_run_has_a_limit_of_turns(claude_code: ClaudeCode, max_turns: int | None) -> None:
    model, server = claude_code(always(call("Bash", {"command": "true"})), allowed_tools=["Bash"], max_turns=max_turns)
    with pytest.raises(ClaudeCodeLimitError, match="max_turns"):
        await model_request(model, [ModelRequest.user_text_prompt("Go.")])
    assert len(server.requests) == (max_turns or 50)


@pytest.mark.cli
async def test_max_turns_are_those_of_one_request(claude_code: ClaudeCode) -> None:
    """A run whose tools pydantic-ai runs has a request for each turn."""
    counted = Counted(claude_code, "agent", [*[call("working", {})] * 5, "Done."])
    counted.agent.tool_plain(counted.working)
    settings: ClaudeCodeModelSettings = {"max_turns": 2}
    assert (await counted.agent.run("Go.", model_settings=settings)).output == "Done."


@pytest.mark.cli
@pytest.mark.parametrize("mode", MODES)
async def test_a_slow_reader_of_a_stream_does_not_soften_the_limits(claude_code: ClaudeCode, mode: str) -> None:
    counted = Counted(claude_code, mode, always(turn(say("Once more."), call("failing", {}))))
    counted.agent.tool_plain(counted.failing)
    counted.register()

    async def slowly() -> None:
        async with counted.agent.run_stream_events("Go.") as events:
            async for _ in events:
                await asyncio.sleep(0)

    with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries count of 1"):
        await slowly()
    assert len(counted.server.requests) == 2
    assert cli_processes() == set()


@pytest.mark.cli
async def test_a_request_without_tools_or_limits_is_not_held_up(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(["Hello."])
    response = await model_request(
        model, [ModelRequest.user_text_prompt("Hi.")], model_request_parameters=ModelRequestParameters()
    )
    assert response.text == "Hello."
