"""The first run, with neither key nor login nor config."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hikidashi.testing.script import Step

Start = Callable[[list[Step]], Any]


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
