"""What the chat keeps between two conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hikidashi.apps.chat.storage import Transcript
from hikidashi.apps.responder import Message

SAID = [Message(role="user", text="こんにちは\n二行目"), Message(role="assistant", text="Hello!")]


def test_a_conversation_comes_back_as_it_was(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "new" / "chat.jsonl")
    transcript.write(SAID)
    assert transcript.read() == SAID


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    Transcript(path).write(SAID)
    assert path.stat().st_mode & 0o777 == 0o600


def test_without_a_file_nothing_was_said(tmp_path: Path) -> None:
    assert Transcript(tmp_path / "none.jsonl").read() == []


def test_lines_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"role": "user", "text": "kept"}\n{"role": "us\n[]\n{"role": "system", "text": "x"}\n\x00\n')
    assert Transcript(path).read() == [Message(role="user", text="kept")]


def test_a_failed_write_leaves_the_old_conversation(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    transcript = Transcript(path)
    transcript.write(SAID)
    cannot_be_written: Any = object()
    with pytest.raises(TypeError):
        transcript.write([Message(role="user", text=cannot_be_written)])
    assert transcript.read() == SAID
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_character_is_kept_as_a_replacement_character(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "chat.jsonl")
    transcript.write([Message(role="user", text="a\ud800b")])
    assert transcript.read() == [Message(role="user", text="a\ufffdb")]
