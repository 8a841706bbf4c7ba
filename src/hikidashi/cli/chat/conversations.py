"""The conversations that were kept: each in a file of its own, named after its first question."""

from __future__ import annotations

import os
import re
import time
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hikidashi.agents.conversation import Message
from hikidashi.common.private import create_private, private_folder
from hikidashi.common.unicode import well_formed

from .keep import Transcript

__all__ = ["MOST_CONVERSATIONS", "MOST_DAYS", "Conversations", "Keeper", "Kept"]

MOST_CONVERSATIONS = 200
MOST_DAYS = 90
"""How many conversations are kept, and how long after they were last used."""

_LONGEST_NAME = 40
_NO_WORD = "chat"
_DAY = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class Kept:
    """One conversation in the folder."""

    name: str
    path: Path
    used: float
    """When something was last said in it, in seconds since 1970."""

    def read(self) -> list[Message]:
        """What was said, oldest first."""
        return Transcript(self.path).read()


class Conversations:
    """The conversations in a folder that only the user can read.

    The newest `most` are kept, for `days` after they were last used; older ones are removed when one is added.
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

    def all(self) -> list[Kept]:
        """Every conversation, the one that was used last first."""
        kept: list[Kept] = []
        with suppress(OSError):
            for path in self._folder.glob("*.jsonl"):
                with suppress(OSError):  # another chat removed it meanwhile
                    status = path.stat()
                    if status.st_size:
                        kept.append(Kept(path.stem, path, status.st_mtime))
        return sorted(kept, key=lambda one: (one.used, one.name), reverse=True)

    def matching(self, name: str) -> list[Kept]:
        """The conversation of that name, or else those whose names begin with it or contain it."""
        sought, kept = _name_of(name), self.all()
        exact = [one for one in kept if one.name in (name, sought)]
        beginning = [one for one in kept if one.name.startswith(sought)]
        return exact or beginning or [one for one in kept if sought in one.name]

    def add(self, question: str) -> Path:
        """The file of a new conversation, under a name of its own; what is too old or too many is removed.

        Raises:
            OSError: the folder cannot be written.
        """
        private_folder(self._folder)
        self._tidy()
        name = _name_of(question)
        for number in range(1, 10_000):
            path = self._folder / f"{name}{f'-{number}' if number > 1 else ''}.jsonl"
            if create_private(path):
                return path
        raise FileExistsError(f"{name} is taken 10,000 times")

    def adopt(self, path: Path) -> None:
        """Takes a conversation in that was kept elsewhere, as chats did that kept only one; if there is any."""
        with suppress(OSError):
            said = Transcript(path).read()
            if said:
                before = path.stat()
                new = self.add(said[0].text)
                Transcript(new).write(said)
                os.utime(new, (before.st_atime, before.st_mtime))
                path.unlink()

    def _tidy(self) -> None:
        oldest = self._clock() - self._days * _DAY
        for place, one in enumerate(self.all()):
            if place >= self._most - 1 or one.used < oldest:
                one.path.unlink(missing_ok=True)
        for draft in self._folder.glob("*.jsonl.*"):  # of a chat that was killed while it wrote
            with suppress(OSError):
                if draft.stat().st_mtime < self._clock() - _DAY:
                    draft.unlink()


class Keeper:
    """Keeps the conversation that is going on, from its first answer on.

    Args:
        conversations: Where it goes.
        going_on: The one it goes on with.
    """

    def __init__(self, conversations: Conversations, going_on: Kept | None = None) -> None:
        self._conversations = conversations
        self._path = None if going_on is None else going_on.path
        self._written = None if going_on is None else _stamp(going_on.path)

    @property
    def name(self) -> str | None:
        """The name of the conversation; None where nothing is kept yet."""
        return None if self._path is None else self._path.stem

    def write(self, said: Sequence[Message]) -> None:
        """Replaces what is kept of the conversation, whole or not at all.

        Where another chat has gone on with the same one meanwhile, this one is kept under a name of its own.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._path is None or _stamp(self._path) != self._written:
            self._path = self._conversations.add(said[0].text)
        Transcript(self._path).write(said)
        self._written = _stamp(self._path)

    def begin_anew(self) -> None:
        """What is said from now on is another conversation."""
        self._path = self._written = None

    def forget(self) -> None:
        """Removes what is kept of the conversation, and begins another.

        Raises:
            OSError: the file cannot be removed.
        """
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        self.begin_anew()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _name_of(question: str) -> str:
    """The first words of a question as the name of a file: letters and digits of any language, and hyphens."""
    plain = unicodedata.normalize("NFKC", question).casefold()
    words = re.findall(r"[^\W_]+", well_formed(plain))
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word[:_LONGEST_NAME]
        if len(longer) > _LONGEST_NAME:
            break
        name = longer
    return unicodedata.normalize("NFC", name) or _NO_WORD
