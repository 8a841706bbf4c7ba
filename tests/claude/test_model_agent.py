"""`tool_execution="agent"`: pydantic-ai runs the tools, one CLI process lives for the whole run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from inline_snapshot import snapshot
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    RunContext,
    ToolReturn,
    UsageLimitExceeded,
    UsageLimits,
)
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.tools import ToolDefinition
from tests.support import PIXEL, ClaudeCode, cli_processes

from hikidashi.testing import call, say, think, turn

pytestmark = pytest.mark.cli

ADD = ToolDefinition(
    name="add",
    description="Add two numbers.",
    parameters_json_schema={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)


class Client:
    """Dependencies that no JSON can carry."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []


async def test_tools_get_live_deps_of_any_type_and_their_results_reach_the_model(claude_code: ClaudeCode) -> None:
    model, server = claude_code(
        [turn(call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4})), say("3 and 7")], tool_execution="agent"
    )
    agent = Agent(model, deps_type=Client, instructions="Be brief.")
    processes: list[set[int]] = []

    @agent.tool
    async def add(ctx: RunContext[Client], a: int, b: int) -> int:
        """Add two numbers."""
        ctx.deps.calls.append((a, b))
        processes.append(cli_processes())
        return a + b

    client = Client()
    result = await agent.run("Add.", deps=client)

    assert result.output == "3 and 7"
    assert sorted(client.calls) == [(1, 2), (3, 4)]
    assert [block["content"][0]["text"] for block in server.requests[1].tool_results] == ["3", "7"]
    assert [len(running) for running in processes] == [1, 1]
    assert processes[0] == processes[1]
    assert cli_processes() == set()


async def test_one_process_serves_every_request_of_a_run(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([*(call("seen", {}) for _ in range(4)), say("done")], tool_execution="agent")
    agent = Agent(model)
    seen: set[int] = set()

    @agent.tool_plain
    def seen_processes() -> str:
        """Not called."""
        return ""

    @agent.tool_plain(name="seen")
    def remember() -> int:
        """Remember the processes."""
        seen.update(cli_processes())
        return len(seen)

    assert (await agent.run("Go.")).output == "done"
    assert len(seen) == 1


async def test_bad_arguments_and_model_retry_come_back_to_the_model_as_errors(claude_code: ClaudeCode) -> None:
    model, server = claude_code(
        [call("half", {"n": "many"}), call("half", {"n": 3}), call("half", {"n": 4}), say("2")], tool_execution="agent"
    )
    agent = Agent(model, retries=2)

    @agent.tool_plain
    def half(n: int) -> int:
        """Half of an even number."""
        if n % 2:
            raise ModelRetry("Give me an even number.")
        return n // 2

    assert (await agent.run("Halve.")).output == "2"
    wrong, odd, right = (request.tool_results[0] for request in server.requests[1:])
    assert wrong["is_error"]
    assert "int_parsing" in str(wrong["content"])
    assert odd["is_error"]
    assert "Give me an even number." in str(odd["content"])
    assert "is_error" not in right or not right["is_error"]


async def test_images_a_tool_returns_reach_the_model(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("photo", {}), say("a dot")], tool_execution="agent")
    agent = Agent(model)

    @agent.tool_plain
    def photo() -> ToolReturn:
        """A photo."""
        return ToolReturn(["here", BinaryContent(PIXEL, media_type="image/png")])

    assert (await agent.run("Look.")).output == "a dot"
    kinds = [block["type"] for block in server.requests[1].tool_results[0]["content"]]
    assert kinds[:2] == ["text", "image"]


