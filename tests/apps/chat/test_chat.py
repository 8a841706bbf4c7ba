"""`hikidashi chat` in a terminal, in a pipe and for programs: its start, its answers, its conversations."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hikidashi.testing import call, fault, say
from hikidashi.testing.script import Step

Start = Callable[[list[Step]], Any]

SEARCHING: list[Step] = [
    call("web_search", {"query": "Python 非同期"}),
    say("Use **asyncio**.\n\n- `await` it"),
]


def test_an_answer_streams_in_and_each_tool_call_is_shown(chat: Start) -> None:
    talk = chat(SEARCHING)
    terminal = talk.in_terminal()
    terminal.shows("> ")
    terminal.types("How do I write async Python?")
    terminal.shows("● web_search  Python 非同期")
    terminal.shows("✓")
    terminal.shows("Use asyncio.")
    terminal.shows("• await it")
    terminal.shows("> ")
    terminal.types("/quit")
    assert terminal.ends() == 0
    assert talk.web.searches == ["Python 非同期"]


def test_the_model_hears_what_was_said_before(chat: Start) -> None:
    talk = chat([say("Hello Aoi."), say("You are Aoi.")])
    terminal = talk.in_terminal()
    terminal.types("I am Aoi.")
    terminal.shows("Hello Aoi.")
    terminal.types("Who am I?")
    terminal.shows("You are Aoi.")
    terminal.shows("> ")
    terminal.presses("\x04")
    assert terminal.ends() == 0
    said = [(message["role"], message["content"][0]["text"]) for message in talk.model.requests[-1].body["messages"]]
    assert said == [("user", "I am Aoi."), ("assistant", "Hello Aoi."), ("user", "Who am I?")]


def test_ctrl_c_stops_the_answer_and_not_the_program(chat: Start) -> None:
    talk = chat([say("This goes on for ever and ever.\n\nAnd on", pause=0.2, chunk=2), say("Here I am.")])
    terminal = talk.in_terminal()
    terminal.types("Tell me a long story.")
    terminal.shows("This goes")
    terminal.presses("\x03")
    terminal.shows("Stopped.")
    terminal.shows("> ")
    terminal.types("Are you there?")
    terminal.shows("Here I am.")
    terminal.shows("> ")
    terminal.presses_until("\x03", "Type /quit")
    terminal.shows("> ")
    terminal.presses("\x04")
    assert terminal.ends() == 0


@pytest.mark.cli
def test_claude_code_is_stopped_however_often_ctrl_c_is_pressed(chat: Start) -> None:
    talk = chat([say("This goes on for ever and ever.", pause=0.2, chunk=2), say("Here I am.")])
    talk.config.write_text(talk.config.read_text().replace("engine: strands", "engine: claude-code"))
    terminal = talk.in_terminal()
    terminal.types("Tell me a long story.")
    terminal.shows("This goes")
    terminal.presses("\x03")
    terminal.presses("\x03")
    terminal.shows("Stopped.")
    terminal.shows("> ")
    terminal.types("Are you there?")
    terminal.shows("Here I am.")
    terminal.shows("> ")
    terminal.types("/quit")
    assert terminal.ends() == 0
    assert "This goes" not in terminal.text.partition("Stopped.")[2]
    assert "pydantic-ai v" not in terminal.text


def test_commands_list_the_tools_and_search_without_the_model(chat: Start) -> None:
    talk = chat([])
    terminal = talk.in_terminal()
    terminal.types("/tools")
    terminal.shows("\nweb_search")
    terminal.types("/search Python 非同期")
    terminal.shows("Python asyncio documentation")
    terminal.types("/search")
    terminal.shows("/search QUERY")
    terminal.types("/serch x")
    terminal.shows("There is no command '/serch'.")
    terminal.types("/help")
    terminal.shows("/clear")
    terminal.types("/quit")
    assert terminal.ends() == 0
    assert talk.model.requests == []


def test_the_conversation_is_kept_and_goes_on(chat: Start) -> None:
    talk = chat([say("Hello Aoi."), say("You are Aoi.")])
    first = talk.in_terminal()
    first.types("I am Aoi.")
    first.shows("Hello Aoi.")
    first.shows("> ")
    first.types("/quit")
    first.ends()
    second = talk.in_terminal("--continue")
    second.shows("Continuing i-am-aoi (2 messages).")
    second.types("Who am I?")
    second.shows("You are Aoi.")
    second.types("/quit")
    second.ends()
    assert len(talk.model.requests[-1].body["messages"]) == 3


def test_arrow_up_brings_back_what_was_typed_in_an_earlier_chat(chat: Start) -> None:
    talk = chat([])
    first = talk.in_terminal()
    first.types("/tools")
    first.shows("\nweb_search")
    first.shows("> ")
    first.presses("\x04")
    first.ends()
    second = talk.in_terminal()
    second.shows("> ")
    second.presses("\x1b[A\r")
    second.shows("\nweb_search")
    second.shows("> ")
    second.presses("\x04")
    assert second.ends() == 0


def test_a_failing_model_gives_a_sentence_and_the_log_has_the_cause(chat: Start) -> None:
    talk = chat([fault.status(401, "authentication_error", "invalid x-api-key")])
    terminal = talk.in_terminal()
    terminal.types("Hello?")
    terminal.shows("> ")
    terminal.shows("> ")
    terminal.types("/quit")
    assert terminal.ends() == 0
    assert "Traceback" not in terminal.text
    assert "401" in (talk.home / "state" / "hikidashi" / "chat.log").read_text()


def test_no_color_is_respected(chat: Start) -> None:
    talk = chat(SEARCHING)
    terminal = talk.in_terminal(NO_COLOR="1")
    terminal.types("How?")
    terminal.shows("Use asyncio.")
    terminal.types("/quit")
    terminal.ends()
    assert not re.search(r"\x1b\[(?:[0-9]+;)*3[0-8][;m]", terminal.raw)


def test_once_prints_the_answer_alone(chat: Start) -> None:
    done = chat(SEARCHING).as_a_user_runs_it("--once", "How do I write async Python?")
    assert (done.returncode, done.stdout) == (0, "Use **asyncio**.\n\n- `await` it\n")
    assert done.stderr == "web_search: Python 非同期\n"


def test_once_as_json_tells_each_event(chat: Start) -> None:
    done = chat(SEARCHING).piped("--once", "How?", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events if event["event"] != "text"] == ["tool_called", "tool_returned"]
    assert "".join(event["text"] for event in events if event["event"] == "text") == "Use **asyncio**.\n\n- `await` it"


def test_once_without_an_answer_is_exit_code_1(chat: Start) -> None:
    done = chat([fault.status(401, "authentication_error", "invalid x-api-key")]).piped("--once", "How?")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


def test_once_without_a_question_is_wrong_usage(chat: Start) -> None:
    done = chat([]).piped("--once", " ")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("--once: is empty. Give a question.\n")


def test_questions_come_through_a_pipe_too(chat: Start) -> None:
    talk = chat([say("One."), say("Two.")])
    done = talk.piped(typed="日本語\n".encode() + b"not \xff UTF-8\n")
    assert (done.returncode, [line for line in done.stdout.splitlines() if line]) == (0, ["One.", "Two."])
    assert [request.text for request in talk.model.requests] == ["日本語", "not \ufffd UTF-8"]


def test_whoever_starts_it_sees_that_the_search_lacks_its_key(chat: Start) -> None:
    talk = chat([say("Hello.")])
    talk.config.write_text(talk.config.read_text().replace("api_key: ${TAVILY_API_KEY}", "api_key: ${NO_SUCH_KEY}"))
    done = talk.piped("--once", "How?")
    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    assert done.stderr.startswith("warning: tools.web_search is enabled but has no api_key: ")
    assert done.stderr.count("\n") == 1


def test_a_config_that_cannot_be_used_is_one_line(chat: Start) -> None:
    talk = chat([])
    talk.config.write_text("agent: {engine: steam}\n")
    done = talk.piped("--once", "How?")
    assert done.returncode == 1
    assert "agent.engine" in done.stderr
    assert "Traceback" not in done.stderr


_HELD = """
import sys

