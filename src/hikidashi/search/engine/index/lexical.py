"""`LexicalIndex`: the index of a catalogue with its analyzer and vocabulary, built in a thread if there are many tools.

The thread touches nothing but entries, which never change, and what it builds; it takes no lock. Who needs the index
waits for it, without a lock, and builds it if the thread has not: it failed, it is in the process that this one was
forked from, or the interpreter is about to end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from threading import Event, Thread, current_thread
from weakref import WeakSet, ref

from ..entry import Entry
from ..text.analyzer import Analyzer
from ._fields import weighted_terms
from .bm25 import Index
from .vocabulary import Vocabulary

__all__ = ["LexicalIndex"]

_LARGE = 500  # tools: they take some 25 ms, the longest that a caller should wait for what it may not need at once


class LexicalIndex:
    """The terms of a catalogue's tools.

    Not thread-safe: call `wait`, then use it with the lock of the catalogue held. Only `version` needs neither.

    Args:
        entries: The tools, numbered from 0.
        version: The version that the index begins with; by default the number of tools.
        in_thread: Whether the index of many tools is built in a thread.
    """

    def __init__(self, entries: Sequence[Entry] = (), *, version: int | None = None, in_thread: bool = True) -> None:
        self._analyzer = Analyzer()
        self._version = len(entries) if version is None else version
        self._entries = entries
        self._built: tuple[Index, Vocabulary] | None = None
        self._build: _Build | None = None
        if in_thread and len(entries) >= _LARGE:
            self._build = _Build.started(self, entries, self._analyzer)
        if self._build is None:
            self._lexicon()

    @classmethod
    def of(cls, index: Index) -> LexicalIndex:
        """With an index that was read from a file."""
        this = cls()
        this._built = index, Vocabulary(index, this._analyzer)
        return this

    @property
    def version(self) -> int:
        """Changes with every update; known before the index is built."""
        return self._version if self._built is None else self._built[0].version

    @property
    def index(self) -> Index:
        """The index."""
        return self._lexicon()[0]

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the index."""
        return self._lexicon()[1]

    @property
    def analyzer(self) -> Analyzer:
        """Turns texts into terms; needs no index."""
        return self._analyzer

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the thread has ended; False if it has not after `timeout` seconds."""
        build = self._build  # another thread may take it meanwhile
        return build is None or build.wait(timeout)

    def terms(self, entry: Entry) -> Iterator[tuple[int, list[str]]]:
        """The weight and the terms of each field of a tool."""
        return weighted_terms(entry, self.analyzer)

    def renumbered(self, entries: Sequence[Entry]) -> LexicalIndex:
        """A new index of the same tools under other numbers: scores and snapshots of this one are stale."""
        return LexicalIndex(entries, version=self.version + 1, in_thread=False)

    def _lexicon(self) -> tuple[Index, Vocabulary]:
        if self._built is None:
            self.wait()
            index = None if self._build is None else self._build.index
            if index is None:
                index = _index_of(self._entries, self._analyzer)
            index.version = self._version
            self._built = index, Vocabulary(index, self._analyzer)
            self._entries, self._build = (), None
        return self._built


class _Build:
    """An index that a daemon thread builds; it stops when the `owner` is gone."""

    def __init__(self, owner: LexicalIndex, entries: Sequence[Entry], analyzer: Analyzer) -> None:
        self.index: Index | None = None
        """The index; None until it is built."""
        self._ended = Event()
        self._process = os.getpid()
        wanted = self._wanted(ref(owner), entries)
        self._thread = Thread(target=self._run, args=(wanted, analyzer), name="hikidashi-index", daemon=True)

    @classmethod
    def started(cls, owner: LexicalIndex, entries: Sequence[Entry], analyzer: Analyzer) -> _Build | None:
        """The build of the index of `entries`; None if no thread can be started."""
        build = cls(owner, entries, analyzer)
        try:
            build._thread.start()
        except RuntimeError:  # the interpreter is about to end, or the system has no threads, or no more of them
            return None
        _running.add(build)
        return build

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the thread has ended; True at once if it does not run any more, or is the one that asks."""
        is_lost = self._process != os.getpid() or sys.is_finalizing()
        return is_lost or self._thread is current_thread() or self._ended.wait(timeout)

    def _wanted(self, owner: ref[LexicalIndex], entries: Sequence[Entry]) -> Iterator[Entry]:
        for entry in entries:
            if owner() is None:
                return
            yield entry

    def _run(self, entries: Iterable[Entry], analyzer: Analyzer) -> None:
        try:
            self.index = _index_of(entries, analyzer)
        except BaseException:  # who needs the index builds it again, and raises the error there
            self.index = None
        finally:
            _running.discard(self)
            self._ended.set()


def _index_of(entries: Iterable[Entry], analyzer: Analyzer) -> Index:
    index = Index()
    index.extend(weighted_terms(entry, analyzer) for entry in entries)
    return index


_running: WeakSet[_Build] = WeakSet()


def _wait_for_all() -> None:
    """Wait for all threads: processes forked now, such as the workers of a server, need not build the index again."""
    for build in list(_running):
        build.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_all)
