"""Tools that may not be used, and values that their parameters may not have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import create_sdk_mcp_server, tool
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent, DeferredToolRequests, NativeToolReturnPart, Tool
from pydantic_ai.messages import ToolCallPart
from tests.support import ClaudeCode, cli_processes

from hikidashi import ClaudeCodeModel
from hikidashi.claude.restrictions import checked_restrictions
from hikidashi.errors import InvalidSettingError
from hikidashi.testing import RecordedRequest, Reply, call, say, turn

MODES = ["mcp", "agent"]


def told(request: RecordedRequest) -> Reply:
    return say(" | ".join(request.tool_result_texts))


def once(*calls: Reply) -> Callable[[RecordedRequest], Reply]:
    """A model that makes these calls in one turn, and then says what it read."""
    return lambda request: told(request) if request.tool_results else turn(*calls)


class Mail:
    """An agent with a tool that must not write to just anybody."""

    def __init__(self, model: ClaudeCodeModel, **options: Any) -> None:
        self.sent: list[str] = []
        self.agent: Agent[Any, Any] = Agent(model, tools=[self.send, self.count], **options)
        if model.tool_execution == "mcp":
            model.set_agent_toolsets(self.agent)

    def send(self, to: str, urgent: bool = False) -> str:
        """Send a mail."""
        self.sent.append(to)
        return f"sent to {to}"

    def count(self) -> int:
        """Count the mails."""
        return len(self.sent)


def is_relative(path: str) -> bool:
    """A path below this folder."""
    return not path.startswith("/")


def is_small(value: int) -> bool:
    return value < 10


EXAMPLE = re.compile(r"[a-z]+@example\.com")


# The agent's own tools


@pytest.mark.cli
@pytest.mark.parametrize(
    ("mode", "name"),
    [("mcp", "send"), ("agent", "s*"), ("mcp", "mcp__pydantic_tools"), ("agent", "mcp__pydantic_tools__send")],
)
async def test_a_call_with_a_value_that_is_not_allowed_does_not_run(
    claude_code: ClaudeCode, mode: str, name: str
) -> None:
    script = once(call("send", {"to": "eve@evil.test"}), call("send", {"to": "ann@example.com"}), call("count", {}))
    model, _ = claude_code(script, tool_execution=mode, tool_parameter_restrictions={name: {"to": EXAMPLE}})
    mail = Mail(model)

    output = (await mail.agent.run("Write.")).output

    assert mail.sent == ["ann@example.com"]
    for said in ("parameter 'to' cannot be \"eve@evil.test\"", EXAMPLE.pattern.replace("\\", "\\\\"), "sent to ann"):
        assert said in output
    assert cli_processes() == set()


@pytest.mark.cli
@pytest.mark.parametrize("mode", MODES)
async def test_a_turn_of_refused_calls_alone_goes_on_and_stays_in_the_history(
    claude_code: ClaudeCode, mode: str
) -> None:
    script = [call("send", {"to": "eve@evil.test"}), call("send", {"to": "ann@example.com"}), say("Done."), say("Yes.")]
    model, server = claude_code(
        script, tool_execution=mode, tool_parameter_restrictions={"send": {"to": EXAMPLE, "urgent": False}}
    )
    mail = Mail(model)

    result = await mail.agent.run("Write.")
    again = await mail.agent.run("Really?", message_history=result.all_messages())

    assert (result.output, again.output, mail.sent) == ("Done.", "Yes.", ["ann@example.com"])
    refused = [part for message in result.all_messages() for part in message.parts]
    assert any(isinstance(part, NativeToolReturnPart) and part.outcome == "failed" for part in refused)
    assert 'cannot be "eve@evil.test"' in json.dumps(server.requests[-1].body, ensure_ascii=False).replace('\\"', '"')


@pytest.mark.cli
@pytest.mark.parametrize("mode", MODES)
async def test_a_disallowed_tool_of_the_agent_is_not_offered(claude_code: ClaudeCode, mode: str) -> None:
    model, server = claude_code([say("No.")], tool_execution=mode, disallowed_tools=["send"])
    await Mail(model).agent.run("Write.")
    assert server.requests[0].tool_names == ["mcp__pydantic_tools__count"]


@pytest.mark.cli
@pytest.mark.parametrize(("mode", "name"), [("agent", "send"), ("mcp", "mcp__pydantic_tools__send")])
async def test_a_restricted_call_that_is_allowed_still_waits_for_approval(
    claude_code: ClaudeCode, mode: str, name: str
) -> None:
    sent: list[str] = []

    def send(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    script = [turn(call("send", {"to": "eve@evil.test"}), call("send", {"to": "ann@example.com"}))]
    model, _ = claude_code(script, tool_execution=mode, tool_parameter_restrictions={name: {"to": EXAMPLE}})
    agent = Agent(model, tools=[Tool(send, requires_approval=True)], output_type=[str, DeferredToolRequests])
    if mode == "mcp":
        model.set_agent_toolsets(agent)

    result = await agent.run("Write.")

    assert isinstance(result.output, DeferredToolRequests)
    assert [part.args_as_dict() for part in result.output.approvals] == [{"to": "ann@example.com"}]
    assert all(isinstance(part, ToolCallPart) for part in result.output.approvals)
    assert sent == []


# Tools of Claude Code, and of further servers


@pytest.mark.cli
async def test_tools_of_claude_code_itself_are_restricted(claude_code: ClaudeCode, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the text")
    calls = [
        call("Bash", {"command": "echo one", "run_in_background": True}),
        call("Bash", {"command": "echo two"}),
        call("Bash", {"command": "echo secret"}),
        call("Read", {"file_path": "/etc/hostname"}),
        call("Read", {"file_path": str(tmp_path / "a.txt")}),
    ]
    model, _ = claude_code(
        once(*calls),
        allowed_tools=["Bash", "Read"],
        disallowed_tools=["Bash(echo secret:*)", "Write"],
        tool_parameter_restrictions={
            "Bash": {"run_in_background": False},
            "Read": {"file_path": re.compile(re.escape(str(tmp_path)) + "/.*")},
        },
        permission_mode="bypassPermissions",
        env={"IS_SANDBOX": "1"},
    )
    results = (await Agent(model).run("Go.")).output.split(" | ")
    assert len(results) == len(calls)
    for said in (
        "parameter 'run_in_background' cannot be true. Allowed: false",
        "two",
        "Permission to use Bash with command echo secret has been denied",
        "parameter 'file_path' cannot be \"/etc/hostname\"",
        "the text",
    ):
        assert sum(said in result for result in results) == 1


@pytest.mark.cli
async def test_a_disallowed_tool_of_claude_code_is_not_offered(claude_code: ClaudeCode) -> None:
    model, server = claude_code(
        [say("No.")], allowed_tools=["Read", "Bash", "Glob"], disallowed_tools=["Bash", "mcp__none__x"]
    )
    await Agent(model).run("Go.")
    assert sorted(server.requests[0].tool_names) == ["Glob", "Read"]


@pytest.mark.cli
async def test_tools_of_further_servers_are_restricted(claude_code: ClaudeCode) -> None:
    @tool("write", "Write.", {"path": str})
    async def write(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"wrote {arguments['path']}"}]}

    server = create_sdk_mcp_server("files", tools=[write])
    model, _ = claude_code(
        once(call("mcp__files__write", {"path": "/etc/x"}), call("mcp__files__write", {"path": "here"})),
        mcp_servers={"files": server},
        allowed_tools=["mcp__files"],
        tool_parameter_restrictions={"mcp__files__write": {"path": is_relative}},
    )
    refused, done = (await Agent(model).run("Go.")).output.split(" | ")
    assert "parameter 'path' cannot be \"/etc/x\"" in refused
    assert "wrote here" in done


# What can be said


def refusal(allowed: Any, arguments: dict[str, Any], schema: Any = None) -> str | None:
    return checked_restrictions((), {"t": {"p": allowed}}).refusal("t", arguments, schema)


@pytest.mark.parametrize(
    ("allowed", "good", "bad"),
    [
        (False, [False], [True, 0, None, "false"]),
        (1, [1, 1.0], [True, 2, "1"]),
        ("x", ["x"], ["X", ["x"]]),
        (None, [None], [False, 0, ""]),
        (("a", "b"), ["a", "b"], ["c", ("a", "b"), ["a"]]),
        ({1, 2}, [1, 2.0], [True, 3]),
        ((), [], ["a", None]),
        (["a", "b"], [["a", "b"]], ["a", ["b", "a"]]),
        ({"k": [1]}, [{"k": [1.0]}], [{"k": [True]}, {}]),
        (re.compile("a+"), ["a", "aaa"], ["ab", "ba", 3, None, "a\n"]),
        (is_small, [4], [10, "x"]),
    ],
    ids=["false", "number", "text", "none", "tuple", "set", "empty", "list", "object", "pattern", "function"],
)
def test_what_a_parameter_may_be(allowed: Any, good: list[Any], bad: list[Any]) -> None:
    assert [refusal(allowed, {"p": value}) for value in good] == [None] * len(good)
    assert all("parameter 'p' cannot be" in (refusal(allowed, {"p": value}) or "") for value in bad)


def test_a_parameter_left_out_counts_with_its_default() -> None:
    schema = {"type": "object", "properties": {"p": {"type": "boolean", "default": True}}}
    assert refusal(False, {}) is None
    assert "cannot be true" in (refusal(False, {}, schema) or "")
    assert refusal(True, {}, schema) is None


def test_a_refusal_says_what_a_function_accepts() -> None:
    assert "Allowed: A path below this folder." in (refusal(is_relative, {"p": "/"}) or "")
    assert "Allowed: what `is_small` accepts." in (refusal(is_small, {"p": 11}) or "")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_a_value_is_allowed_by_itself_alone(value: Any) -> None:
    assert refusal(value, {"p": value}) is None
    assert refusal(value, {"p": [value]}) is not None


@pytest.mark.parametrize(
    "given_restrictions",
    ["Bash", ["Bash"], {"Bash": False}, {1: {}}, {"": {}}, {"Bash(ls:*)": {}}, {"Bash": {1: 2}}, {"Bash": {"p": 1j}}],
)
def test_restrictions_of_another_form_are_refused(given_restrictions: Any) -> None:
    with pytest.raises(InvalidSettingError, match="tool_parameter_restrictions"):
        ClaudeCodeModel(tool_parameter_restrictions=given_restrictions)


async def test_an_environment_that_turns_the_check_off_is_refused() -> None:
    restrictions = {"Bash": {"run_in_background": False}}
    model = ClaudeCodeModel(tool_parameter_restrictions=restrictions, env={"CLAUDE_CODE_SIMPLE": "1"})
    with pytest.raises(InvalidSettingError, match="CLAUDE_CODE_SIMPLE"):
        await Agent(model).run("Go.")


@pytest.mark.parametrize("names", ["Bash", [1], [""], 3, [None]])
def test_disallowed_tools_of_another_form_are_refused(names: Any) -> None:
    with pytest.raises(InvalidSettingError, match="disallowed_tools"):
        ClaudeCodeModel(disallowed_tools=names)


async def test_a_rule_with_an_argument_is_for_tools_of_claude_code() -> None:
    model = ClaudeCodeModel(disallowed_tools=["count(x:*)"], cli_path="/nowhere/claude")
    with pytest.raises(InvalidSettingError, match="tool_parameter_restrictions"):
        await Mail(model).agent.run("Write.")


async def test_the_tool_of_the_agents_output_cannot_be_disallowed() -> None:
    model = ClaudeCodeModel(disallowed_tools=["final_result"], cli_path="/nowhere/claude")
    with pytest.raises(InvalidSettingError, match=r"'final_result'.*output"):
        await Agent(model, output_type=int).run("Count.")
