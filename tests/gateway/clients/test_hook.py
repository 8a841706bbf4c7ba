"""The hook that Claude Code asks before it calls one of our tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.clients.machines import machine_in

from hikidashi.errors import ToolSourceError
from hikidashi.gateway.clients.claude_code import Decision, answer, decide
from hikidashi.gateway.names import exposed_names, longest_name_with

SERVERS = ["github", "my server", "a__b"]


def asked(tool: str, arguments: Any = None, through: str = "call_tool") -> dict[str, Any]:
    return {
        "hook_event_name": "PreToolUse",
        "tool_name": f"mcp__hikidashi__{through}",
        "tool_input": {"name": tool, "arguments": arguments or {}},
    }


def test_a_question_names_server_tool_and_arguments() -> None:
    said = {
        tool: decide(asked(tool, {"title": "買い物"}), servers=SERVERS, rules={})
        for tool in ("github__create", "my_server__do", "a__b__c", "unknown__x", "odd")
    }
    assert {tool: one.reason if one else None for tool, one in said.items()} == {
        "github__create": "Tool 'create' of server 'github' wants to be called. Arguments: {\"title\": \"買い物\"}",
        "my_server__do": "Tool 'do' of server 'my server' wants to be called. Arguments: {\"title\": \"買い物\"}",
        "a__b__c": "Tool 'c' of server 'a__b' wants to be called. Arguments: {\"title\": \"買い物\"}",
        "unknown__x": "Tool 'x' of server 'unknown' wants to be called. Arguments: {\"title\": \"買い物\"}",
        "odd": 'Tool \'odd\' wants to be called. Arguments: {"title": "買い物"}',
    }
    assert {one.behaviour for one in said.values() if one} == {"ask"}


@pytest.mark.parametrize("through", ["call_tool", "call_read_tool", "github__delete"])
@pytest.mark.parametrize(
    "rule", ["mcp__github__delete", "mcp__github", "mcp__github__*", "mcp__hikidashi__github__delete"]
)
def test_rules_about_the_tools_behind_us_stay_in_force(through: str, rule: str) -> None:
    call = asked("github__delete", through=through)
    denied = decide(call, servers=SERVERS, rules={"deny": [rule], "allow": [rule]})
    assert denied == Decision("deny", f"Tool 'delete' of server 'github', by your rule {rule}.")
    allowed = decide(call, servers=SERVERS, rules={"allow": [rule]})
    assert allowed is not None
    assert allowed.behaviour == "allow"
    other = decide(
        call, servers=SERVERS, rules={"deny": ["mcp__github__del", "mcp__git", "mcp__github__delete_all", "Bash"]}
    )
    assert (other.behaviour if other else None) == ("ask" if through == "call_tool" else None)


@pytest.mark.parametrize("name", ["hikidashi", "all-the-tools-of-our-team"])
def test_a_rule_about_a_name_that_is_cut_is_in_force_too(name: str) -> None:
    tool = "very_long_name_" * 5
    (shown,) = exposed_names({"github": [tool]}, longest=longest_name_with(name)).values()
    assert len(shown) < len(tool)
    call: dict[str, object] = {"tool_name": f"mcp__{name}__{shown}", "tool_input": {}}
    denied = decide(call, servers=SERVERS, rules={"deny": [f"mcp__github__{tool}"]}, name=name)
    assert denied is not None
    assert denied.behaviour == "deny"


def test_what_changes_nothing_and_what_is_not_ours_is_left_to_claude_code() -> None:
    calls: list[Any] = [
        asked("github__read", through="call_read_tool"),
        asked("github__read", through="search_tools"),
        {"tool_name": "Bash", "tool_input": {}},
        {"tool_name": "mcp__hikidashi__call_tool", "tool_input": {"name": 3}},
        {"tool_name": "mcp__hikidashi__call_tool"},
        {},
        [],
        None,
    ]
    assert [decide(call, servers=SERVERS, rules={}) for call in calls] == [None] * len(calls)


def test_whoever_allowed_call_tool_itself_is_not_asked() -> None:
    rules: dict[Any, list[str]] = {"allow": ["mcp__hikidashi__call_tool"], "deny": ["mcp__github__delete"]}
    assert decide(asked("github__create"), servers=SERVERS, rules=rules) is None
    denied = decide(asked("github__delete"), servers=SERVERS, rules=rules)
    assert denied is not None
    assert denied.behaviour == "deny"


def test_rules_come_from_the_user_and_the_project(tmp_path: Path) -> None:
    machine = machine_in(tmp_path)
    for folder, name, rules in (
        (machine.home, "settings.json", {"allow": ["mcp__a__x", "Bash"]}),
        (machine.project, "settings.json", {"deny": ["mcp__a__y"]}),
        (machine.project, "settings.local.json", {"ask": ["mcp__a__z"]}),
    ):
        (folder / ".claude").mkdir(exist_ok=True)
        (folder / ".claude" / name).write_text(json.dumps({"permissions": rules}))

    def behaviour(tool: str) -> str:
        call = json.dumps({**asked(tool), "cwd": str(machine.project)}).encode()
        said = json.loads(answer(call, config=None, name="hikidashi", machine=machine))
        return said["hookSpecificOutput"]["permissionDecision"]

    assert [behaviour(tool) for tool in ("a__x", "a__y", "a__z", "a__w")] == ["allow", "deny", "ask", "ask"]
    (machine.home / ".claude" / "settings.json").write_text("{")
    assert behaviour("a__x") == "ask"


def test_long_arguments_are_cut_in_the_question() -> None:
    said = decide(asked("github__create", {"body": "x" * 5_000}), servers=SERVERS, rules={})
    assert said is not None
    assert len(said.reason) < 700
    assert said.reason.endswith("…")


@given(st.binary(max_size=20) | st.text(alphabet='{}[]":1,ab', max_size=20).map(str.encode))
def test_any_input_is_answered_or_refused(given: bytes) -> None:
    try:
        said = answer(given, config=None, name="hikidashi")
    except ToolSourceError as error:
        said = str(error)
    assert not said or said.startswith("standard input: is not JSON")
