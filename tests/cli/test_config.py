"""`hikidashi config check`, as a user runs it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hikidashi.cli.config import section_statuses
from hikidashi.config import load_config

Command = Callable[..., "subprocess.CompletedProcess[str]"]

EXAMPLE = Path(__file__).parents[2] / "config.yaml.example"
FRAMEWORKS = ("pydantic_ai", "claude_agent_sdk", "mcp", "strands", "anthropic", "tavily")


def test_the_example_says_what_is_on_and_what_it_lacks(command: Command) -> None:
    done = command("config", "check", str(EXAMPLE), ANTHROPIC_API_KEY="sk-test")
    assert (done.returncode, done.stderr) == (0, "")
    assert "! tools.web_search is incomplete: it has no api_key: the web tools are not" in done.stdout
    assert "✓ agent is on: answers with anthropic, through strands" in done.stdout
    assert "! slack is incomplete: `bot_token` and `app_token` are not set" in done.stdout
    assert done.stdout.endswith("\nThe file can be used.\n")


def test_keys_are_only_said_to_be_set(command: Command) -> None:
    tokens = {"TAVILY_API_KEY": "tvly-test", "SLACK_BOT_TOKEN": "xoxb-test", "SLACK_APP_TOKEN": "xapp-test"}
    for arguments in (("config", "check", str(EXAMPLE)), ("config", "check", "--json", str(EXAMPLE))):
        done = command(*arguments, ANTHROPIC_API_KEY="sk-test", **tokens)
        assert done.returncode == 0
        assert [secret for secret in (*tokens.values(), "sk-test") if secret in done.stdout + done.stderr] == []
    parts = {part["name"]: part for part in json.loads(done.stdout)["parts"]}
    assert {name: part["status"] for name, part in parts.items()} == {
        "tools.web_search": "on",
        "agent": "on",
        "slack": "on",
    }
    assert parts["slack"]["settings"] == {"bot_token": "set", "app_token": "set", "base_url": None}
    assert parts["tools.web_search"]["why"] == "searches with tavily"


@pytest.mark.parametrize(
    ("text", "name", "status", "why"),
    [
        ("agent: {}", "tools.web_search", "off", "there is no such section"),
        ("tools: {web_search: {enabled: false}}", "tools.web_search", "off", "`enabled` is not true"),
        (
            "tools: {web_search: {enabled: true, provider: local}}",
            "tools.web_search",
            "on",
            "searches with local",
        ),
        ("agent: {engine: claude-code}", "agent", "on", "answers with Claude Code"),
        ("agent: {}", "slack", "off", "there is no such section"),
        (
            "slack: {bot_token: xoxb-test}",
            "slack",
            "incomplete",
            "`app_token` is not set, so the bot cannot log in",
        ),
    ],
)
def test_each_part_says_why(tmp_path: Path, text: str, name: str, status: str, why: str) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(text, encoding="utf-8")
    sections = section_statuses(load_config(file, environment={}))
    assert [(section.status, section.why) for section in sections if section.name == name] == [(status, why)]


def test_every_problem_is_shown_with_its_line_and_the_exit_code_is_1(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[agent]\nengin = "strands"\nmax_tokens = "many"\n', encoding="utf-8")
    done = command("config", "check", HIKIDASHI_CONFIG=str(file))
    assert (done.returncode, done.stderr) == (1, "")
    assert "✗ line 2: agent.engin: is not a key here. Did you mean `engine`?" in done.stdout
    assert "✗ line 3: agent.max_tokens: 'many' is not a whole number." in done.stdout
    assert done.stdout.endswith("\n2 problems: the file cannot be used.\n")
    told = json.loads(command("config", "check", "--json", str(file)).stdout)
    assert (told["ok"], [(problem["line"], problem["key"]) for problem in told["problems"]]) == (
        False,
        [(2, "agent.engin"), (3, "agent.max_tokens")],
    )


def test_the_example_is_printed_as_it_is_in_the_repository(command: Command) -> None:
    done = command("config", "example")
    assert (done.returncode, done.stdout, done.stderr) == (0, EXAMPLE.read_text(encoding="utf-8"), "")


def test_a_file_that_is_not_there_is_one_problem(command: Command, tmp_path: Path) -> None:
    done = command("config", "check", str(tmp_path / "no.yaml"))
    assert done.returncode == 1
    assert "✗ does not exist. Make one: hikidashi config example > config.yaml" in done.stdout
    assert done.stdout.endswith("\n1 problem: the file cannot be used.\n")


def test_a_file_that_the_chat_refuses_is_not_called_usable(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("agent: {language: en}\n", encoding="utf-8")
    checked = command("config", "check", "--config", str(file))
    told = json.loads(command("config", "check", "--json", "--config", str(file)).stdout)
    chat = command("chat", "--config", str(file), "--once", "Hello?", XDG_STATE_HOME=str(tmp_path))
    reason = "is missing. Set ANTHROPIC_API_KEY, or use `engine: claude-code`, which needs none."
    assert (checked.returncode, chat.returncode) == (1, 1)
    assert chat.stderr == f"error: {file}: `agent.api_key`: {reason}\n"
    assert (told["ok"], told["problems"]) == (False, [{"line": None, "key": "agent.api_key", "reason": reason}])
    assert "! agent is incomplete: the chat cannot start" in checked.stdout
    assert checked.stdout.endswith("\n1 problem: the file cannot be used.\n")


def test_without_its_packages_a_file_cannot_be_used_and_each_is_named(command: Command) -> None:
    done = command("config", "check", str(EXAMPLE), without=FRAMEWORKS, ANTHROPIC_API_KEY="sk-test")
    assert done.returncode == 1
    assert "pip install 'hikidashi[strands]'" in done.stdout
    assert "pip install 'hikidashi[anthropic]'" in done.stdout
    assert done.stdout.endswith("\n2 problems: the file cannot be used.\n")


def test_the_file_may_be_named_as_an_option_but_not_twice(command: Command, tmp_path: Path) -> None:
    done = command("config", "check", str(EXAMPLE), "--config", str(tmp_path / "other.yaml"))
    assert done.returncode == 2
    assert "Name one file." in done.stderr


def test_a_file_with_servers_alone_is_for_the_gateway_and_needs_no_model(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "servers:\n  a: {command: x, env: {KEY: '${NOT_SET_HERE}'}}\n  b: {url: 'https://h/mcp?key=sk-test'}\n"
        "  c: {command: y, disabled: true}\ngateway: {search: off}\n"
    )
    done = command("config", "check", "--json", str(file))
    parts = {part["name"]: part for part in json.loads(done.stdout)["parts"]}
    assert (done.returncode, parts["servers"]["status"]) == (0, "on")
    assert parts["servers"]["settings"] == {"a": "a process", "b": "an address", "c": "disabled"}
    assert parts["gateway"]["settings"]["search"] == "off"
    assert "sk-test" not in done.stdout
