"""Side by side with pydantic-ai's `AnthropicModel`: the same failure has the same type, the same end the same text."""

from __future__ import annotations

import copy
import pickle
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from pydantic_ai import Agent, ModelRequest, ModelResponse, TextPart, UserPromptPart, exceptions
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from tests.support import ClaudeCode, cli_processes

from hikidashi import ClaudeCodeError
from hikidashi.claude.failures import DeadlineError, api_failure, failed_process
from hikidashi.claude.stream import finish_details
from hikidashi.errors import ClaudeCodeNotFoundError, ClaudeCodeTimeoutError
from hikidashi.testing import Answer, RecordedRequest, Reply, call, fault, say, turn


def always(answer: Answer) -> Callable[[RecordedRequest], Answer]:
    return lambda _: answer


@asynccontextmanager
async def anthropic_model(base_url: str, timeout: float | None = None) -> AsyncGenerator[AnthropicModel]:
    async with AsyncAnthropic(base_url=base_url, api_key="sk-test", max_retries=0, timeout=timeout) as client:
        yield AnthropicModel("claude-sonnet-5-5", provider=AnthropicProvider(anthropic_client=client))


def pydantic_ai_types(error: BaseException) -> set[str]:
    """Every public exception of pydantic-ai that catches `error`."""
    public = {name: getattr(exceptions, name) for name in exceptions.__all__}
    return {name for name, kind in public.items() if isinstance(kind, type) and isinstance(error, kind)}


async def failure(model: Model[Any], history: list[ModelMessage] | None = None) -> exceptions.AgentRunError:
    with pytest.raises(exceptions.AgentRunError) as caught:
        await Agent(model).run("Go.", message_history=history)
    return caught.value


