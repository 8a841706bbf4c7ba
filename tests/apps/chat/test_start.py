"""How the chat starts: the prompt first, the frameworks while a person types, what is missing as early as it shows."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hikidashi.testing import say
from hikidashi.testing.script import Step

Start = Callable[[list[Step]], Any]

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