async def test_approval_is_asked_and_the_run_goes_on_after_it(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("delete", {"path": "a.txt"}), say("deleted")], tool_execution="agent")
    agent = Agent(model, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def delete(path: str) -> str:
        """Delete a file."""
        return f"{path} is gone"

    asked = await agent.run("Delete a.txt.")
    assert isinstance(asked.output, DeferredToolRequests)
    assert cli_processes() == set()
    approvals = DeferredToolResults(approvals={part.tool_call_id: True for part in asked.output.approvals})
    done = await agent.run("Hurry.", message_history=asked.all_messages(), deferred_tool_results=approvals)
    assert done.output == "deleted"
    assert server.requests[1].tool_results[0]["content"][0]["text"] == "a.txt is gone"
    assert server.requests[1].text == "Hurry."


async def test_a_tool_that_raises_ends_the_run_and_the_process(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([call("fail", {})], tool_execution="agent")
    agent = Agent(model)

    @agent.tool_plain
    def fail() -> str:
        """Fail."""
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError):
        await agent.run("Go.")
    assert cli_processes() == set()


async def test_a_cancelled_run_leaves_no_process_and_no_task(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("wait", {})], tool_execution="agent")
    agent = Agent(model)
    started = asyncio.Event()

    @agent.tool_plain
    async def wait() -> str:
        """Wait."""
        started.set()
        await asyncio.Event().wait()
        return ""

    before = asyncio.all_tasks()
    run = asyncio.create_task(agent.run("Go."))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert cli_processes() == set()
    assert asyncio.all_tasks() == before
    assert len(server.requests) == 1


