"""A config file as a tree of values that know their lines, whether it is YAML or TOML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ConfigError

__all__ = ["Node", "Problems", "read_text"]

_LARGEST = 1_000_000
"""Bytes. A config is small; a larger file is something else."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the file and where it is; of a list, only that it is one."""

    value: object
    line: int | None
    section: dict[str, Node] | None = None
    """What is inside, where this is a section; `value` is then an empty one."""


@dataclass
class Problems:
    """What is wrong with a file, as it is found."""

    path: str
    found: list[ConfigError] = field(default_factory=list[ConfigError])

    def add(self, reason: str, key: str = "", line: int | None = None) -> None:
        """Remember that `key` has a problem."""
        self.found.append(ConfigError(self.path, reason, key, line))

    def __iter__(self) -> Iterator[ConfigError]:
        """The problems from the top of the file to its end."""
        return iter(sorted(self.found, key=lambda problem: problem.line or 0))


def read_text(path: Path) -> str:
    """The text of the file.

    Raises:
        ConfigError: it is not there, not readable, too large, not UTF-8 or empty.
    """
    try:
        if not path.is_file():
            if path.exists():
                raise ConfigError(str(path), "is not a file. Name the config file itself.")
            raise ConfigError(str(path), "does not exist. Copy config.yaml.example there, or name another file.")
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
        raise ConfigError(str(path), "is empty. Copy config.yaml.example there, or write a comment if you mean it.")
    return text
