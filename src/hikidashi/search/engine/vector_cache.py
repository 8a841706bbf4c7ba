"""A cache of embeddings on disk, so that a catalogue is not embedded at every start."""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from ...common.files import cache_folder
from ...common.sqlite import closed_on_error, connect, make_database_private, transaction

logger = logging.getLogger("hikidashi")
_BATCH = 500  # old builds of SQLite take at most 999 variables
_PATIENCE = 5.0  # seconds to wait for another process, the first time
_IMPATIENCE = 0.1  # seconds afterwards: a process that hangs would hold up each of hundreds of batches
_MAX_NAME = 100  # characters of the model's name in the file name; the table has the whole name


_warned: set[str] = set()  # once in a process each: a large catalogue is read and written in hundreds of batches


def _warn_once(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        logger.warning("%s", message)


class VectorCache:
    """Vectors by the hash of their text, in one SQLite file per model.

    If the file cannot be used, a warning is logged once and nothing is cached.
    """

    def __init__(self, model: str, path: Path | None = None) -> None:
        self.model = model
        self._seconds = _PATIENCE
        self.path = (
            Path(path)
            if path
            else cache_folder() / "embeddings" / (re.sub(r"[^\w.-]+", "_", model)[:_MAX_NAME] + ".sqlite")
        )

    def read(self, keys: Iterable[bytes], size: int) -> dict[bytes, bytes]:
        """The cached vectors of `keys`, without those of another size in bytes, which the model no longer makes."""
        wanted = list(keys)
        found: dict[bytes, bytes] = {}
        try:
            if not self.path.exists():
                return found
            with closing(self._open()) as database:
                for start in range(0, len(wanted), _BATCH):
                    some = wanted[start : start + _BATCH]
                    marks = ",".join("?" * len(some))
                    found.update(
                        database.execute(
                            "SELECT key, vector FROM vectors WHERE model = ? AND typeof(vector) = 'blob' "
                            f"AND length(vector) = ? AND key IN ({marks})",
                            [self.model, size, *some],
                        )
                    )
        except (OSError, sqlite3.Error) as error:
            _warn_once(f"The embeddings in {self.path} cannot be read: {error}. {self._remedy(error)}")
        return found

    def write(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep more vectors."""
        try:
            make_database_private(self.path)  # it reveals which texts were searched
            with closing(self._open()) as database, transaction(database):
                database.executemany(
                    "INSERT OR REPLACE INTO vectors (model, key, vector) VALUES (?, ?, ?)",
                    ((self.model, key, vector) for key, vector in vectors.items()),
                )
        except (OSError, sqlite3.Error) as error:
            _warn_once(f"The embeddings cannot be kept in {self.path}: {error}. {self._remedy(error)}")

    def _remedy(self, error: Exception) -> str:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF  # without the extended part
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            self._seconds = _IMPATIENCE
            return "Another process holds the file: end it if it hangs. They are made again meanwhile."
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return "Delete the file, and a new one is made. They are made again at each start until then."
        return "They are made again at each start: check the free space and the permissions there."

    def _open(self) -> sqlite3.Connection:
        with closed_on_error(connect(self.path, timeout=self._seconds, mode="rw")) as database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (model TEXT, key BLOB, vector BLOB, PRIMARY KEY (model, key)) "
                "WITHOUT ROWID"
            )
        return database
