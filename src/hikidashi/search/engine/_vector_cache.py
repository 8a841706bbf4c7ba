"""Vectors on disk, so that a catalogue is embedded once and not at every start."""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from ...common.folders import cache_folder
from ...common.sqlite import closed_on_error, connect, make_database_private, transaction

__all__ = ["VectorCache"]

logger = logging.getLogger("hikidashi")
_BATCH = 500  # sqlite's bound on variables is 999 in old builds
_MAX_NAME = 100  # letters of a model in a file's name; the file itself has the whole name


class VectorCache:
    """Vectors by the hash of their text, in a file of their own per model.

    A cache is a convenience: where its file cannot be used, a warning is logged and nothing is kept.
    """

    def __init__(self, model: str, path: Path | None = None) -> None:
        self.model = model
        self.path = (
            Path(path)
            if path
            else cache_folder() / "embeddings" / (re.sub(r"[^\w.-]+", "_", model)[:_MAX_NAME] + ".sqlite")
        )

    def read(self, keys: Iterable[bytes], size: int) -> dict[bytes, bytes]:
        """The vectors of `size` bytes known for `keys`; others are no vectors of this model as it is now."""
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
            logger.warning("The embeddings in %s cannot be read (%s); delete the file to start anew.", self.path, error)
        return found

    def write(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep more vectors."""
        try:
            make_database_private(self.path)  # it says which texts somebody searched
            with closing(self._open()) as database, transaction(database):
                database.executemany(
                    "INSERT OR REPLACE INTO vectors (model, key, vector) VALUES (?, ?, ?)",
                    ((self.model, key, vector) for key, vector in vectors.items()),
                )
        except (OSError, sqlite3.Error) as error:
            logger.warning("The embeddings cannot be kept in %s: %s.", self.path, error)

    def _open(self) -> sqlite3.Connection:
        with closed_on_error(connect(self.path, timeout=5, mode="rw")) as database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (model TEXT, key BLOB, vector BLOB, PRIMARY KEY (model, key)) "
                "WITHOUT ROWID"
            )
        return database
