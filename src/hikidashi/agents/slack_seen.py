"""Which messages the bot was shown before, also before a restart: their ids, and nothing of what they say."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

__all__ = ["Seen"]

logger = logging.getLogger("hikidashi")

_KEEP_SECONDS = 70 * 60.0  # Slack's last retry comes about an hour after the first delivery


class Seen:
    """Remembers the ids it was shown: the newest in memory, and those of about an hour in a file.

    Bots may share the file, and then know what the others were shown. A file that cannot be used is told in the log
    once, and memory alone remembers from then on.

    Args:
        path: The file, which is made where there is none; None keeps nothing on disk.
        limit: How many ids memory holds.
        keep_seconds: How long the file holds an id.
        wait_seconds: How long another bot may hold the file.
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
        self._path = None if path is None else path.absolute()  # wherever the process goes later
        self._limit = limit
        self._keep_seconds = keep_seconds
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._ids: OrderedDict[str, None] = OrderedDict()

    def is_new(self, message_id: str) -> bool:
        """Whether `message_id` was not shown before; from now on it was."""
        new = self._is_new_in_memory(message_id)
        if self._path is None:
            return new
        try:
            return self._is_new_in_file(self._path, message_id) and new
        except (OSError, sqlite3.Error) as error:
            logger.warning(
                "Slack: %s cannot be used (%s). What Slack delivers again after a restart will be answered again. "
                "Make its folder writable, or remove the file if it is damaged.",
                self._path,
                error,
            )
            self._path = None
            return new

    def _is_new_in_memory(self, message_id: str) -> bool:
        new = message_id not in self._ids
        self._ids[message_id] = None
        self._ids.move_to_end(message_id)
        if len(self._ids) > self._limit:
            self._ids.popitem(last=False)
        return new

    def _is_new_in_file(self, path: Path, message_id: str) -> bool:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            # SQLite would make it readable for others.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        now = self._clock()
        with closing(sqlite3.connect(path, timeout=self._wait_seconds, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")  # of two bots that are shown the same, one is first
            database.execute("CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID")
            # A time to come is that of a clock which was wrong.
            database.execute(
                "DELETE FROM seen WHERE at NOT BETWEEN ? AND ?", (now - self._keep_seconds, now + self._keep_seconds)
            )
            added = database.execute("INSERT OR IGNORE INTO seen (id, at) VALUES (?, ?)", (message_id, now)).rowcount
            database.commit()
        return added == 1
