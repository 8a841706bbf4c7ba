"""The chat as a person has it: the real strands agent and tavily-python behind a pseudo-terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
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
