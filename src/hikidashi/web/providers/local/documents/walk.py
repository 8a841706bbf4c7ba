"""The documents in a folder and its subfolders, safe against symlink loops."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["FileFound", "Kind", "Unreadable", "kind_of", "walk"]

Kind = Literal["markdown", "rst", "html", "pdf", "text"]

_KINDS: dict[str, Kind] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".rst": "rst",
    ".rest": "rst",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".txt": "text",
    ".text": "text",
    ".adoc": "text",
    ".asciidoc": "text",
    ".org": "text",
}
_BARE_NAMES = frozenset({"authors", "changelog", "changes", "contributing", "copying", "license", "news", "readme"})
_NOT_ENTERED = frozenset({"node_modules", "__pycache__", "site-packages"})


@dataclass(frozen=True, slots=True)
class FileFound:
    """A file to read."""

    path: Path
    kind: Kind
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A folder or file that could not be accessed."""

    path: Path
    reason: str


def kind_of(path: Path) -> Kind | None:
    """The kind of document by file name; None if it is not a document."""
    if kind := _KINDS.get(path.suffix.lower()):
        return kind
    return "text" if path.name.lower() in _BARE_NAMES else None


def walk(folder: Path) -> Iterator[FileFound | Unreadable]:
    """The documents below `folder`, in order; a file reached by several links is given once.

    Hidden files and folders are skipped, and folders of installed packages.
    """
    yield from _walk(folder, set())


def _walk(folder: Path, seen: set[tuple[int, int]]) -> Iterator[FileFound | Unreadable]:
    try:
        status = folder.stat()
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Unreadable(folder, error.strerror or str(error))
        return
    if (status.st_dev, status.st_ino) in seen:  # a link to a parent folder
        return
    seen.add((status.st_dev, status.st_ino))
    for entry in entries:
        if entry.name.startswith("."):
            continue
        path = folder / entry.name
        try:
            if entry.is_dir():
                if entry.name not in _NOT_ENTERED:
                    yield from _walk(path, seen)
            elif (kind := kind_of(path)) and entry.is_file():
                status = entry.stat()
                if (status.st_dev, status.st_ino) not in seen:
                    seen.add((status.st_dev, status.st_ino))
                    yield FileFound(path, kind, status.st_size, status.st_mtime_ns)
        except OSError as error:
            yield Unreadable(path, error.strerror or str(error))
