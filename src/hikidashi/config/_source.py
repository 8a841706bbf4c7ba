"""The parsed form of a config file: a tree of values with their lines, for YAML and TOML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ConfigError

__all__ = ["Node", "Problems", "read_text"]

_LARGEST = 1_000_000
"""Bytes; a larger file is not a config."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the file and its line."""

    value: object
    line: int | None
    section: dict[str, Node] | None = None
    """The items of a section, whose `value` is then empty; None for other values."""
    items: tuple[object, ...] = ()
    """The items of a list, whose `value` is then empty; those that are lists or sections themselves are empty."""

    def plain(self) -> object:
        """The value; a list or section with its items, which are empty where they are lists or sections themselves."""
        if self.section is not None:
            return {name: node.value for name, node in self.section.items()}
        return list(self.items) if isinstance(self.value, list) else self.value


@dataclass
class Problems:
    """Collects the problems of a file."""

    path: str
    found: list[ConfigError] = field(default_factory=list[ConfigError])

    def add(self, reason: str, key: str = "", line: int | None = None) -> None:
        """Add a problem of `key`."""
        self.found.append(ConfigError(self.path, reason, key, line))

    def __iter__(self) -> Iterator[ConfigError]:
        """The problems by their line."""
        return iter(sorted(self.found, key=lambda problem: problem.line or 0))


def read_text(path: Path) -> str:
    """The text of the file.

    Raises:
        ConfigError: it is missing, unreadable, too large, empty or not UTF-8.
    """
    try:
        if not path.is_file():
            if path.exists():
                raise ConfigError(str(path), "is not a file. Name the config file itself.")
            raise ConfigError(
                str(path), "does not exist. Make one: hikidashi config example > config.yaml, or name another file."
            )
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ConfigError(str(path), f"cannot be read: {reason}. Check its owner and permissions.") from error
    if len(content) > _LARGEST:
        raise ConfigError(str(path), f"is larger than {_LARGEST:,} bytes, so it is hardly a config file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(str(path), "is not UTF-8. Save the file as UTF-8.", line=line) from error
    if not text.strip():
        raise ConfigError(
            str(path), "is empty. `hikidashi config example` prints an example; write a comment if you mean it."
        )
    return text
