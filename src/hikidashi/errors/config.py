"""The error of a config file."""

from __future__ import annotations

from ._base import HikidashiError


class ConfigError(HikidashiError, ValueError):
    """The config file `path` cannot be used; `key` and `line` say where, `reason` what is allowed there."""

    def __init__(self, path: str, reason: str, key: str = "", line: int | None = None) -> None:
        super().__init__(path, reason, key, line)
        self.path = path
        self.reason = reason
        self.key = key
        self.line = line
        """Line of the error in the file, counted from 1; None if it has none."""

    def __str__(self) -> str:
        place = f", line {self.line}" if self.line is not None else ""
        key = f" `{self.key}`:" if self.key else ""
        return f"{self.path}{place}:{key} {self.reason}"