async def test_a_usage_limit_ends_the_process(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([call("add", {"a": 1, "b": 2})], tool_execution="agent")
    agent = Agent(model)
    agent.tool_plain(_add)
    with pytest.raises(UsageLimitExceeded):
        await agent.run("Go.", usage_limits=UsageLimits(request_limit=1))
    assert cli_processes() == set()


async def test_leaving_an_iteration_early_ends_the_process(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([call("add", {"a": 1, "b": 2})], tool_execution="agent")
    agent = Agent(model)
    agent.tool_plain(_add)
    async with agent.iter("Go.") as run:
        async for node in run:
            if Agent.is_call_tools_node(node):
                break
        assert len(cli_processes()) == 1
    assert cli_processes() == set()


async def test_a_request_without_an_agent_ends_the_process_and_the_next_one_takes_the_turn_up(
    claude_code: ClaudeCode,
) -> None:
    model, server = claude_code(
        [turn(think("Let me see.", signature="c2ln"), call("add", {"a": 1, "b": 2})), say("3")], tool_execution="agent"
    )
    parameters = ModelRequestParameters(function_tools=[ADD])
    history: list[ModelMessage] = [ModelRequest.user_text_prompt("1 + 2?")]

    asked = await model_request(model, history, model_request_parameters=parameters)
    assert cli_processes() == set()
    (part,) = asked.tool_calls
    assert (part.tool_name, part.args_as_dict()) == ("add", {"a": 1, "b": 2})

    history += [asked, ModelRequest(parts=[ToolReturnPart("add", 3, part.tool_call_id)])]
    answered = await model_request(model, history, model_request_parameters=parameters)
    assert answered.text == "3"
    assert cli_processes() == set()
    sent = [m for m in server.requests[1].messages if m["role"] != "system"]
    assert [m["role"] for m in sent] == ["user", "assistant", "user"]
    assert [block["type"] for block in sent[1]["content"]] == ["thinking", "tool_use"]
    assert server.requests[1].tool_results[0]["content"][0]["text"] == "3"


async def test_text_thinking_and_calls_stream_as_they_arrive(claude_code: ClaudeCode) -> None:
    model, _ = claude_code(
        [turn(think("Hm.", signature="c2ln"), say("Let me add."), call("add", {"a": 1, "b": 2})), say("It is three.")],
        tool_execution="agent",
    )
    agent = Agent(model)
    agent.tool_plain(_add)
    kinds: list[str] = []
    async with agent.iter("1 + 2?") as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    kinds += [_kind(event) async for event in stream]
    assert run.result is not None
    assert run.result.output == "It is three."
    assert [kind for kind in kinds if kind.startswith("start")] == [
        "start ThinkingPart", "start TextPart", "start ToolCallPart", "start TextPart",
    ]  # fmt: skip
    assert kinds.count("delta TextPartDelta") >= 2
    assert "delta ToolCallPartDelta" in kinds


async def test_a_closed_stream_ends_the_process(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([say("A long answer. " * 50)], tool_execution="agent")
    agent = Agent(model)
    async with agent.run_stream("Go.") as result:
        async for _ in result.stream_text(debounce_by=None):
            break
    assert cli_processes() == set()


async def test_several_agents_run_at_once_on_one_model(claude_code: ClaudeCode) -> None:
    def answer(request: Any) -> Any:
        if request.tool_results:
            return say(request.tool_results[0]["content"][0]["text"])
        number = int(request.messages[0]["content"][0]["text"])
        return call("add", {"a": number, "b": 1000})

    model, _ = claude_code(answer, tool_execution="agent")
    agents = [Agent(model) for _ in range(2)]
    for agent in agents:
        agent.tool_plain(_add)
    runs = [agents[number % 2].run(str(number)) for number in range(4)]
    assert [result.output for result in await asyncio.gather(*runs)] == ["1000", "1001", "1002", "1003"]
    assert cli_processes() == set()


async def test_an_agent_can_be_a_tool_of_another_on_the_same_model(claude_code: ClaudeCode) -> None:
    def answer(request: Any) -> Any:
        if request.tool_results:
            return say("outer got " + request.tool_results[0]["content"][0]["text"])
        return call("ask", {}) if "mcp__pydantic_tools__ask" in request.tool_names else say("inner")

    model, _ = claude_code(answer, tool_execution="agent")
    inner, outer = Agent(model), Agent(model)

    @outer.tool_plain
    async def ask() -> str:
        """Ask the other agent."""
        return (await inner.run("Hello.")).output

    assert (await outer.run("Go.")).output == "outer got inner"


async def test_tools_that_change_during_a_run_are_offered_from_the_next_request_on(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("open_door", {}), say("ok")], tool_execution="agent")
    agent = Agent(model, deps_type=list[str])

    async def when_open(ctx: RunContext[list[str]], definition: ToolDefinition) -> ToolDefinition | None:
        return definition if ctx.deps else None

    @agent.tool(prepare=when_open)
    async def enter(ctx: RunContext[list[str]]) -> str:
        """Enter."""
        return "in"

    @agent.tool
    async def open_door(ctx: RunContext[list[str]]) -> str:
        """Open the door."""
        ctx.deps.append("open")
        return "open"

    assert (await agent.run("Go.", deps=[])).output == "ok"
    assert [
        sorted(name.removeprefix("mcp__pydantic_tools__") for name in request.tool_names) for request in server.requests
    ] == [["open_door"], ["enter", "open_door"]]


async def test_every_step_is_traced(claude_code: ClaudeCode) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    model, _ = claude_code([call("add", {"a": 1, "b": 2}), say("3")], tool_execution="agent")
    agent = Agent(
        model, name="adder", capabilities=[Instrumentation(settings=InstrumentationSettings(tracer_provider=provider))]
    )
    agent.tool_plain(_add)
    await agent.run("1 + 2?")
    names = [span.name for span in exporter.get_finished_spans()]
    assert names == snapshot(["chat sonnet", "execute_tool add", "chat sonnet", "invoke_agent adder"])


async def test_odd_tool_names_are_mapped_there_and_back(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("mail_send", {}), say("sent")], tool_execution="agent")
    agent = Agent(model)

    @agent.tool_plain(name="mail.send")
    def send() -> str:
        """Send."""
        return "sent it"

    result = await agent.run("Go.")
    assert result.output == "sent"
    assert server.requests[1].tool_results[0]["content"][0]["text"] == "sent it"


def _add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


_add.__name__ = "add"


def _kind(event: Any) -> str:
    match event.event_kind:
        case "part_start":
            return f"start {type(event.part).__name__}"
        case "part_delta":
            return f"delta {type(event.delta).__name__}"
        case other:
            return str(other)
