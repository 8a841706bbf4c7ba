"""Files of the chat, which only the user can read: the messages of a conversation, and the input history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hikidashi.apps.responder import Message
from hikidashi.common.files import make_private, replace_file
from hikidashi.common.unicode import well_formed

__all__ = ["MOST_ENTRIES", "InputHistory", "Transcript"]

MOST_ENTRIES = 1000
"""How many entries the input history keeps."""


class Transcript:
    """The messages of a conversation in a file of JSON lines; lines that cannot be read are skipped."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[Message]:
        """The messages, oldest first; none if there is no file."""
        return [message for line in _lines_of(self._path) if (message := _message_of(line))]

    def write(self, conversation: Sequence[Message]) -> None:
        """Replace the messages, in one atomic write.

        Raises:
            OSError: the folder cannot be written.
        """
        _replace(self._path, ({"role": message.role, "text": message.text} for message in conversation))


class InputHistory:
    """The input history: one JSON string a line, about the newest thousand.

    Args:
        path: The file; None saves nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> list[str]:
        """The entries, oldest first; a line that is not a JSON string is an entry of an earlier version, as it is."""
        return [] if self._path is None else list(filter(str.strip, map(_entry_of, _lines_of(self._path))))

    def add(self, entry: str) -> None:
        """Add an entry; if the file cannot be written, it is not saved."""
        if self._path is None:
            return
        with suppress(OSError):
            kept = self.read()
            if len(kept) >= 2 * MOST_ENTRIES or not self._path.exists():
                _replace(self._path, [*kept[-MOST_ENTRIES:], entry])
                return
            make_private(self._path)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_line_of(entry))


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []


def _replace(path: Path, entries: Iterable[object]) -> None:
    replace_file(path, "".join(map(_line_of, entries)).encode(), private=True)


def _line_of(entry: object) -> str:
    return well_formed(json.dumps(entry, ensure_ascii=False)) + "\n"


def _entry_of(line: str) -> str:
    try:
        entry: object = json.loads(line)
    except ValueError:
        return line
    return entry if isinstance(entry, str) else line


def _message_of(line: str) -> Message | None:
    try:
        entry: Any = json.loads(line)
        role, text = entry["role"], entry["text"]
    except (ValueError, TypeError, KeyError):
        return None
    if role in {"user", "assistant"} and isinstance(text, str):
        return Message(role=role, text=text)
    return None
