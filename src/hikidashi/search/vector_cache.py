"""Vectors on disk, so that a catalogue is embedded once and not at every start."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

__all__ = ["VectorCache"]

logger = logging.getLogger("hikidashi")
_BATCH = 500  # sqlite's bound on variables is 999 in old builds


class VectorCache:
    """Vectors by the hash of their text, in a file of their own per model.

    A cache is a convenience: where its file cannot be used, a warning is logged and nothing is kept.
    """

    def __init__(self, model: str, path: Path | None = None) -> None:
        self.model = model
        self.path = path or cache_folder() / "embeddings" / (re.sub(r"[^\w.-]+", "_", model) + ".sqlite")

    def read(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors known for `keys`."""
        wanted = list(keys)
        found: dict[bytes, bytes] = {}
        if not self.path.exists():
            return found
        try:
            with closing(self._open()) as database:
                for start in range(0, len(wanted), _BATCH):
                    some = wanted[start : start + _BATCH]
                    marks = ",".join("?" * len(some))
                    found.update(
                        database.execute(
                            f"SELECT key, vector FROM vectors WHERE model = ? AND key IN ({marks})", [self.model, *some]
                        )
                    )
        except sqlite3.Error as error:
            logger.warning("The embeddings in %s cannot be read (%s); delete the file to start anew.", self.path, error)
        return found

    def write(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep more vectors."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as database, database:
                database.executemany(
                    "INSERT OR REPLACE INTO vectors (model, key, vector) VALUES (?, ?, ?)",
                    ((self.model, key, vector) for key, vector in vectors.items()),
                )
        except (OSError, sqlite3.Error) as error:
            logger.warning("The embeddings cannot be kept in %s: %s.", self.path, error)

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=5)
        try:
            database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (model TEXT, key BLOB, vector BLOB, PRIMARY KEY (model, key)) "
                "WITHOUT ROWID"
            )
        except sqlite3.Error:
            database.close()
            raise
        return database


def cache_folder() -> Path:
    """Where this platform wants programs to keep what can be made again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hikidashi"
