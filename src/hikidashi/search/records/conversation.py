"""The records of one conversation: its searches, what was preloaded, and its calls with how each tool was found."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from ._store import PRELOAD
from .log import FoundBy, Recorder, SearchLog

__all__ = ["ConversationRecord", "in_conversation", "record_call", "record_preload"]


class ConversationRecord:
    """Passes the searches and calls of one conversation to a recorder, and says how each called tool was found.

    What found a tool first counts: a tool that was preloaded and then found by a search was preloaded. In a `SearchLog`
    the conversation is a session of its own, unless the caller has begun one.

    Args:
        record: The recorder; None to record nothing.
        name: The name of the session in a `SearchLog`; the same for a conversation that is resumed.
        listed: The tools in the model's list from the start.
    """

    def __init__(self, record: Recorder | None, *, name: str | None = None, listed: Iterable[str] = ()) -> None:
        self._record = record
        self._name = name or secrets.token_hex(6)
        self._found: dict[str, FoundBy] = {}
        self.remember(listed, "listed")

    def remember(self, names: Iterable[str], found_by: FoundBy) -> None:
        """Count `names` as found this way, without a record: for what the history of the conversation says."""
        for name in names:
            self._found.setdefault(name, found_by)

    def preloaded(self, message: str, names: Sequence[str]) -> None:
        """Record that the user's `message` loaded the tools `names`; a message that loads none is not recorded."""
        record_preload(self, message, names)

    def searched(self, query: str, kind: str, names: Sequence[str]) -> None:
        """Record a search of the model; of the kind `preload`, that a message loaded the tools `names`."""
        self.remember(names, "preload" if kind == PRELOAD else "search")
        if self._record is not None:
            with in_conversation(self._record, self._name):
                self._record.searched(query, kind, names)

    def called(self, name: str) -> None:
        """Record a call of the tool `name`, and how it was found."""
        if self._record is not None:
            with in_conversation(self._record, self._name):
                record_call(self._record, name, self._found.get(name, "nothing"))


def in_conversation(record: Recorder, name: str) -> AbstractContextManager[object]:
    """A block whose records belong to the conversation `name`, or to the session that the caller has begun."""
    return record.conversation(name) if isinstance(record, SearchLog) else nullcontext()


def record_preload(record: Recorder, message: str, names: Sequence[str]) -> None:
    """Record that the user's `message` loaded the tools `names`; a message that loads none is not recorded."""
    if names:
        record.searched(message, PRELOAD, names)


def record_call(record: Recorder, name: str, found_by: FoundBy | None) -> None:
    """Record a call of `name`, with how it was found if the recorder takes that; None leaves it to the recorder."""
    if found_by is not None and _takes_found_by(record):
        record.called(name, found_by=found_by)  # pyright: ignore[reportCallIssue] - not in the protocol: see `Recorder`
    else:
        record.called(name)


def _takes_found_by(record: Recorder) -> bool:
    try:
        parameters = inspect.signature(record.called).parameters
    except (TypeError, ValueError):  # a callable without a signature
        return False
    named = parameters.get("found_by")
    if named is not None:
        return named.kind is not inspect.Parameter.POSITIONAL_ONLY
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
