"""What was installed where, so that uninstalling can restore the files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from ...common.atomic import replace_file
from ...errors import ToolSourceError

__all__ = ["Record", "Records", "digest"]


def digest(data: bytes) -> str:
    """The digest of `data`."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Record:
    """A file that has our entry."""

    client: str
    file: str
    name: str
    """Our name in the file."""
    backup: str | None
    """The file as it was before; None if there was none."""
    before: str | None
    """The digest of the backup."""
    after: str
    """The digest of what was written."""
    restorable: bool = True
    """Whether the backup is without our entry."""
    moved: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """The servers that we took out, by name, each as the file had it: with its keys."""

    def original(self, current: bytes | None) -> tuple[bool, bytes | None]:
        """Whether `current` is what was written, and what was there before it."""
        if current is None or not self.restorable or digest(current) != self.after:
            return False, None
        if self.backup is None:
            return True, None
        try:
            data = Path(self.backup).read_bytes()
        except OSError:
            return False, None
        return digest(data) == self.before, data


class Records:
    """The records in the file `path`, which only its owner may read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> list[Record]:
        """All records; none if the file is missing or invalid."""
        try:
            kept: Any = json.loads(self._path.read_text(encoding="utf-8"))
            return [Record(**one) for one in cast("list[dict[str, Any]]", kept)]
        except (OSError, ValueError, TypeError):
            return []

    def of(self, client: str, file: Path) -> Record | None:
        """The record of a file of `client`."""
        return next((one for one in self.all() if (one.client, one.file) == (client, str(file))), None)

    def replace(self, client: str, files: list[Path], new: list[Record]) -> None:
        """Replace the records of these files of `client` by `new`.

        Raises:
            ToolSourceError: it cannot be written.
        """
        gone = {str(file) for file in files}
        kept = [one for one in self.all() if one.client != client or one.file not in gone]
        try:
            content = json.dumps([asdict(one) for one in [*kept, *new]], indent=1)
            replace_file(self._path, content.encode(), private=True)
        except OSError as error:
            reason = f"cannot be written ({error.strerror or error})"
            raise ToolSourceError(str(self._path), reason, "Check the permissions there.") from error
