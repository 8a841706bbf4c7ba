"""The model that comes with hikidashi: inside its package, loaded offline."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hikidashi import ToolCatalog
from hikidashi.search.engine.embeddings import default_embedder

TOOLS = [
    {"name": "open_ticket", "description": "Report a defect in the software.", "input_schema": {"type": "object"}},
    {"name": "book_flight", "description": "Reserve a seat on an airplane.", "input_schema": {"type": "object"}},
    {"name": "play_song", "description": "Play music on a speaker.", "input_schema": {"type": "object"}},
]


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the model must not be fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.usefixtures("no_network")
def test_the_default_model_finds_by_meaning_what_shares_no_word(tmp_path: Path) -> None:
    kept = replace(default_embedder(), cache=tmp_path / "vectors")
    question = "flying with an airline"
    assert ToolCatalog(TOOLS, ranker="lexical", glossary=False).search(question) == []
    by_meaning = ToolCatalog(TOOLS, ranker="hybrid", embed=kept, glossary=False).search(question)
    assert [match.name for match in by_meaning][:1] == ["book_flight"]


@pytest.mark.usefixtures("no_network")
def test_a_question_in_a_script_that_an_embedder_does_not_read_is_searched_by_words(tmp_path: Path) -> None:
    kept = replace(default_embedder(), cache=tmp_path / "vectors")
    english = replace(kept, multilingual=False)
    assert [match.name for match in ToolCatalog(TOOLS, embed=kept).search("音楽を再生して")][:1] == ["play_song"]
    assert ToolCatalog(TOOLS, embed=english).search("音楽を再生して") == []


def test_loading_it_leaves_the_logging_of_the_program_alone() -> None:
    script = """
import logging
from hikidashi.search.engine.embeddings import default_embedder
default_embedder()
print(logging.getLogger().handlers, logging.getLogger().level == logging.WARNING)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"
