"""The packages of a provider, and how its code is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..errors import ConfigError, HikidashiError, MissingExtra

__all__ = ["Package", "load"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Package:
    """A package that a provider imports."""

    module: str
    """The name it is imported by."""
    name: str
    """The name it is installed by."""
    extra: str = ""
    """The extra of hikidashi that installs it; empty if none does."""

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported; it is looked up, not imported."""
        return find_spec(self.module) is not None

    @property
    def install_command(self) -> str:
        """The command that installs it."""
        return f"pip install 'hikidashi[{self.extra}]'" if self.extra else f"pip install {self.name}"

    def missing(self, source: str, key: str) -> HikidashiError:
        """The error that it is not installed; `source` and `key` say which setting of a config needs it."""
        if self.extra:
            return MissingExtra(self.name, self.extra)
        return ConfigError(source, f"needs the package `{self.name}`. Run: {self.install_command}", key)


def load(reference: str) -> Any:
    """The object that `reference` names, as `package.module:attribute`; imports its module."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)
