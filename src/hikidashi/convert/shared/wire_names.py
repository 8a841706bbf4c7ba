"""Tool names that model APIs accept: ASCII letters, digits, `_` and `-`, up to a length.

A valid name is its own wire name. Any other keeps its valid characters and gets a short hash of the whole name, so
that wire names are unique and the same in every process.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import count

__all__ = ["WireNames", "plain_name"]

_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_UNFIT_RUN = re.compile(r"[^a-zA-Z0-9-]+")
_HASH_BYTES = 5
_HASH_LETTERS = 8  # of base32: two of 10,000 names have the same hash once in 20,000 catalogues
_FEWEST = 2 * _HASH_LETTERS
_UNREADABLE = "tool"


def plain_name(name: str) -> str:
    """`name` with `_` for each character that is not allowed, as Claude Code itself replaces them."""
    return _UNFIT.sub("_", name)


class WireNames:
    """A two-way mapping between the names of tools and their wire names of at most `longest` characters.

    A name with ASCII punctuation or spaces has `_` in their place: `files.read` is `files_read`. If another tool is
    called that, or the name has other characters or is too long, it ends with a hash: `tool_x3k5qw2a`.

    Args:
        names: The names of the tools; more may be added.
        longest: Maximum length of a wire name, at least 16.
        alike: Normalises a name as the target does when it compares names.

    Raises:
        ValueError: `longest` leaves no room for a hash.
    """

    def __init__(self, names: Iterable[str] = (), *, longest: int = 64, alike: Callable[[str], str] = str) -> None:
        if longest < _FEWEST:
            raise ValueError(f"`longest` is {longest}: a wire name needs {_FEWEST} characters or more.")
        self._longest = longest
        self._alike = alike
        self._wire: dict[str, str] = {}
        self._original: dict[str, str] = {}
        self._taken: set[str] = set()
        self.add(names)

    def add(self, names: Iterable[str]) -> None:
        """Give wire names to more tools; those given before stay as they are."""
        new = [name for name in dict.fromkeys(names) if name not in self._wire]
        # Names that fit come first: they must not change because another one looks like them.
        for name in sorted(new, key=lambda name: not self._fits(name)):
            self._give(name)

    def __contains__(self, name: object) -> bool:
        return name in self._wire

    def of(self, name: str) -> str:
        """The wire name of `name`; a new one if it has none yet."""
        if name not in self._wire:
            self._give(name)
        return self._wire[name]

    def original(self, wire: str) -> str | None:
        """The name whose wire name is `wire`; None if there is none."""
        return self._original.get(wire)

    def _give(self, name: str) -> None:
        for wire in self._candidates(name):
            if (key := self._alike(wire)) not in self._taken:
                self._taken.add(key)
                self._wire[name], self._original[wire] = wire, name
                return

    def _fits(self, name: str) -> bool:
        return 0 < len(name) <= self._longest and _UNFIT.search(name) is None

    def _candidates(self, name: str) -> Iterator[str]:
        if name.isascii() and 0 < len(name) <= self._longest:
            yield plain_name(name)
        for attempt in count():
            yield _hashed(name, self._longest, attempt)


def _hashed(name: str, longest: int, attempt: int) -> str:
    """The valid characters of `name`, and a hash of all of it."""
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    readable = _UNFIT_RUN.sub("_", folded).strip("_")[: longest - _HASH_LETTERS - 1].rstrip("_") or _UNREADABLE
    digest = hashlib.sha256(f"{name}\0{attempt}".encode("utf-8", "surrogatepass")).digest()
    return f"{readable}_{base64.b32encode(digest[:_HASH_BYTES]).decode().lower()}"
