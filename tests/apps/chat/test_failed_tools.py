"""A search that fails looks like a failure: on a terminal, in a pipe, as JSON, and in the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hikidashi.testing import call, fault, say
from hikidashi.testing.script import Step

Start = Callable[[list[Step]], Any]

SEARCH = call("web_search", {"query": "Python"})
ENGINES = [
    pytest.param("strands", "web_search", id="strands"),
    pytest.param("claude-code", "tavily_search", id="claude-code", marks=pytest.mark.cli),
]


@pytest.mark.parametrize(("engine", "tool"), ENGINES)
def test_a_wrong_key_is_told_and_is_exit_code_1(chat: Start, engine: str, tool: str) -> None:
    talk = chat([call(tool, {"query": "Python"}), say("I could not search.")] * 2)
    talk.config.write_text(talk.config.read_text().replace("engine: strands", f"engine: {engine}"))
    done = talk.piped("--once", "How?", TAVILY_API_KEY="tvly-wrong")
    assert (done.returncode, done.stdout) == (1, "I could not search.\n")
    assert done.stderr.startswith(f"{tool}: Python\n{tool} failed: ")
    assert "The API key is invalid or lacks permission (HTTP 401). Check the key." in done.stderr
    assert "tvly-wrong" not in done.stderr
    as_json = talk.piped("--once", "How?", "--json", TAVILY_API_KEY="tvly-wrong")
    (returned,) = [line for line in map(json.loads, as_json.stdout.splitlines()) if line["event"] == "tool_returned"]
    assert (as_json.returncode, returned["ok"]) == (1, False)
    assert "Check the key." in returned.get("reason", returned["text"])


def test_a_terminal_marks_it_and_says_why(chat: Start) -> None:
    terminal = chat([SEARCH, say("I could not search.")]).in_terminal(TAVILY_API_KEY="tvly-wrong")
    terminal.types("How?")
    terminal.shows("● web_search  Python")
    assert "✓" not in terminal.shows("The API key is invalid")
    assert "✗" in terminal.text
    terminal.shows("I could not search.")
    terminal.shows("> ")
    terminal.types("/quit")
    assert terminal.ends() == 0


def test_a_tool_that_worked_at_last_is_no_failure(chat: Start) -> None:
    talk = chat([call("web_search", {"query": " "}), SEARCH, say("Found.")])
    done = talk.piped("--once", "How?")
    assert (done.returncode, done.stdout) == (0, "Found.\n")
    assert "web_search failed: Please enter a search query" in done.stderr


def test_questions_of_a_pipe_that_get_no_answer_are_exit_code_1(chat: Start) -> None:
    assert chat([SEARCH, say("No.")]).piped(typed=b"How?\n", TAVILY_API_KEY="tvly-wrong").returncode == 1


def test_a_model_that_repeats_the_key_brings_it_into_no_message_and_no_log(chat: Start) -> None:
    talk = chat([fault.status(400, "invalid_request_error", "sk-test is no key")])
    done = talk.piped("--once", "How?")
    assert (done.returncode, done.stdout) == (1, "")
    assert "*** is no key" in done.stderr
    log = (talk.home / "state" / "hikidashi" / "chat.log").read_text()
    assert "*** is no key" in log
    assert "sk-test" not in done.stderr + log


def test_whoever_sits_at_the_terminal_is_told_where_the_key_is(chat: Start) -> None:
    done = chat([fault.status(401, "authentication_error", "invalid x-api-key")]).piped("--once", "How?")
    assert "Check `agent.api_key` in the config file, or the key in the environment" in done.stderr
    assert "the operator" not in done.stderr
