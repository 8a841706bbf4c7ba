"""The conversation and the typed lines, kept between two chats in files that only the user can read."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hikidashi.agents.conversation import Message

__all__ = ["Transcript", "typed_lines_kept"]

_MOST_LINES = 1000


class Transcript:
    """A conversation in a file, one message a line; a line that cannot be read is passed over."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[Message]:
        """What was said, oldest first; nothing if there is no file."""
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        return [message for line in lines if (message := _message_of(line))]

    def write(self, conversation: Sequence[Message]) -> None:
        """Replaces what is kept, whole or not at all.

        Raises:
            OSError: the folder cannot be written.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        lines = (json.dumps({"role": said.role, "text": said.text}, ensure_ascii=False) for said in conversation)
        try:
            with open(draft, "w", encoding="utf-8", errors="replace", opener=_private) as file:
                file.writelines(f"{line}\n" for line in lines)
            draft.replace(self._path)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def typed_lines_kept(path: Path) -> Generator[None]:
    """Arrow keys bring back what was typed here and in earlier chats, where Python has readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    with suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(_MOST_LINES)
    try:
        yield
    finally:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(_private(str(path), os.O_WRONLY | os.O_CREAT))
            readline.write_history_file(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _message_of(line: str) -> Message | None:
    try:
        said: Any = json.loads(line)
        role, text = said["role"], said["text"]
    except (ValueError, TypeError, KeyError):
        return None
    if role in {"user", "assistant"} and isinstance(text, str):
        return Message(role=role, text=text)
    return None
