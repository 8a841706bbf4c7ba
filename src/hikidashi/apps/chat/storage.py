"""Files of the chat, which only the user can read: saved conversations, and the input history."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...common.files import create_private, make_private, private_folder, replace_file, state_folder
from ...common.unicode import well_formed
from ..responder import Message

MOST_CONVERSATIONS = 200
MOST_DAYS = 90
"""How many conversations are kept, and for how long after their last use."""

_LONGEST_NAME = 40
_NO_WORD = "chat"
_DAY = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class SavedConversation:
    """One conversation in the folder."""

    name: str
    path: Path
    used: float
    """When it was last written, in seconds since 1970."""

    def read(self) -> list[Message]:
        """Its messages, oldest first."""
        return read_messages(self.path)


class ConversationStore:
    """The conversations in a folder that only the user can read.

    The newest `most` are kept, each for `days` after its last use; the others are removed when one is added.
    """

    def __init__(
        self,
        folder: Path,
        *,
        most: int = MOST_CONVERSATIONS,
        days: float = MOST_DAYS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._most = most
        self._days = days
        self._clock = clock

    def all(self) -> list[SavedConversation]:
        """All conversations, the last used first."""
        kept: list[SavedConversation] = []
        with suppress(OSError):
            for path in self._folder.glob("*.jsonl"):
                with suppress(OSError):  # another chat has just removed it
                    status = path.stat()
                    if status.st_size:
                        kept.append(SavedConversation(path.stem, path, status.st_mtime))
        return sorted(kept, key=lambda one: (one.used, one.name), reverse=True)

    def matching(self, name: str) -> list[SavedConversation]:
        """The conversation with that name, else those whose names start with it, else those that contain it."""
        sought, kept = _name_of(name), self.all()
        exact = [one for one in kept if one.name in (name, sought)]
        beginning = [one for one in kept if one.name.startswith(sought)]
        return exact or beginning or [one for one in kept if sought in one.name]

    def add(self, question: str) -> Path:
        """Create the file of a new conversation, under a unique name, and remove conversations beyond the limits.

        Raises:
            OSError: the folder cannot be written.
        """
        private_folder(self._folder)
        self._prune()
        name = _name_of(question)
        for number in range(1, 10_000):
            path = self._folder / f"{name}{f'-{number}' if number > 1 else ''}.jsonl"
            if create_private(path):
                return path
        raise FileExistsError(f"{name} is taken 10,000 times")

    def _prune(self) -> None:
        oldest = self._clock() - self._days * _DAY
        for place, one in enumerate(self.all()):
            if place >= self._most - 1 or one.used < oldest:
                one.path.unlink(missing_ok=True)
        for draft in self._folder.glob("*.jsonl.*"):  # of a chat that was killed while it wrote
            with suppress(OSError):
                if draft.stat().st_mtime < self._clock() - _DAY:
                    draft.unlink()


def saved_conversations() -> ConversationStore:
    """The saved conversations of this user."""
    return ConversationStore(state_folder() / "chats")


class ConversationSaver:
    """Saves the current conversation, from its first answer on.

    Args:
        conversations: Where it is saved.
        continued: The saved conversation that is continued; None starts a new one.
    """

    def __init__(self, conversations: ConversationStore, continued: SavedConversation | None = None) -> None:
        self._conversations = conversations
        self._path = None if continued is None else continued.path
        self._written = None if continued is None else _stamp(continued.path)

    @property
    def name(self) -> str | None:
        """The name of the conversation; None if nothing is saved yet."""
        return None if self._path is None else self._path.stem

    def write(self, messages: Sequence[Message]) -> None:
        """Save the conversation, in one atomic write.

        If another chat has continued the same conversation, this one is saved under a new name.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._path is None or _stamp(self._path) != self._written:
            self._path = self._conversations.add(messages[0].text)
        write_messages(self._path, messages)
        self._written = _stamp(self._path)

    def start_new(self) -> None:
        """Save what follows as a new conversation."""
        self._path = self._written = None

    def forget(self) -> None:
        """Delete the saved conversation, and start a new one.

        Raises:
            OSError: the file cannot be removed.
        """
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        self.start_new()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _name_of(question: str) -> str:
    """A file name from the first words of a question: letters and digits of any language, and hyphens."""
    plain = unicodedata.normalize("NFKC", question).casefold()
    words = re.findall(r"[^\W_]+", well_formed(plain))
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word[:_LONGEST_NAME]
        if len(longer) > _LONGEST_NAME:
            break
        name = longer
    return unicodedata.normalize("NFC", name) or _NO_WORD


MOST_ENTRIES = 1000
"""How many entries the input history keeps."""


def read_messages(path: Path) -> list[Message]:
    """The messages in a file of JSON lines, oldest first; none if there is no file, and none of broken lines."""
    return [message for line in _lines_of(path) if (message := _message_of(line))]


def write_messages(path: Path, conversation: Sequence[Message]) -> None:
    """Replace the messages in the file, in one atomic write.

    Raises:
        OSError: the folder cannot be written.
    """
    _write_lines(path, ({"role": message.role, "text": message.text} for message in conversation))


class InputHistory:
    """The input history: one JSON string a line, about the newest thousand.

    Args:
        path: The file; None saves nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> list[str]:
        """The entries, oldest first; lines that cannot be read are skipped."""
        return [] if self._path is None else list(filter(str.strip, map(_entry_of, _lines_of(self._path))))

    def add(self, entry: str) -> None:
        """Add an entry; if the file cannot be written, it is not saved."""
        if self._path is None:
            return
        with suppress(OSError):
            kept = self.read()
            if len(kept) >= 2 * MOST_ENTRIES or not self._path.exists():
                _write_lines(self._path, [*kept[-MOST_ENTRIES:], entry])
                return
            make_private(self._path)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_line_of(entry))


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []


def _write_lines(path: Path, entries: Iterable[object]) -> None:
    replace_file(path, "".join(map(_line_of, entries)).encode(), private=True)


def _line_of(entry: object) -> str:
    return well_formed(json.dumps(entry, ensure_ascii=False)) + "\n"


def _entry_of(line: str) -> str:
    try:
        entry: object = json.loads(line)
    except ValueError:
        return ""
    return entry if isinstance(entry, str) else ""


def _message_of(line: str) -> Message | None:
    try:
        entry: Any = json.loads(line)
        role, text = entry["role"], entry["text"]
    except (ValueError, TypeError, KeyError):
        return None
    if role in {"user", "assistant"} and isinstance(text, str):
        return Message(role=role, text=text)
    return None
