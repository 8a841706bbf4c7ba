"""Alias of `hikidashi.web.providers.local`: the index of local documents, and the types of its signatures."""

from typing import TYPE_CHECKING

from ..common.lazy import lazy
from .providers import local

if TYPE_CHECKING:
    from .providers.local import *  # noqa: F403 - the same names, which type checkers read here

__all__: list[str] = []
__all__ += local.__all__

__getattr__, __dir__ = lazy(__name__, dict.fromkeys(__all__, local.__name__), __all__)
