"""The root of the tree, and the error of a package that is not installed."""

from __future__ import annotations


class HikidashiError(Exception):
    """Base class: `except HikidashiError` catches everything hikidashi raises."""


class MissingExtra(HikidashiError, ImportError):  # noqa: N818 - reads as what it says
    """An optional framework is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(package, extra)
        self.package = package
        self.extra = extra

    def __str__(self) -> str:
        return f"`{self.package}` is not installed. Run: pip install 'hikidashi[{self.extra}]'"
