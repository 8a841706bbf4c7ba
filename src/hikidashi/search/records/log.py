"""SearchLog: which searches took place, what they found, and what was called next.

Recording costs the caller microseconds: a thread writes, several records to one commit.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Protocol, Self

from ...errors import SearchLogError
from ._store import Appender, Called, RecordedSearch, Searched, Store

__all__ = ["RecordedSearch", "Recorder", "SearchLog"]

logger = logging.getLogger("hikidashi")

_GATHER = 0.05  # seconds in which records share one commit
_BATCH = 1_000
_MOST_WAITING = 10_000  # records kept while the file cannot be written


class Recorder(Protocol):
    """What hears of every search and every call."""

    def searched(self, query: str, kind: str, names: Sequence[str]) -> None:
        """A search of `kind` (`words`, `regex` or `select`) found the tools `names`, best first."""
        ...

    def called(self, name: str) -> None:
        """The tool `name` was called."""
        ...


class SearchLog:
    """A record of searches in a SQLite file; any number of threads and processes may share one file.

    A call belongs to the newest search of its session that found the tool. A session is one `SearchLog`, unless
    `with log.session(...)` says otherwise. Records older or more than the log should hold are forgotten.

    What `flush()` or `close()` returned from is on the disk; a process that is killed loses at most what it
    recorded in the last moment before. A log that is garbage-collected, or alive when Python ends, is closed. Where
    the file is taken away, the next record begins a new one.

    Args:
        path: The file; made, with its folder, where there is none, and then readable for its owner alone.
        keep_queries: False records that a search took place and what it found, never its words.
        max_age_days: Older records are forgotten.
        max_records: How many searches are kept, and how many calls.
        must_exist: Refuse a path without a file instead of making one.

    Raises:
        SearchLogError: the file is damaged, belongs to another program, or cannot be opened; or it should hold nothing.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        keep_queries: bool = True,
        max_age_days: float = 90.0,
        max_records: int = 100_000,
        must_exist: bool = False,
    ) -> None:
        self.path = Path(path)
        self.keep_queries = keep_queries
        self._store = Store(self.path, max_age_days=max_age_days, max_records=max_records, must_exist=must_exist)
        self._session = secrets.token_hex(6)
        self._in_session: ContextVar[str | None] = ContextVar("hikidashi_search_session", default=None)
        self._writer = _Writer(self._store)
        weakref.finalize(self, self._writer.stop_quietly)

    def searched(self, query: str, kind: str, names: Sequence[str], *, seconds: float | None = None) -> None:
        """Record a search of `kind` (`words`, `regex` or `select`) that found the tools `names`, best first."""
        # Converted here, where a wrong type is the caller's to hear of, and not among others' records in the thread.
        kept = str(query) if self.keep_queries else None
        took = None if seconds is None else float(seconds)
        self._writer.put(Searched(time.time(), self._current_session(), str(kind), kept, tuple(map(str, names)), took))

    def called(self, name: str) -> None:
        """Record a call of the tool `name`."""
        self._writer.put(Called(time.time(), self._current_session(), str(name)))

    @contextmanager
    def session(self, name: str | None = None) -> Generator[str]:
        """Records made inside, also in tasks started inside, belong to one conversation: `name`, or a new one."""
        token = self._in_session.set(name or secrets.token_hex(6))
        try:
            yield self._current_session()
        finally:
            self._in_session.reset(token)

    def searches(self) -> list[RecordedSearch]:
        """All searches on record, oldest first, with what was called because of each.

        Raises:
            SearchLogError: the file cannot be read, or records cannot be written to it.
        """
        self.flush()
        return self._store.searches()

    def usage(self) -> dict[str, int]:
        """How often each tool was called, the most called first: what `to_anthropic_search(usage=...)` takes.

        Raises:
            SearchLogError: the file cannot be read, or records cannot be written to it.
        """
        self.flush()
        return self._store.usage()

    def flush(self) -> None:
        """Return when everything recorded so far is on the disk.

        Raises:
            SearchLogError: it could not be written. It is kept, and tried again with the next record or `flush()`.
        """
        self._writer.flush()

    def close(self) -> None:
        """Put everything on the disk and end the writing thread; a record made later starts it anew.

        Raises:
            SearchLogError: something could not be written.
        """
        self._writer.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _current_session(self) -> str:
        return self._in_session.get() or self._session


class _Sync:
    """A mark in the queue: all before it is written, or `failure` says why not."""

    def __init__(self, *, last: bool = False) -> None:
        self.last = last
        self.done = Event()
        self.failure: Exception | None = None


_Queue = SimpleQueue[Searched | Called | _Sync]


class _Writer:
    """The thread that writes to the file, and the queue in front of it. It knows nothing of the log it serves."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._begin_empty()

    def _begin_empty(self) -> None:
        self._process = os.getpid()
        self._lock = Lock()
        self._queue: _Queue = SimpleQueue()
        self._thread: Thread | None = None

    def _after_fork(self) -> None:
        # A child has neither the thread nor a right to its connection, and the parent writes what was queued.
        if self._process != os.getpid():
            self._begin_empty()

    def put(self, event: Searched | Called) -> None:
        """Have `event` written soon."""
        self._after_fork()
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._run, args=(self._queue,), name="hikidashi-search-log", daemon=True)
                self._thread.start()
            self._queue.put(event)

    def flush(self) -> None:
        """Return when all is written."""
        self._after_fork()
        mark = _Sync()
        with self._lock:
            if self._thread is None:
                return
            self._queue.put(mark)
        self._wait(mark)

    def stop(self) -> None:
        """Return when all is written and the thread has ended."""
        self._after_fork()
        mark = _Sync(last=True)
        with self._lock:
            thread, self._thread = self._thread, None
            queue, self._queue = self._queue, SimpleQueue()
        if thread is not None:
            queue.put(mark)
            thread.join()
            self._wait(mark)

    def stop_quietly(self) -> None:
        """The end for a log that nobody closed: there is no caller to raise to."""
        try:
            self.stop()
        except SearchLogError as error:
            logger.warning("%s The last records are lost.", error)

    def _wait(self, mark: _Sync) -> None:
        mark.done.wait()
        if mark.failure is not None:
            raise self._store.error(mark.failure) from mark.failure

    def _run(self, queue: _Queue) -> None:
        waiting: list[Searched | Called] = []
        appender = Appender(self._store)
        failure: Exception | None = None
        while True:
            events, mark = _gathered(queue)
            waiting += events
            told, failure = failure, None
            try:
                if waiting:
                    appender.write(waiting)
                    waiting.clear()
                    appender.prune()
            except (sqlite3.OperationalError, OSError) as error:  # locked, disk full: may pass
                failure = error
                del waiting[:-_MOST_WAITING]
            except Exception as error:  # a damaged file, another program's: trying again is no use
                failure = error
                waiting.clear()
            if failure and not told:
                logger.warning("%s", self._store.error(failure))
            if mark is None:
                continue
            mark.failure = failure
            if mark.last:
                appender.close()
            mark.done.set()
            if mark.last:
                return


def _gathered(queue: _Queue) -> tuple[list[Searched | Called], _Sync | None]:
    """The next records, as many as come within a moment, up to a mark."""
    events: list[Searched | Called] = []
    deadline: float | None = None
    while len(events) < _BATCH:
        try:
            item = queue.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic()))
        except Empty:
            break
        if isinstance(item, _Sync):
            return events, item
        events.append(item)
        deadline = deadline or time.monotonic() + _GATHER
    return events, None
