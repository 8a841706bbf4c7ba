"""Which context a tool gets when Claude Code runs it: the deps that were given, `None`, or a word about their lack."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from pydantic_ai import RunContext

from hikidashi.errors import ClaudeCodeError

from .deps_support import DepsContext


class Unset(Enum):
    """No deps were given, which is not the same as `None`."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET

_ANY_DEPS = (None, type(None), Any, object, inspect.Parameter.empty)


class NoDeps(DepsContext[Any]):
    """The context of a tool that wants deps when nobody gave any: it says so when it is asked for them."""

    __slots__ = ("_tool_name", "_wanted")

    def __init__(self, tool_name: str, wanted: str) -> None:
        super().__init__(None)
        self._tool_name = tool_name
        self._wanted = wanted

    @property
    def deps(self) -> Any:
        """Nothing: there are none.

        Raises:
            ClaudeCodeError: always.
        """
        raise ClaudeCodeError(
            f"Tool {self._tool_name!r} reads `ctx.deps` ({self._wanted}), but no deps were given. Give them with "
            "`create_mcp_server_from_tools(..., deps=...)` or `convert_tool_with_deps(tool, deps)`, or use "
            '`ClaudeCodeModel(tool_execution="agent")`.'
        )


def takes_context(tool: Any) -> bool:
    """Whether the function of `tool` takes a context first: as the tool says, or else as the function is annotated."""
    said = getattr(tool, "takes_ctx", None)
    return said if isinstance(said, bool) else _is_context(_first_hint(tool.function))


def context_for(tool: Any, deps: object | Unset) -> DepsContext[Any] | None:
    """The context that the function of `tool` gets as its first argument; `None` if it takes none.

    Without deps, `RunContext[None]` finds `None`, and a tool that wants others learns why it has none.

    Raises:
        UnsupportedDepsTypeError: JSON cannot carry `deps`.
    """
    if not takes_context(tool):
        return None
    if deps is not UNSET:
        return DepsContext(deps)
    hint = _first_hint(tool.function)
    wanted = next(iter(get_args(hint)), None) if _is_context(hint) else None
    if wanted in _ANY_DEPS or isinstance(wanted, TypeVar):
        return DepsContext(None)
    return NoDeps(tool.name, getattr(wanted, "__qualname__", str(wanted)))


def _is_context(hint: object) -> bool:
    return (get_origin(hint) or hint) in (RunContext, DepsContext)


def _first_hint(function: Callable[..., Any]) -> Any:
    try:
        first = next(iter(inspect.signature(function).parameters))
        return get_type_hints(function).get(first)
    except (NameError, StopIteration, TypeError, ValueError):  # no parameters, or nothing that can be read
        return None
