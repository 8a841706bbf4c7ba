"""The context of a tool that Claude Code runs: the deps given, `None`, or an error that deps are missing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from pydantic_ai import RunContext

from ...errors import MissingDepsError
from ..deps_support import DepsContext

WITHOUT_DEPS = DepsContext(None)
"""The context of `RunContext[None]`; one is enough, since it holds nothing."""

_CONTENT_WITH_NONE = (None, type(None), Any, object)


class NoDeps(DepsContext[Any]):
    """The context of a tool that needs deps if none were given: reading them raises."""

    __slots__ = ("_tool_name", "_wanted")

    def __init__(self, tool_name: str, wanted: str) -> None:
        super().__init__(None)
        self._tool_name = tool_name
        self._wanted = wanted

    @property
    def deps(self) -> Any:
        """Not available.

        Raises:
            MissingDepsError: always.
        """
        raise MissingDepsError(self._tool_name, self._wanted)


def context_for(tool: Any, given: DepsContext[Any] | None) -> DepsContext[Any] | None:
    """What the function of `tool` gets as its first argument: `given`, if it takes a context at all.

    Whether it takes one is in `takes_ctx`, else in its annotations. Without `given`, `ctx.deps` is `None` for
    `RunContext[None]`, and raises `MissingDepsError` for a tool that needs deps.
    """
    if not takes_context(tool):
        return None
    if given is not None:
        return given
    wanted = wanted_deps(tool)
    return WITHOUT_DEPS if wanted is None else NoDeps(tool.name, wanted)


def takes_context(tool: Any) -> bool:
    """Whether the function of `tool` takes a context first."""
    takes = getattr(tool, "takes_ctx", None)
    return takes if isinstance(takes, bool) else _is_context(_first_hint(tool.function))


def wanted_deps(tool: Any) -> str | None:
    """The type of the deps that `tool` needs from its context; `None` if it needs none."""
    hint = _first_hint(tool.function) if takes_context(tool) else None
    wanted = next(iter(get_args(hint)), None) if _is_context(hint) else None
    return None if _accepts_none(wanted) else getattr(wanted, "__qualname__", str(wanted))


def _is_context(hint: object) -> bool:
    return (get_origin(hint) or hint) in (RunContext, DepsContext)


def _accepts_none(wanted: object) -> bool:
    return wanted in _CONTENT_WITH_NONE or isinstance(wanted, TypeVar) or type(None) in get_args(wanted)


def _first_hint(function: Callable[..., Any]) -> Any:
    try:
        first = next(iter(inspect.signature(function).parameters))
        return get_type_hints(function).get(first)
    except (NameError, StopIteration, TypeError, ValueError):  # no parameters, or nothing that can be read
        return None
