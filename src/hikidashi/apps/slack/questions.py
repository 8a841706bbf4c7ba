"""Questions to the bot among Slack's events, and the state of each, across restarts and between bots.

Only ids, times and states are saved, no text.
"""

from __future__ import annotations

import fcntl
import glob
import logging
import os
import sqlite3
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ...common.sqlite import connect, transaction

# Other subtypes are edits, joins, topics and so on.
_SUBTYPES_OF_PEOPLE = frozenset({None, "file_share", "me_message", "thread_broadcast"})


@dataclass(frozen=True, kw_only=True)
class SlackQuestion:
    """A message that the bot answers."""

    channel: str
    ts: str
    thread_ts: str
    """The first message of the thread of the answer; the question's own `ts` if it starts one."""
    user: str
    text: str

    @property
    def begins_thread(self) -> bool:
        """Whether the question is the first message of its thread."""
        return self.ts == self.thread_ts


def question_in(event: Mapping[str, Any], bot_user_id: str) -> SlackQuestion | None:
    """The question in an event: a mention of the bot, or a direct message, by a person and not an edit."""
    if event.get("subtype") not in _SUBTYPES_OF_PEOPLE or "edited" in event or event.get("hidden"):
        return None
    user, channel, ts = event.get("user"), event.get("channel"), event.get("ts")
    if event.get("bot_id") or not user or user == bot_user_id or not channel or not ts:
        return None
    text = str(event.get("text") or "")
    called = event.get("type") == "app_mention" or event.get("channel_type") == "im" or f"<@{bot_user_id}" in text
    if not called:
        return None
    return SlackQuestion(channel=channel, ts=ts, thread_ts=event.get("thread_ts") or ts, user=user, text=text)


logger = logging.getLogger("hikidashi")

_KEEP_SECONDS = 70 * 60.0  # Slack's last retry is about an hour after the first delivery
_KEEP_UNANSWERED_SECONDS = 30 * 24 * 60 * 60.0

_SEEN = """
CREATE TABLE IF NOT EXISTS seen (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    state TEXT NOT NULL,
    bot TEXT NOT NULL,
    owner TEXT,
    attempts INTEGER NOT NULL DEFAULT 1,
    channel TEXT NOT NULL,
    ts TEXT NOT NULL,
    thread_ts TEXT NOT NULL,
    posted TEXT
) WITHOUT ROWID
"""