FAILURES: dict[str, Answer] = {
    "bad request": fault.status(400, "invalid_request_error", "messages: nope"),
    "context window": fault.status(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "no credits": fault.status(400, "invalid_request_error", "Your credit balance is too low to access the API."),
    "wrong key": fault.status(401, "authentication_error", "invalid x-api-key"),
    "billing": fault.status(402, "billing_error", "Payment required."),
    "forbidden": fault.status(403, "permission_error", "Not yours."),
    "unknown model": fault.status(404, "not_found_error", "model: sonnet"),
    "conflict": fault.status(409, "api_error", "Conflict."),
    "too large": fault.status(413, "request_too_large", "Request exceeds the maximum size."),
    "rate limit": fault.rate_limited(retry_after=7),
    "server error": fault.server_error(),
    "unavailable": fault.status(503, "api_error", "Unavailable."),
    "overloaded, as 503": fault.status(503, "api_error", "The model is overloaded."),
    "gateway timeout": fault.status(504, "timeout_error", "Too slow."),
    "overloaded": fault.overloaded(),
    "broken off": fault.cut(after_events=2, reply=say("half an answer")),
    "malformed": fault.malformed(),
}


# Claude Code reports these by their status alone; of the others it writes a text of its own.
BY_STATUS = ["billing", "forbidden", "conflict", "too large", "unavailable", "gateway timeout"]


@pytest.mark.parametrize("label", BY_STATUS)
async def test_a_status_has_the_types_that_anthropic_model_gives_it(claude_code: ClaudeCode, label: str) -> None:
    _, server = claude_code(always(FAILURES[label]))
    async with anthropic_model(server.url) as peer:
        theirs = await failure(peer)
    assert isinstance(theirs, exceptions.ModelHTTPError)
    assert pydantic_ai_types(api_failure("It said so", theirs.status_code, "sonnet")) == pydantic_ai_types(theirs)


@pytest.mark.cli
@pytest.mark.parametrize("label", [label for label in FAILURES if label not in BY_STATUS])
async def test_a_failure_has_the_types_that_anthropic_model_gives_it(claude_code: ClaudeCode, label: str) -> None:
    model, server = claude_code(always(FAILURES[label]))
    async with anthropic_model(server.url) as peer:
        theirs, ours = await failure(peer), await failure(model)
    assert pydantic_ai_types(ours) == pydantic_ai_types(theirs)
    assert isinstance(ours, ClaudeCodeError)
    assert getattr(ours, "status_code", None) == getattr(theirs, "status_code", None)
    assert ("ANTHROPIC_BASE_URL" in str(ours)) == (label in {"broken off", "malformed"})
    assert cli_processes() == set()


@pytest.mark.cli
async def test_an_api_that_is_not_there_has_the_type_that_anthropic_model_gives_it(claude_code: ClaudeCode) -> None:
    nowhere = "http://127.0.0.1:9"
    model, _ = claude_code([], env={"ANTHROPIC_BASE_URL": nowhere})
    async with anthropic_model(nowhere) as peer:
        assert pydantic_ai_types(await failure(model)) == pydantic_ai_types(await failure(peer))


@pytest.mark.cli
async def test_a_full_context_says_to_shorten_the_conversation(claude_code: ClaudeCode) -> None:
    """Also where Claude Code first tried to compact a longer conversation."""
    model, _ = claude_code(always(FAILURES["context window"]))
    said = [ModelRequest(parts=[UserPromptPart("Tell me.")]), ModelResponse(parts=[TextPart("Once upon a time.")])]
    error = await failure(model, said * 4)
    assert isinstance(error, exceptions.ModelContextWindowExceededError)
    assert "shorten the history" in str(error)


@pytest.mark.cli
async def test_a_request_that_takes_too_long_has_the_type_of_a_transport_timeout(claude_code: ClaudeCode) -> None:
    model, server = claude_code(always(fault.hang()), timeout=2.0)
    async with anthropic_model(server.url, timeout=0.2) as peer:
        theirs, ours = await failure(peer), await failure(model)
    assert pydantic_ai_types(ours) == pydantic_ai_types(theirs)
    assert isinstance(ours, ClaudeCodeTimeoutError)
    assert isinstance(ours, TimeoutError)


@pytest.mark.cli
@pytest.mark.parametrize(
    "broken",
    [{"cli_path": "/nowhere/claude"}, {"timeout": 1.5}],
    ids=["no CLI", "timeout"],
)
async def test_a_fallback_model_goes_on_with_the_next_model(claude_code: ClaudeCode, broken: dict[str, Any]) -> None:
    model, _ = claude_code(always(fault.hang()), **broken)
    result = await Agent(FallbackModel(model, TestModel(custom_output_text="the second"))).run("Go.")
    assert result.output == "the second"


# How an answer ends

ENDS: dict[str, Reply] = {
    "max_tokens": say("half an ans", stop_reason="max_tokens"),
    "context window": say("half an ans", stop_reason="model_context_window_exceeded"),
    "refusal": say("I can", stop_reason="refusal"),
    "max_tokens in a second block": turn("one", "two", stop_reason="max_tokens"),
    "stop sequence": say("so far", stop_reason="stop_sequence"),
    "end": say("all of it"),
}


@pytest.mark.cli
@pytest.mark.parametrize(("label", "stream"), [*((label, True) for label in ENDS), ("max_tokens", False)])
async def test_an_answer_ends_as_it_does_for_anthropic_model(claude_code: ClaudeCode, label: str, stream: bool) -> None:
    async def ending(model: Model[Any]) -> tuple[Any, ...]:
        agent = Agent(model)
        if stream:
            async with agent.run_stream("Go.") as running:
                output, response = await running.get_output(), running.response
        else:
            result = await agent.run("Go.")
            output, response = result.output, result.response
        details = response.provider_details or {}
        return output, response.finish_reason, details["finish_reason"], details.get("refusal")

    # Claude Code asks the model to go on before it can be stopped; that request never gets an answer.
    model, server = claude_code([ENDS[label], ENDS[label], fault.hang()])
    async with anthropic_model(server.url) as peer:
        assert await ending(peer) == await ending(model)
    assert len(server.requests) <= 3
    assert cli_processes() == set()


@pytest.mark.cli
async def test_a_refusal_without_a_word_is_a_content_filter_error(claude_code: ClaudeCode) -> None:
    refusal = Reply(stop_reason="refusal")
    model, server = claude_code([refusal, refusal, fault.hang()])
    async with anthropic_model(server.url) as peer:
        theirs, ours = await failure(peer), await failure(model)
    assert pydantic_ai_types(ours) == pydantic_ai_types(theirs) >= {"ContentFilterError"}


@pytest.mark.cli
@pytest.mark.parametrize("tool_execution", ["mcp", "agent"])
async def test_an_answer_cut_after_a_tool_call_keeps_the_call_and_the_text(
    claude_code: ClaudeCode, tool_execution: str
) -> None:
    def script(request: RecordedRequest) -> Answer:
        if not request.tool_results:
            return call("add", {"a": 1, "b": 2})
        return say("The sum is", stop_reason="max_tokens")

    model, _ = claude_code(script, tool_execution=tool_execution)
    agent = Agent(model)

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    if tool_execution == "mcp":
        model.set_agent_toolsets(agent._function_toolset)
    result = await agent.run("Go.")
    assert (result.output, result.response.finish_reason) == ("The sum is", "length")
    assert cli_processes() == set()


@pytest.mark.cli
@pytest.mark.parametrize("tool_execution", ["mcp", "agent"])
async def test_a_call_that_was_complete_when_the_tokens_ran_out_is_run(
    claude_code: ClaudeCode, tool_execution: str
) -> None:
    added: list[int] = []

    def add(a: int, b: int) -> int:
        """Add."""
        added.append(a + b)
        return added[-1]

    def script(request: RecordedRequest) -> Answer:
        cut = turn("I add.", call("add", {"a": 1, "b": 2}), stop_reason="max_tokens")
        return say("Three.") if request.tool_results else cut

    model, server = claude_code(script, tool_execution=tool_execution)
    if tool_execution == "mcp":
        model.set_agent_toolsets(add)
    async with anthropic_model(server.url) as peer:
        outputs = [(await Agent(each, tools=[add]).run("Go.")).output for each in (peer, model)]
    assert (outputs, added) == (["Three.", "Three."], [3, 3])


def test_the_reason_of_a_refusal_is_kept() -> None:
    delta = {"stop_reason": "refusal", "stop_details": {"explanation": "Not that.", "category": "bio"}}
    assert finish_details(delta) == {
        "finish_reason": "refusal",
        "refusal": "Not that.",
        "refusal_category": "bio",
    }


# The errors themselves


@pytest.mark.parametrize(
    "error",
    [
        *(api_failure("It said so", status, "sonnet") for status in (400, 401, 402, 403, 404, 409, 413, 422, 429, 500)),
        *(api_failure("It said so", status, "sonnet") for status in (502, 503, 504, 529, None)),
        api_failure("Prompt is too long", 400, "sonnet"),
        api_failure("API Error: Request timed out.", None, "sonnet"),
        api_failure("API Error: Connection error.", None, "sonnet"),
        DeadlineError(3, "an answer", "sonnet"),
        failed_process(None, "sonnet", "last line"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_pickle_and_copy(error: Any) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again), pydantic_ai_types(again)) == (
            type(error),
            str(error),
            pydantic_ai_types(error),
        )
        assert again.model_name == "sonnet"
        assert again.message


@pytest.mark.parametrize(
    ("said", "status", "kind"),
    [
        ("API Error: 529 Overloaded", None, "ModelOverloadedError"),
        ("API Error: Request timed out.", None, "ModelTimeoutError"),
        ("API Error: Connection error.", None, "ModelConnectionError"),
        ("API Error: Unable to connect to API (ECONNREFUSED)", None, "ModelConnectionError"),
        ("Credit balance is too low", 400, "ModelQuotaExceededError"),
        ("Something else", 418, "ModelHTTPError"),
    ],
)
def test_what_the_cli_said_decides_where_the_status_does_not(said: str, status: int | None, kind: str) -> None:
    assert kind in pydantic_ai_types(api_failure(said, status, "sonnet"))


def test_a_missing_cli_is_named() -> None:
    from claude_agent_sdk import CLINotFoundError

    error = failed_process(CLINotFoundError("Claude Code not found", "/nowhere"), "sonnet", "")
    assert isinstance(error, ClaudeCodeNotFoundError)
    assert error.path == "/nowhere"
    assert "/nowhere" in str(pickle.loads(pickle.dumps(error)))
