"""Records of searches and calls: the protocols `Recorder` and `CallLog`, and the records of one conversation.

`SearchLog` is the `CallLog` in a SQLite file. Another store is a class of its own with the same methods.
"""

from __future__ import annotations

import inspect
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

FoundBy = Literal["preload", "search", "listed", "nothing"]
"""How the model came to know a tool that it called: preloading loaded it, a search found it, it was in the list from
the start, or nothing found it (the model guessed its name)."""

PRELOAD = "preload"
"""The kind of a search that preloading made, with the user's message as its query."""


class Recorder(Protocol):
    """Notified of each search and call."""

    def searched(self, query: str, kind: str, names: Sequence[str]) -> None:
        """A search of `kind` (`words`, `nearest`, `regex` or `select`) found the tools `names`, best first.

        Of the kind `preload`, the user's message `query` loaded them.
        """
        ...

    def called(self, name: str) -> None:
        """The tool `name` was called. `found_by` is passed too if the method takes it."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedSearch:
    """A search in the log."""

    at: float
    """Time in seconds since 1970."""
    session: str
    kind: str
    """`words`, `nearest` (words for which no match is certain), `regex`, `select`, or `preload`."""
    query: str | None
    """The user's message for `preload`; None if the log keeps no queries."""
    names: tuple[str, ...]
    """The tools it found, best first; for `preload`, those it loaded."""
    seconds: float | None
    """Duration, if it was measured."""
    called: tuple[str, ...]
    """The tools that were called after it found them, in order, once per call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedCall:
    """A call in the log."""

    at: float
    """Time in seconds since 1970."""
    session: str
    name: str
    found_by: FoundBy | None
    """How the tool was found; None if another version recorded the call, which did not say how or in other words."""


@runtime_checkable
class CallLog(Recorder, Protocol):
    """A recorder that also gives back what it recorded, for `report`.

    `SearchLog` is one. One for another store is a class with these methods; a subclass inherits `usage`.
    """

    def called(self, name: str, *, found_by: FoundBy | None = None) -> None:
        """The tool `name` was called; without `found_by`, what found it first in its conversation counts."""
        ...

    def conversation(self, name: str) -> AbstractContextManager[object]:
        """A block whose records belong to the conversation `name`, or to one that the caller has begun around it."""
        ...

    def searches(self) -> Sequence[RecordedSearch]:
        """All recorded searches, oldest first, each with the calls that followed from it."""
        ...

    def calls(self) -> Sequence[RecordedCall]:
        """All recorded calls, oldest first, with how each tool was found."""
        ...

    def usage(self) -> dict[str, int]:
        """Number of calls of each tool, the most called first: for `usage=` of `to_anthropic_search` and `deferred`."""
        return usage_in(self.calls())


def usage_in(calls: Iterable[RecordedCall]) -> dict[str, int]:
    """Number of `calls` of each tool, the most called first."""
    counts = Counter(call.name for call in calls)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


class ConversationRecord:
    """Passes the searches and calls of one conversation to a recorder, and says how each called tool was found.

    What found a tool first counts: a tool that was preloaded and then found by a search was preloaded. In a
    `CallLog` the conversation is one of its own, unless the caller has begun one.

    Args:
        record: The recorder; None to record nothing.
        name: The name of the conversation in a `CallLog`; the same for a conversation that is resumed.
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
        if names:
            self.searched(message, PRELOAD, names)

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
    return record.conversation(name) if isinstance(record, CallLog) else nullcontext()


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
