"""How the tools that were called had been found: counted per call and per conversation, and what preloading loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ._store import PRELOAD, FoundBy, RecordedCall, RecordedSearch

__all__ = ["FoundByCounts", "PreloadedTool", "Preloading", "calls_by_finder", "conversations_by_finder", "preloading"]

_MOST_LISTED = 100

_ORDER: tuple[FoundBy | None, ...] = ("search", "nothing", None, "preload", "listed")
"""A conversation counts as the first of these that one of its calls has: a search and a guess cost a turn of the model,
so one with both a preloaded and a searched tool needed a search."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundByCounts:
    """Number of calls, or of conversations, by how the called tools were found."""

    total: int = 0
    preload: int = 0
    """Loaded for the user's message, before the model was asked."""
    search: int = 0
    """Found by a search of the model."""
    listed: int = 0
    """In the model's list of tools from the start."""
    nothing: int = 0
    """Found by nothing: the model guessed the name."""
    not_recorded: int = 0
    """Called when another version kept the records, which did not say how, or in words that this one does not know."""


@dataclass(frozen=True, slots=True)
class PreloadedTool:
    """A tool that preloading loaded."""

    name: str
    loaded: int
    """Number of conversations for which it was loaded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preloading:
    """What preloading loaded, and what came of it."""

    messages: int = 0
    """Number of messages for which something was loaded."""
    loaded: int = 0
    """Number of tools that it loaded; a tool counts once per conversation."""
    called: int = 0
    """Number of these that were called in the same conversation."""
    never_called: tuple[PreloadedTool, ...] = ()
    """Tools that were loaded and not called in any conversation, the most loaded first; at most 100."""
    never_called_count: int = 0
    """Number of such tools in all."""


def calls_by_finder(calls: Iterable[RecordedCall]) -> FoundByCounts:
    """The calls, counted by how each tool was found."""
    return _counted(call.found_by for call in calls)


def conversations_by_finder(calls: Iterable[RecordedCall]) -> FoundByCounts:
    """The conversations in which a tool was called, each counted once: by a search if any of its tools needed one."""
    conversations: dict[str, set[FoundBy | None]] = {}
    for call in calls:
        conversations.setdefault(call.session, set()).add(call.found_by)
    return _counted(next(each for each in _ORDER if each in found) for found in conversations.values())


def preloading(searches: Iterable[RecordedSearch], calls: Sequence[RecordedCall]) -> Preloading:
    """What preloading loaded, and whether it was called."""
    preloads = [search for search in searches if search.kind == PRELOAD]
    loaded = {(search.session, name) for search in preloads for name in search.names}
    called = {(call.session, call.name) for call in calls}
    used = {name for _, name in called}
    counts = Counter(name for _, name in loaded if name not in used)
    never_called = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return Preloading(
        messages=len(preloads),
        loaded=len(loaded),
        called=len(loaded & called),
        never_called=tuple(PreloadedTool(name, count) for name, count in never_called[:_MOST_LISTED]),
        never_called_count=len(never_called),
    )


def _counted(found: Iterable[FoundBy | None]) -> FoundByCounts:
    counts = Counter(found)
    return FoundByCounts(
        total=counts.total(),
        preload=counts["preload"],
        search=counts["search"],
        listed=counts["listed"],
        nothing=counts["nothing"],
        not_recorded=counts[None],
    )
