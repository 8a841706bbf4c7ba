"""`tool_execution="mcp"`, which `set_agent_toolsets()` asks for: an in-process MCP server runs the tools (spec 002)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    RunContext,
    Tool,
    ToolDefinition,
)
from tests.support import ClaudeCode

from hikidashi import ClaudeCodeModel, ToolNotFoundError, ToolsetNotRegisteredError, Unsupported
from hikidashi.search import to_pydantic_ai_search
from hikidashi.testing import RecordedRequest, call, say, turn

pytestmark = pytest.mark.cli


class Order(BaseModel):
    item: str
    count: int


@dataclass
class Shop:
    name: str


async def test_sync_async_and_model_arguments_run_and_their_results_reach_the_model(claude_code: ClaudeCode) -> None:
    model, server = claude_code(
        [
            turn(call("price", {"item": "茶"}), call("stock", {"item": "茶"})),
            call("buy", {"order": {"item": "茶", "count": 2}}),
            say("Bought."),
        ]
    )
    agent = Agent(model, instructions="You sell tea.")

    @agent.tool_plain
    def price(item: str) -> dict[str, Any]:
        """The price of an item."""
        return {"item": item, "yen": 800}

    @agent.tool_plain
    async def stock(item: str) -> int:
        """How many are left."""
        return 3

    @agent.tool_plain
    def buy(order: Order) -> str:
        """Buy something."""
        return f"{order.item} x {order.count}"

    model.set_agent_toolsets(agent._function_toolset)
    result = await agent.run("Two teas, please.")
    assert result.output == "Bought."
    assert sorted(server.requests[1].tool_result_texts) == ["3", '{"item": "茶", "yen": 800}']
    assert server.requests[2].tool_result_texts == ["茶 x 2"]


async def test_three_calls_of_one_turn_run_side_by_side(claude_code: ClaudeCode) -> None:
    model, server = claude_code([turn(*(call("meet", {"who": number}) for number in range(3))), say("met")])
    agent = Agent(model)
    barrier = asyncio.Barrier(3)

    @agent.tool_plain
    async def meet(who: int) -> int:
        """Meet the others."""
        await barrier.wait()
        return who

    model.set_agent_toolsets(agent._function_toolset)
    assert (await agent.run("Go.")).output == "met"
    assert sorted(server.requests[1].tool_result_texts) == ["0", "1", "2"]


async def test_a_sequential_tool_never_runs_beside_itself(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([turn(*(call("alone", {}) for _ in range(3))), say("done")])
    agent = Agent(model)
    running, most = 0, 0

    @agent.tool_plain(sequential=True)
    async def alone() -> str:
        """One at a time."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return "ok"

    model.set_agent_toolsets(agent._function_toolset)
    assert (await agent.run("Go.")).output == "done"
    assert most == 1


async def test_tools_with_deps_find_them(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("where", {}), say("there")])
    agent: Agent[Any, str] = Agent(model)

    @agent.tool
    def where(ctx: RunContext[Shop]) -> str:
        """Where we are."""
        return ctx.deps.name

    model.set_agent_toolsets(agent._function_toolset, deps=Shop("一保堂"))
    await agent.run("Where?")
    assert server.requests[1].tool_result_texts == ["一保堂"]


async def test_several_toolsets_register_and_only_what_the_agent_offers_is_offered(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("ok"), say("ok")])
    tea, cake, hidden = (FunctionToolset[object]() for _ in range(3))
    tea.add_function(lambda: "tea", name="tea", description="Tea.")
    cake.add_function(lambda: "cake", name="cake", description="Cake.")
    hidden.add_function(lambda: "no", name="hidden", description="Hidden.")
    model.set_agent_toolsets(tea, cake, hidden)
    await Agent(model, toolsets=[tea, cake]).run("Hello.")
    await Agent(model, toolsets=[cake]).run("Hello.")
    offered = [sorted(request.tool_names) for request in server.requests]
    assert offered == [["mcp__pydantic_tools__cake", "mcp__pydantic_tools__tea"], ["mcp__pydantic_tools__cake"]]


async def test_a_tool_is_offered_as_the_agent_prepared_it(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("ok")])
    agent = Agent(model)

    async def in_japanese(_: RunContext[object], definition: ToolDefinition) -> ToolDefinition:
        return replace(definition, description="お茶を淹れる")

    @agent.tool_plain(prepare=in_japanese)
    def tea() -> str:
        """Make tea."""
        return "sencha"

    model.set_agent_toolsets(agent._function_toolset)
    await agent.run("Hello.")
    assert [tool["description"] for tool in server.requests[0].tools] == ["お茶を淹れる"]