class Held:
    def find_spec(self, name, path=None, target=None):
        if name == "strands.models.anthropic":
            sys.meta_path.remove(self)
            open({gate!r}).read()

sys.meta_path.insert(0, Held())
"""


def test_a_person_types_while_the_framework_is_imported(chat: Start, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "sitecustomize.py").write_text(_HELD.format(gate=str(gate)))
    talk = chat([say("Here I am.")])
    terminal = talk.in_terminal(anew=True, PYTHONPATH=str(tmp_path))
    terminal.shows("> ")
    terminal.types("/help")
    terminal.shows("/clear")
    terminal.shows("> ")
    terminal.types("Hello?")
    terminal.shows("thinking")
    terminal.presses("\x03")
    terminal.shows("Stopped.")
    terminal.shows("> ")
    terminal.types("Are you there?")
    terminal.shows("thinking")
    assert talk.model.requests == []
    gate.write_text("")
    terminal.shows("Here I am.")
    terminal.shows("> ")
    terminal.types("/quit")
    assert terminal.ends() == 0
    assert [request.text for request in talk.model.requests] == ["Are you there?"]


def test_a_framework_that_turns_out_broken_is_told_to_whoever_asks_and_ends_the_chat(
    chat: Start, tmp_path: Path
) -> None:
    (tmp_path / "anthropic.py").write_text("raise ImportError('half installed')\n")
    terminal = chat([]).in_terminal(anew=True, PYTHONPATH=str(tmp_path))
    terminal.shows("> ")
    terminal.types("Hello?")
    terminal.shows("error: `anthropic` is not installed. Run: pip install 'hikidashi[anthropic]'")
    assert terminal.ends() == 1
    assert "Traceback" not in terminal.text


def test_whoever_leaves_before_it_turns_out_broken_has_left(chat: Start, tmp_path: Path) -> None:
    (tmp_path / "anthropic.py").write_text("raise ImportError('half installed')\n")
    terminal = chat([]).in_terminal(anew=True, PYTHONPATH=str(tmp_path))
    terminal.shows("> ")
    terminal.types("/quit")
    terminal.shows("Bye.")
    assert terminal.ends() == 0
    assert "error" not in terminal.text


def test_a_missing_key_is_told_before_the_prompt(chat: Start) -> None:
    talk = chat([])
    talk.config.write_text(talk.config.read_text().replace("  api_key: sk-test\n", ""))
    terminal = talk.in_terminal()
    assert terminal.ends() == 1
    assert "agent.api_key" in terminal.text
    assert "> " not in terminal.text


def test_a_search_without_its_key_is_told_before_the_prompt(chat: Start) -> None:
    talk = chat([])
    talk.config.write_text(talk.config.read_text().replace("api_key: ${TAVILY_API_KEY}", "api_key: ${NO_SUCH_KEY}"))
    terminal = talk.in_terminal()
    terminal.shows("> ")
    assert terminal.text.startswith("warning: tools.web_search is enabled but has no api_key")
    terminal.types("/quit")
    assert terminal.ends() == 0


@pytest.mark.parametrize("options", [("--once", "Hello?"), ("--json",), ()])
def test_without_a_person_who_types_a_broken_framework_is_exit_code_1(
    chat: Start, options: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "anthropic.py").write_text("raise ImportError('half installed')\n")
    done = chat([]).piped(*options, typed=b"Hello?\n", anew=True, PYTHONPATH=str(tmp_path))
    expected = "error: `anthropic` is not installed. Run: pip install 'hikidashi[anthropic]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)


@pytest.fixture
def nothing_set_up(chat: Start) -> Any:
    talk = chat([])
    talk.config.write_text("agent: {engine: claude-code, language: en}\n")
    return talk


def test_it_is_said_before_the_prompt_what_is_missing_and_what_to_do(nothing_set_up: Any) -> None:
    terminal = nothing_set_up.in_terminal(CLAUDE_CONFIG_DIR=str(nothing_set_up.home))
    assert terminal.ends() == 1
    told = " ".join(terminal.text.split())
    assert "Claude Code is not logged in, and there is no API key." in told
    for way_out in ("run `claude` and log in", "set ANTHROPIC_API_KEY", "config.yaml", "`hikidashi doctor`"):
        assert way_out in told
    assert "> " not in terminal.text


def test_a_question_for_a_script_is_answered_with_the_same_words(nothing_set_up: Any) -> None:
    done = nothing_set_up.piped("--once", "How?", CLAUDE_CONFIG_DIR=str(nothing_set_up.home), LANG="C.UTF-8")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"error: {nothing_set_up.config}: Claude Code is not logged in")
    assert "ask the operator" not in done.stderr


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
