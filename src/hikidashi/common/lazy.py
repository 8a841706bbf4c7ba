"""Lazy imports of the public names of a package."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def lazy(
    package: str, home_of: Mapping[str, str], names: Sequence[str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for `package` (PEP 562): names are imported on first use.

    Args:
        package: `__name__` of the package.
        home_of: the module of each name, as in a `from` import: `.model`, `..errors`, or `.` for a module itself.
        names: `__all__` of the package.
    """

    def load(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = import_module(f".{name}", package) if home == "." else getattr(import_module(home, package), name)
        setattr(sys.modules[package], name, value)  # so that this function is not called again
        return value

    return load, lambda: list(names)
