"""The log of searches and calls: `Recorder`, `SearchLog`, and the records of one conversation.

Recording takes the caller microseconds: a thread writes the records, several per commit.
"""

from __future__ import annotations

import inspect
import logging
import os
import secrets
import sqlite3
import time
import weakref
from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Protocol, Self, get_args

from ..errors import SearchLogError
from .log_store import (
    PRELOAD,
    Appender,
    Called,
    FoundBy,
    RecordedCall,
    RecordedSearch,
    Searched,
    Store,
)

__all__ = [
    "ConversationRecord",
    "FoundBy",
    "RecordedCall",
    "RecordedSearch",
    "Recorder",
    "SearchLog",
    "in_conversation",
    "record_call",
    "record_preload",
]

logger = logging.getLogger("hikidashi")


_GATHER = 0.05  # seconds; records within it share one commit
_BATCH = 1_000
_MOST_WAITING = 10_000  # records kept while the file cannot be written


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


class SearchLog:
    """A log of searches in a SQLite file, which threads and processes may share.

    A call belongs to the newest search in its session that found the tool. Each `SearchLog` is one session, unless
    `with log.session(...)` begins another; an integration that knows where a conversation begins makes each a session.
    Records beyond `max_age_days` or `max_records` are deleted.

    Records are on disk once `flush()` or `close()` has returned; a process that is killed loses at most those of the
    last moment. A log is closed when it is garbage-collected and when Python exits. If the file is removed, the next
    record creates a new one.

    Args:
        path: The file; created with its folder if missing, readable by its owner only.
        keep_queries: With False, the words of a search are not stored, only that it took place and what it found.
        max_age_days: Maximum age of records.
        max_records: Maximum number of searches, and of calls.
        must_exist: Raise if the file does not exist, instead of creating it.

    Raises:
        SearchLogError: the file is damaged, belongs to another program, or cannot be opened; or a limit is not above 0.
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
        """Record a search of `kind` (`words`, `nearest`, `regex` or `select`) that found the tools `names`, best first.

        Of the kind `preload`, the user's message `query` loaded them before the model was asked.

        Raises:
            ValueError: `names` is not a list.
        """
        if isinstance(names, str) or not isinstance(names, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"`names` is {names!r:.100}: use a list of names, such as ['send_mail'].")
        # Converted here, so that a wrong type raises in the caller and not in the writing thread.
        kept = str(query) if self.keep_queries else None
        took = None if seconds is None else float(seconds)
        self._writer.put(Searched(time.time(), self._current_session(), str(kind), kept, tuple(map(str, names)), took))

    def called(self, name: str, *, found_by: FoundBy | None = None) -> None:
        """Record a call of the tool `name`.

        Args:
            name: The tool.
            found_by: How it was found; by default the first in this session that found it, a search or preloading.

        Raises:
            ValueError: `found_by` is something else.
        """
        if found_by is not None and found_by not in get_args(FoundBy):
            raise ValueError(f"`found_by` is {found_by!r}: use 'preload', 'search', 'listed' or 'nothing'.")
        self._writer.put(Called(time.time(), self._current_session(), str(name), found_by))

    @contextmanager
    def session(self, name: str | None = None) -> Generator[str]:
        """Records made in this block, and in tasks started in it, belong to the session `name`, or to a new one."""
        token = self._in_session.set(name or secrets.token_hex(6))
        try:
            yield self._current_session()
        finally:
            self._in_session.reset(token)

    @contextmanager
    def conversation(self, name: str) -> Generator[str]:
        """Like `session(name)`, but within a session that the caller has begun, records belong to that one."""
        if self._in_session.get() is not None:
            yield self._current_session()
            return
        with self.session(name) as own:
            yield own

    def calls(self) -> list[RecordedCall]:
        """All recorded calls, oldest first, with how each tool was found.

        Raises:
            SearchLogError: the file cannot be read, or records cannot be written to it.
        """
        self.flush()
        return self._store.calls()

    def searches(self) -> list[RecordedSearch]:
        """All recorded searches, oldest first, with the calls that followed from each.

        Raises:
            SearchLogError: the file cannot be read, or records cannot be written to it.
        """
        self.flush()
        return self._store.searches()

    def usage(self) -> dict[str, int]:
        """Number of calls of each tool, the most called first: for `usage=` of `to_anthropic_search` and `deferred`.

        Raises:
            SearchLogError: the file cannot be read, or records cannot be written to it.
        """
        self.flush()
        return self._store.usage()

    def flush(self) -> None:
        """Return when everything recorded so far is on disk.

        Raises:
            SearchLogError: it could not be written. It is kept, and written with the next record or `flush()`.
        """
        self._writer.flush()

    def close(self) -> None:
        """Write everything to disk and end the writing thread; a later record starts it again.

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
    """A marker in the queue, waited for until all records before it are written."""

    def __init__(self, *, last: bool = False) -> None:
        self.last = last
        self._done = Event()
        self._failure: Exception | None = None

    def finish(self, failure: Exception | None) -> None:
        """Wake the waiting thread; `failure` says why records could not be written."""
        self._failure = failure
        self._done.set()

    def wait(self) -> Exception | None:
        """Return when the records are written, or why they could not be."""
        self._done.wait()
        return self._failure


_Queue = SimpleQueue[Searched | Called | _Sync]


class _Writer:
    """The writing thread and its queue; it has no reference to the log, which can be garbage-collected."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._begin_empty()

    def _begin_empty(self) -> None:
        self._process = os.getpid()
        self._lock = Lock()
        self._queue: _Queue = SimpleQueue()
        self._thread: Thread | None = None

    def _after_fork(self) -> None:
        # A child process has no thread and must not use its connection; the parent writes what was queued.
        if self._process != os.getpid():
            self._begin_empty()

    def put(self, event: Searched | Called) -> None:
        """Queue `event` for writing."""
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
        """Stop a log that was not closed: log an error, since there is no caller to raise to."""
        try:
            self.stop()
        except SearchLogError as error:
            logger.warning("%s The last records are lost.", error)

    def _wait(self, mark: _Sync) -> None:
        failure = mark.wait()
        if failure is not None:
            raise self._store.error(failure) from failure

    def _run(self, queue: _Queue) -> None:
        waiting: list[Searched | Called] = []
        appender = Appender(self._store)
        failure: Exception | None = None
        while True:
            events, mark = _next_batch(queue)
            waiting += events
            before, failure = failure, None
            try:
                if waiting:
                    appender.write(waiting)
                    waiting.clear()
                    appender.prune()
            except (sqlite3.OperationalError, OSError) as error:  # locked or disk full: may be temporary
                failure = error
                del waiting[:-_MOST_WAITING]
            except Exception as error:  # damaged, or another program's file: permanent
                failure = error
                waiting.clear()
            if failure and not before:
                logger.warning("%s", self._store.error(failure))
            if mark is None:
                continue
            if mark.last:
                appender.close()
            mark.finish(failure)
            if mark.last:
                return


def _next_batch(queue: _Queue) -> tuple[list[Searched | Called], _Sync | None]:
    """The next records: those within `_GATHER` seconds, or up to a marker."""
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
