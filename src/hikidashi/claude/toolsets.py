"""Toolsets and tools that can be registered with Claude Code's in-process server, unwrapped.

pydantic-ai lists the tools of a toolset only inside a run. Registration before a run is therefore limited
to toolsets whose tools are known: function toolsets, and wrappers that change names or definitions but
not how a tool is called. The agent still decides which of them a request offers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Tool
from pydantic_ai.exceptions import UserError
from pydantic_ai.toolsets import (
    AbstractToolset,
    ApprovalRequiredToolset,
    CombinedToolset,
    DeferredLoadingToolset,
    FilteredToolset,
    IncludeReturnSchemasToolset,
    PrefixedToolset,
    PreparedToolset,
    RenamedToolset,
    SetMetadataToolset,
)

from ..common.json import is_iterable, is_mapping
from ..convert.pydantic_ai import is_agent, is_toolset
from ..errors import ToolValidationError, Unsupported
from .tool_converter import AGENT_MODE, TARGET

# The agent itself applies what they change, when it decides which tools a request offers.
_DEFINITIONS_ONLY = (
    FilteredToolset,
    PreparedToolset,
    DeferredLoadingToolset,
    IncludeReturnSchemasToolset,
    SetMetadataToolset,
)

Rename = Callable[[str], str]


@dataclass(frozen=True)
class Unwrapped:
    """A toolset with `tools` by name, or one tool, and the names the agent gives its tools."""

    of: Any
    rename: Rename

    def renamed(self, tool: Any) -> Any:
        """`tool` under the name the agent gives it."""
        name = getattr(tool, "name", None)
        if not isinstance(name, str) or (new := self.rename(name)) == name:
            return tool
        again = copy.copy(tool)
        again.name = new
        return again


def has_tools(source: object) -> bool:
    """Whether `source` has `tools` by name."""
    return isinstance(getattr(source, "tools", None), Mapping)


def sources(given: Any, rename: Rename = str) -> Iterator[Unwrapped]:
    """The toolsets and tools of agents, toolsets, tools, functions, and lists and mappings of these.

    Raises:
        Unsupported: a toolset lists its tools only in a run, or changes how they are called.
        ToolValidationError: a function cannot become a tool.
    """
    if has_tools(given):
        yield Unwrapped(given, rename)
    elif is_agent(given):
        yield from _each(given.toolsets, rename)
    elif is_toolset(given):
        yield from _of_toolset(given, rename)
    elif not isinstance(given, type) and (hasattr(given, "name") or hasattr(given, "function")):
        yield Unwrapped(given, rename)
    elif is_mapping(given):
        yield from _each(given.values(), rename)
    elif is_iterable(given) and not isinstance(given, str | bytes):
        yield from _each(given, rename)
    elif callable(given) and not isinstance(given, type):
        yield Unwrapped(_tool_of(given), rename)
    else:
        shown = f"{given!r:.80}"
        raise Unsupported(
            f"a {type(given).__name__} ({shown}), which is not a tool and has no `tools` by name",
            TARGET,
            "Pass an agent, `agent.toolsets`, a `FunctionToolset`, tools or functions; for other toolsets, use "
            "`to_claude(await from_pydantic_ai(toolset))`.",
        )


def _each(items: Iterable[object], rename: Rename) -> Iterator[Unwrapped]:
    for item in items:
        yield from sources(item, rename)


def _of_toolset(toolset: AbstractToolset[Any], rename: Rename) -> Iterator[Unwrapped]:
    # By exact class: a subclass may call its tools in its own way, which would be lost.
    kind = type(toolset)
    if isinstance(toolset, CombinedToolset) and kind is CombinedToolset:
        yield from _each(toolset.toolsets, rename)
    elif isinstance(toolset, PrefixedToolset) and kind is PrefixedToolset:
        prefix = toolset.prefix
        yield from sources(toolset.wrapped, lambda name: rename(f"{prefix}_{name}"))
    elif isinstance(toolset, RenamedToolset) and kind is RenamedToolset:
        new_names = {old: new for new, old in toolset.name_map.items()}
        yield from sources(toolset.wrapped, lambda name: rename(new_names.get(name, name)))
    elif isinstance(toolset, _DEFINITIONS_ONLY) and kind in _DEFINITIONS_ONLY:
        yield from sources(toolset.wrapped, rename)
    else:
        raise _refusal(toolset)


def _refusal(toolset: AbstractToolset[Any]) -> Unsupported:
    what = f"the toolset {toolset.label}"
    if isinstance(toolset, ApprovalRequiredToolset):
        return Unsupported(f"{what}, whose calls wait for approval", TARGET, AGENT_MODE)
    return Unsupported(
        f"{what}, whose tools are known and called only inside a run",
        TARGET,
        f"{AGENT_MODE} Outside an agent, use `to_claude(await from_pydantic_ai(toolset))`.",
    )


def _tool_of(function: Callable[..., Any]) -> Tool[Any]:
    name: str = getattr(function, "__name__", type(function).__name__)
    try:
        return Tool(function)
    except (UserError, AttributeError, NameError, TypeError, ValueError) as error:
        raise ToolValidationError(
            f"The function {name!r} cannot become a tool: {error}. Give it type hints and a name, "
            "or pass `Tool(function, name=...)`.",
            name,
        ) from error