async def test_a_renamed_or_replaced_server_leaves_nothing_behind(
    claude_code: ClaudeCode, caplog: pytest.LogCaptureFixture
) -> None:
    model, server = claude_code([call("new", {}), say("ok")])
    old, new = FunctionToolset[object](), FunctionToolset[object]()
    old.add_function(lambda: "old", name="old", description="Old.")
    new.add_function(lambda: "new", name="new", description="New.")
    model.set_agent_toolsets(old)
    with caplog.at_level(logging.WARNING, "hikidashi"):
        model.set_agent_toolsets(new, server_name="kitchen")
    assert "replaced" in caplog.text
    assert list(model.mcp_servers) == ["kitchen"]
    await Agent(model, toolsets=[new]).run("Hello.")
    assert server.requests[0].tool_names == ["mcp__kitchen__new"]
    with pytest.raises(ToolNotFoundError, match="old"):
        await Agent(model, toolsets=[old]).run("Hello.")


async def test_tools_without_registration_are_refused_with_the_remedy(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([], tool_execution="mcp")
    agent = Agent(model)
    agent.tool_plain(name="lost")(lambda: "")
    with pytest.raises(ToolsetNotRegisteredError, match=r"set_agent_toolsets.*tool_execution=\"agent\""):
        await agent.run("Go.")


async def test_one_model_serves_concurrent_requests(claude_code: ClaudeCode) -> None:
    def answer(request: RecordedRequest) -> Any:
        if request.tool_results:
            return say(request.tool_result_texts[0])
        return call("double", {"n": int(request.messages[0]["content"][0]["text"])})

    model, _ = claude_code(answer)
    agent = Agent(model)

    @agent.tool_plain
    def double(n: int) -> int:
        """Twice."""
        return 2 * n

    model.set_agent_toolsets(agent._function_toolset)
    results = await asyncio.gather(*(agent.run(str(number)) for number in range(4)))
    assert [result.output for result in results] == ["0", "2", "4", "6"]


async def test_approval_is_left_to_pydantic_ai(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("delete", {"path": "a.txt"}), say("deleted")])
    agent = Agent(model, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def delete(path: str) -> str:
        """Delete a file."""
        return f"{path} is gone"

    model.set_agent_toolsets(agent._function_toolset)
    asked = await agent.run("Delete a.txt.")
    assert isinstance(asked.output, DeferredToolRequests)
    approvals = DeferredToolResults(approvals={part.tool_call_id: True for part in asked.output.approvals})
    done = await agent.run(message_history=asked.all_messages(), deferred_tool_results=approvals)
    assert done.output == "deleted"
    assert server.requests[1].tool_result_texts == ["a.txt is gone"]


async def test_calls_of_claude_code_stream_as_they_happen(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([turn(say("Let me see."), call("tea", {})), say("Here you are.")])
    agent = Agent(model)
    agent.tool_plain(name="tea")(lambda: "sencha")
    model.set_agent_toolsets(agent._function_toolset)
    starts: list[str] = []
    async with agent.iter("Tea?") as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    starts += [event.part.part_kind async for event in stream if event.event_kind == "part_start"]
    assert starts == ["text", "builtin-tool-call", "builtin-tool-return", "text"]
    assert run.result is not None
    assert run.result.output == "Here you are."


async def test_ten_thousand_registered_tools_start_as_well_as_one(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("t7", {}), say("seven")])
    many = FunctionToolset[object]()
    no_arguments: dict[str, Any] = {"type": "object", "properties": {}}
    for number in range(10_000):
        many.add_tool(Tool.from_schema(lambda: "x", f"t{number}", f"Tool {number}.", no_arguments))
    model.set_agent_toolsets(many)
    result = await Agent(model, toolsets=[many.filtered(lambda _, tool: tool.name == "t7")]).run("Go.")
    assert result.output == "seven"
    assert server.requests[0].tool_names == ["mcp__pydantic_tools__t7"]


async def test_pydantic_ai_may_search_among_the_registered_tools(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("search_tools", {"queries": ["brew tea"]}), call("brew", {}), say("Here.")])
    shop = FunctionToolset[object]()
    shop.add_function(lambda: "sencha", name="brew", description="Brew tea.", defer_loading=True)
    shop.add_function(lambda: "cake", name="bake", description="Bake a cake.", defer_loading=True)
    model.set_agent_toolsets(shop)
    result = await Agent(model, toolsets=[shop], capabilities=[to_pydantic_ai_search()]).run("Tea, please.")
    assert result.output == "Here."
    assert server.requests[-1].tool_result_texts == ["sencha"]
    assert not any(name.endswith("__bake") for request in server.requests for name in request.tool_names)


def test_toolsets_may_come_from_a_generator_and_a_class_is_refused_as_no_tool() -> None:
    def add(a: int) -> int:
        """Add."""
        return a

    model = ClaudeCodeModel("sonnet")
    model.set_agent_toolsets(function for function in [add])
    assert model._process_function_tools(["add"]) is not None
    with pytest.raises(Unsupported, match="is not a tool"):
        model.set_agent_toolsets(Agent)