_Result = TypeVar("_Result")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question that this bot has claimed."""

    id: str
    channel: str
    ts: str
    thread_ts: str
    at: float
    """When it was first delivered, in seconds since 1970."""
    posted: str | None = None
    """The unfinished message of an earlier bot."""
    finishing: bool = False
    """Whether that bot was writing the complete answer, so that parts of it may be there."""
    attempts: int = 1
    """How many bots have claimed it, including this one."""


class Questions:
    """Which questions were asked, which bot answers them, and which are answered.

    Bots may share the file. A question belongs to the bot that claimed it while that bot lives; then another may claim
    it. If the file cannot be used, that is logged once, and the state is kept in memory only.

    Args:
        path: The file, created if it is missing; None keeps the state in memory only.
        limit: The most questions in memory.
        keep_seconds: How long an answered question stays in the file.
        wait_seconds: How long to wait for the lock of the file.
        clock: The time, in seconds since 1970.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        limit: int = 10_000,
        keep_seconds: float = _KEEP_SECONDS,
        wait_seconds: float = 2.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = None if path is None else path.absolute()  # also after a change of the working directory
        self._limit = limit
        self._keep_seconds = keep_seconds
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._taken: OrderedDict[str, None] = OrderedDict()
        self._lock: _ProcessLock | None = None

    def take(self, bot: str, question: SlackQuestion) -> Asked | None:
        """Claim a question; None if it is answered, or claimed by a bot that lives."""
        message_id = f"{bot} {question.channel} {question.ts}"
        asked = Asked(
            id=message_id,
            channel=question.channel,
            ts=question.ts,
            thread_ts=question.thread_ts,
            at=self._clock(),
        )
        if message_id in self._taken:
            self._remember(message_id)
            return None
        taken = self._in_file(lambda database, me: self._take(database, me, bot, asked), asked)
        if taken is not None:  # a question of another bot may be claimed later
            self._remember(message_id)
        return taken

    def take_unfinished(self, bot: str) -> list[Asked]:
        """Claim the questions that ended bots left unfinished, oldest first."""

        def take(database: sqlite3.Connection, me: str) -> list[Asked]:
            rows = database.execute(
                "SELECT id, owner FROM seen WHERE bot = ? AND state <> 'done' ORDER BY at, id", (bot,)
            ).fetchall()
            return [
                self._take_over(database, me, one)
                for one, owner in rows
                if one not in self._taken and _has_ended(self._path, owner)
            ]

        unfinished = self._in_file(take, [])
        for asked in unfinished:
            self._remember(asked.id)
        return unfinished

    def posted(self, asked: Asked, ts: str) -> None:
        """Record that the answer grows in the message `ts`."""
        self._change(asked, "posted = ?", ts)

    def finishing(self, asked: Asked) -> None:
        """Record that the complete answer is about to be written."""
        self._change(asked, "state = 'finishing'")

    def done(self, asked: Asked) -> None:
        """Record that the question was answered, or closed with a note."""
        self._change(asked, "state = 'done', owner = NULL, at = ?", self._clock())

    def give_back(self, asked: Asked) -> None:
        """Release a question without any answer, so that it can be claimed again."""
        self._taken.pop(asked.id, None)
        self._change(asked, "owner = NULL")

    def close(self) -> None:
        """Release all unfinished questions; may be called twice."""
        if self._lock is not None:
            self._lock.end()
            self._lock = None

    def _remember(self, message_id: str) -> None:
        self._taken[message_id] = None
        self._taken.move_to_end(message_id)
        if len(self._taken) > self._limit:
            self._taken.popitem(last=False)

    def _change(self, asked: Asked, what: str, *values: object) -> None:
        self._in_file(
            lambda database, _: database.execute(f"UPDATE seen SET {what} WHERE id = ?", (*values, asked.id)), None
        )

    def _take(self, database: sqlite3.Connection, me: str, bot: str, asked: Asked) -> Asked | None:
        row = database.execute("SELECT state, owner FROM seen WHERE id = ?", (asked.id,)).fetchone()
        if row is None:
            database.execute(
                "INSERT INTO seen (id, at, state, bot, owner, channel, ts, thread_ts) "
                "VALUES (?, ?, 'open', ?, ?, ?, ?, ?)",
                (asked.id, asked.at, bot, me, asked.channel, asked.ts, asked.thread_ts),
            )
            return asked
        state, owner = row
        return None if state == "done" or not _has_ended(self._path, owner) else self._take_over(database, me, asked.id)

    def _take_over(self, database: sqlite3.Connection, me: str, message_id: str) -> Asked:
        database.execute("UPDATE seen SET owner = ?, attempts = attempts + 1 WHERE id = ?", (me, message_id))
        channel, ts, thread_ts, at, posted, state, attempts = database.execute(
            "SELECT channel, ts, thread_ts, at, posted, state, attempts FROM seen WHERE id = ?", (message_id,)
        ).fetchone()
        return Asked(
            id=message_id,
            channel=channel,
            ts=ts,
            thread_ts=thread_ts,
            at=at,
            posted=posted,
            finishing=state == "finishing",
            attempts=attempts,
        )

    def _in_file(self, work: Callable[[sqlite3.Connection, str], _Result], otherwise: _Result) -> _Result:
        """The result of `work` in one transaction; `otherwise` if there is no usable file."""
        if self._path is None:
            return otherwise
        try:
            with self._opened(self._path) as database:
                if self._lock is None:
                    self._lock = _ProcessLock(self._path)
                return work(database, self._lock.name)
        except (OSError, sqlite3.Error) as error:
            logger.warning(
                "Slack: %s cannot be used (%s). What Slack delivers again after a restart will be answered again. "
                "Make its folder writable, or remove the file if it is damaged.",
                self._path,
                error,
            )
            self._path = None
            return otherwise

    @contextmanager
    def _opened(self, path: Path) -> Generator[sqlite3.Connection]:
        now = self._clock()
        # Of two bots that get the same question, one is first.
        with closing(connect(path, timeout=self._wait_seconds)) as database, transaction(database):
            database.execute(_SEEN)
            # A time in the future comes from a wrong clock.
            for state, seconds in (("=", self._keep_seconds), ("<>", _KEEP_UNANSWERED_SECONDS)):
                database.execute(
                    f"DELETE FROM seen WHERE state {state} 'done' AND at NOT BETWEEN ? AND ?",
                    (now - seconds, now + seconds),
                )
            yield database


class _ProcessLock:
    """A lock that a process holds while it lives; the kernel releases it also when the process is killed."""

    def __init__(self, path: Path) -> None:
        """Create the lock; only while the database is locked, so that no other bot takes it for a stale one."""
        for left in path.parent.glob(f"{glob.escape(path.name)}.*.lock"):
            _has_ended(path, left.name.removeprefix(f"{path.name}.").removesuffix(".lock"))
        self.name = uuid.uuid4().hex
        self._path = _lock_of(path, self.name)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def end(self) -> None:
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
        os.close(self._file)


def _lock_of(path: Path, owner: str) -> Path:
    return path.with_name(f"{path.name}.{owner}.lock")


def _has_ended(path: Path | None, owner: str | None) -> bool:
    """Whether the bot `owner` has ended; if so, its lock file is removed."""
    if owner is None or path is None:
        return True
    lock = _lock_of(path, owner)
    try:
        file = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        lock.unlink(missing_ok=True)
        return True
    finally:
        os.close(file)
