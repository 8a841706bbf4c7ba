"""Calls of one turn that run in different places: each runs once, and no result is lost.

Some calls of a turn wait for pydantic-ai (all in agent mode; approval and output in mcp mode), others run in Claude
Code itself or in the MCP server behind it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry
from pydantic_ai.messages import ModelMessage, NativeToolReturnPart
from tests.support import ClaudeCode, cli_processes

from hikidashi import ClaudeCodeModel
from hikidashi.claude.launch import current_scope
from hikidashi.testing import MessagesServer, RecordedRequest, call, say, turn
from hikidashi.testing.script import blocks_of

pytestmark = pytest.mark.cli


def results(request: RecordedRequest) -> list[tuple[str, str]]:
    """Name and text of each result in the last user message, in the order of the calls they answer."""
    blocks = [block for message in request.messages for block in blocks_of(message["content"])]
    names = {block["id"]: block["name"].rpartition("__")[2] for block in blocks if block["type"] == "tool_use"}
    texts = zip(request.tool_results, request.tool_result_texts, strict=True)
    answered = {block["tool_use_id"]: text for block, text in texts}
    return [(name, answered[call_id]) for call_id, name in names.items() if call_id in answered]


def kept(messages: list[ModelMessage]) -> list[tuple[str, object, str]]:
    """What the history says of the calls that Claude Code or the MCP server ran."""
    parts = (part for message in messages for part in message.parts if isinstance(part, NativeToolReturnPart))
    return [(part.tool_name.rpartition("__")[2], part.content, part.outcome) for part in parts]


def said(server: MessagesServer) -> list[str]:
    """Texts of the user in the last request."""
    contents = [blocks_of(message["content"]) for message in server.requests[-1].messages if message["role"] == "user"]
    return [block["text"] for content in contents for block in content if block["type"] == "text"]


class Shop:
    """Tools whose runs are counted."""

    def __init__(self, model: ClaudeCodeModel, *, sequential: bool = False, output_type: Any = str) -> None:
        self.paid: list[int] = []
        self.deleted: list[str] = []
        self.agent: Agent[None, Any] = Agent(model, output_type=[output_type, DeferredToolRequests])

        @self.agent.tool_plain(sequential=sequential)
        async def pay(yen: int) -> str:
            """Pay."""
            await asyncio.sleep(0.1)  # longer than the rest of the turn takes to arrive
            if yen < 0:
                raise ModelRetry("No refunds.")
            self.paid.append(yen)
            return f"paid {yen}"

        @self.agent.tool_plain(requires_approval=True)
        def delete(path: str) -> str:
            """Delete a file."""
            self.deleted.append(path)
            return f"{path} is gone"

        model.set_agent_toolsets(self.agent._function_toolset)


PAY, DELETE = call("pay", {"yen": 5}), call("delete", {"path": "a.txt"})
ORDERS = {
    "parked last": [PAY, DELETE],
    "parked first": [DELETE, PAY],
    "mixed": [DELETE, PAY, DELETE, PAY],
}


@pytest.mark.parametrize(
    ("order", "sequential"), [*((order, False) for order in ORDERS.values()), (ORDERS["mixed"], True)]
)
async def test_a_tool_beside_one_that_needs_approval_runs_once_and_its_result_stays(
    claude_code: ClaudeCode, order: list[Any], sequential: bool
) -> None:
    model, server = claude_code([turn(*order), say("done")])
    shop = Shop(model, sequential=sequential)

    asked = await shop.agent.run("Pay and delete.")
    assert isinstance(asked.output, DeferredToolRequests)
    payments, deletions = order.count(PAY), order.count(DELETE)
    assert (shop.paid, shop.deleted) == ([5] * payments, [])
    assert kept(asked.all_messages()) == [("pay", "paid 5", "success")] * payments
    assert cli_processes() == set()

    approvals = DeferredToolResults(approvals={part.tool_call_id: True for part in asked.output.approvals})
    done = await shop.agent.run(message_history=asked.all_messages(), deferred_tool_results=approvals)
    assert done.output == "done"
    assert results(server.requests[1]) == [
        ("pay", "paid 5") if given is PAY else ("delete", "a.txt is gone") for given in order
    ]
    assert (shop.paid, shop.deleted) == ([5] * payments, ["a.txt"] * deletions)
    assert said(server) == ["Pay and delete."]

    assert server.refusals == []


class Receipt(BaseModel):
    yen: int


@pytest.mark.parametrize("output_last", [True, False], ids=["output last", "output first"])
async def test_a_tool_beside_the_final_output_runs_once_and_its_result_stays(
    claude_code: ClaudeCode, output_last: bool
) -> None:
    final = call("final_result", {"yen": 5})
    model, server = claude_code([turn(PAY, final) if output_last else turn(final, PAY), final])
    shop = Shop(model, output_type=Receipt)
    done = await shop.agent.run("Pay.")
    assert done.output == Receipt(yen=5)
    assert shop.paid == [5]
    assert kept(done.all_messages()) == [("pay", "paid 5", "success")]

    await shop.agent.run("Sure?", message_history=done.all_messages())
    assert ("pay", "paid 5") in results(server.requests[1])
    assert shop.paid == [5]
    assert server.refusals == []


async def test_an_output_that_is_sent_back_does_not_repeat_the_call_beside_it(claude_code: ClaudeCode) -> None:
    wrong, right = call("final_result", {"yen": "five"}), call("final_result", {"yen": 5})
    used: list[set[int]] = []

    def answer(request: RecordedRequest) -> Any:
        used.append(cli_processes())
        return right if request.tool_results else turn(wrong, PAY)

    model, server = claude_code(answer)
    shop = Shop(model, output_type=Receipt)
    done = await shop.agent.run("Pay.")
    assert (done.output, shop.paid) == (Receipt(yen=5), [5])
    assert [name for name, _ in results(server.requests[1])] == ["final_result", "pay"]
    assert used[0] == used[1]
    assert server.refusals == []


async def test_a_failure_beside_a_parked_call_stays_in_the_history(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([turn(DELETE, call("pay", {"yen": -1}))])
    asked = await Shop(model).agent.run("Refund.")
    assert kept(asked.all_messages()) == [("pay", "No refunds.", "failed")]


async def test_results_stream_before_the_parked_call_is_run(claude_code: ClaudeCode) -> None:
    model, _ = claude_code([turn(DELETE, PAY)])
    shop = Shop(model)
    starts: list[str] = []
    async with shop.agent.iter("Go.") as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    starts += [event.part.part_kind async for event in stream if event.event_kind == "part_start"]
    assert starts == ["tool-call", "builtin-tool-call", "builtin-tool-return"]


NOTE = call("note", {"text": "x"})
FILES = {
    "Read first": (["Read", "note"], 1),
    "Write first": (["Write", "note"], 1),
    "unknown tool": (["note", "Nothing"], 1),
    # Claude Code may run what stands behind a call only after it: the call cannot wait there, and another CLI goes on.
    "Read last": (["note", "Read"], 2),
    "Write last": (["note", "Write"], 2),
    "all mixed": (["note", "Write", "note", "Read"], 2),
}


@pytest.mark.parametrize(("order", "processes"), FILES.values(), ids=FILES)
async def test_claude_codes_own_tools_answer_beside_those_of_the_agent(
    claude_code: ClaudeCode, tmp_path: Path, order: list[str], processes: int
) -> None:
    there, new = tmp_path / "there.txt", tmp_path / "new.txt"
    there.write_text("tea")
    calls = {
        "note": NOTE,
        "Read": call("Read", {"file_path": str(there)}),
        "Write": call("Write", {"file_path": str(new), "content": "cake"}),
        "Nothing": call("Nothing", {}),
    }
    used: set[int] = set()

    def answer(request: RecordedRequest) -> Any:
        used.update(cli_processes())
        return say("done") if request.tool_results else turn(*(calls[name] for name in order))

    model, server = claude_code(
        answer,
        tool_execution="agent",
        allowed_tools=["Read", "Write"],
        permission_mode="acceptEdits",
    )
    agent = Agent(model)
    noted: list[str] = []

    @agent.tool_plain
    def note(text: str) -> str:
        """Note."""
        noted.append(text)
        return f"noted {text}"

    done = await agent.run("Go.")
    assert done.output == "done"
    assert noted == ["x"] * order.count("note")
    assert len(server.requests) == 2
    answered = results(server.requests[1])
    assert [name for name, _ in answered] == order
    words = {"note": "noted x", "Read": "tea", "Write": "successfully", "Nothing": "No such tool"}
    assert all(words[name] in text for name, text in answered)
    assert [name for name, *_ in kept(done.all_messages())] == [name for name in order if name != "note"]
    assert new.exists() == ("Write" in order)
    assert said(server) == ["Go."]
    assert 1 <= len(used) <= processes  # it depends on the load whether Claude Code waits for the call
    assert cli_processes() == set()


IMPATIENT = {"MCP_TOOL_TIMEOUT": "1000"}  # the least it takes


@pytest.mark.parametrize("known", [True, False], ids=["known at the answer", "learned after it"])
async def test_a_result_that_claude_code_did_not_wait_for_reaches_the_model_in_a_new_session(
    claude_code: ClaudeCode, known: bool
) -> None:
    model, server = claude_code([NOTE, say("done")], tool_execution="agent", env=IMPATIENT if known else {})
    agent = Agent(model)

    @agent.tool_plain
    async def note(text: str) -> str:
        """Note."""
        scope = current_scope(model)
        assert scope is not None
        (session,) = scope.sessions
        while known and not session.parked.abandoned:
            await asyncio.sleep(0.01)
        session.parked.release()
        return f"noted {text}"

    done = await agent.run("Go.")
    assert done.output == "done"
    assert [results(request) for request in server.requests] == [[], [("note", "noted x")]]
    assert cli_processes() == set()


async def test_a_sub_agent_does_not_wait_for_a_tool_that_only_the_main_agent_can_call(claude_code: ClaudeCode) -> None:
    def answer(request: RecordedRequest) -> Any:
        if request.tool_results:
            return say(request.tool_result_texts[0])
        task = {"description": "note", "prompt": "Note it.", "subagent_type": "general-purpose"}
        return NOTE if request.text.endswith("Note it.") else call("Task", task)

    model, _ = claude_code(answer, tool_execution="agent", allowed_tools=["Task"])
    agent = Agent(model)

    @agent.tool_plain
    def note(text: str) -> str:
        """Note."""
        raise AssertionError("it was called by a sub-agent")

    assert "cannot call this tool" in (await agent.run("Go.")).output
