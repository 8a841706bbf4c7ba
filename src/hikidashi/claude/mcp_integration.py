"""Toolsets as an in-process MCP server for Claude Code: the high level of spec 002.

Nothing here needs pydantic-ai's own classes: a tool is whatever has the attributes that `PydanticAITool` names.
`tool_converter` converts one tool at a time. A handler made here logs what its tool raised and raises it again; the
server then reports it to Claude.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Union, runtime_checkable

from ..errors import ToolNotFoundError, ToolValidationError
from ..tool import Tool as NeutralTool
from ..tool import ToolResult
from .deps_support import DepsContext
from .tool_converter import (  # which names both extras if one is missing, so `to_claude` comes through it too
    Handler,
    answer,
    call_of,
    check_names,
    check_schema,
    check_tool,
    context_for,
    neutral_tool,
    readable_response,
    sdk_tool,
    to_claude,
)
from .toolsets import has_tools, sources

if TYPE_CHECKING:
    from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool
    from pydantic_ai.agent import AbstractAgent
    from pydantic_ai.toolsets import AbstractToolset

    from .limits import Guard

__all__ = [
    "DEFAULT_SERVER_NAME",
    "AgentToolset",
    "PydanticAITool",
    "ToolDefinition",
    "create_mcp_server_from_tools",
    "extract_tools_from_toolset",
    "neutral_tools",
    "registered_tools",
    "tool_definitions",
]

logger = logging.getLogger("hikidashi")

DEFAULT_SERVER_NAME = "pydantic_tools"

_SCHEMA_PLACES = (
    ("parameters_json_schema",),
    ("function_schema", "json_schema"),
    ("tool_def", "parameters_json_schema"),
)


class AnyTool(Protocol):
    """What each tool has; its JSON Schema may be in any of `_SCHEMA_PLACES`."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def function(self) -> Callable[..., Any]: ...


@runtime_checkable
class PydanticAITool(AnyTool, Protocol):
    """A tool: its name, description, function, and the JSON Schema of its arguments."""

    @property
    def parameters_json_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        ...


@runtime_checkable
class AgentToolset(Protocol):
    """An object with tools by name: `agent._function_toolset`, a `FunctionToolset`, or your own."""

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        """The tools by name."""
        ...


class ToolDefinition(TypedDict):
    """The definition of a tool in its toolset."""

    name: str
    description: str
    input_schema: dict[str, Any]
    function: Callable[..., Any]


ToolSource = Union[
    AgentToolset, AnyTool, Callable[..., Any], "AbstractAgent[Any, Any]", "AbstractToolset[Any]"
]  # a Union: the last two are known to type checkers only
"""A toolset, a tool, a function that becomes one, or an agent with all its toolsets."""

Tools = ToolSource | Mapping[str, ToolSource] | Iterable[ToolSource]
"""One source of tools, a mapping of sources, or an iterable of them."""


def create_mcp_server_from_tools(
    tools: Tools,
    *,
    server_name: str = DEFAULT_SERVER_NAME,
    names: Collection[str] | None = None,
    deps: object = None,
) -> McpSdkServerConfig:
    """A server config for `ClaudeAgentOptions(mcp_servers={server_name: ...})` with all tools, or only `names`.

    Claude sees each as `mcp__<server_name>__<tool_name>`.

    Args:
        tools: agents, toolsets, tools and functions: one, several, or a mapping of them.
        server_name: the name under which the config is put into `mcp_servers`.
        names: only these tools, in this order.
        deps: what tools that take a `RunContext` find in `ctx.deps` (experimental, see `DepsContext`).

    Raises:
        ToolValidationError: a tool has no name, function or schema, or two tools share a name.
        ToolNotFoundError: `names` has a name that no tool has.
        UnsupportedDepsTypeError: `deps` cannot be serialised as JSON.
        Unsupported: a tool requires approval, a toolset lists its tools only in a run, or something is not a tool.
    """
    return to_claude(neutral_tools(registered_tools(tools), names=names, deps=deps), name=server_name)


def extract_tools_from_toolset(
    tools: Tools, *, names: Collection[str] | None = None, deps: object = None
) -> list[SdkMcpTool[Any]]:
    """The tools as `SdkMcpTool`s, all or only `names`; arguments and errors as for `create_mcp_server_from_tools`."""
    return [sdk_tool(tool, _logging(tool)) for tool in neutral_tools(registered_tools(tools), names=names, deps=deps)]


def neutral_tools(
    found: Mapping[str, RegisteredTool],
    *,
    names: Collection[str] | None = None,
    deps: object = None,
    guard: Guard | None = None,
) -> list[NeutralTool]:
    """The tools as the neutral `Tool`, all or only `names`; errors as for `create_mcp_server_from_tools`.

    With a `guard`, calls and failures count against the limits of a run.
    """
    given = None if deps is None else DepsContext(deps)
    return [_runnable(registered, given, guard) for registered in _selected(found, names)]


def tool_definitions(tools: Tools, *, names: Collection[str] | None = None) -> list[ToolDefinition]:
    """The definition of each tool: name, description, input schema and function.

    Raises:
        ToolValidationError: a tool has no name, function or schema, or two tools share a name.
        ToolNotFoundError: `names` has a name that no tool has.
    """
    return [
        ToolDefinition(
            name=registered.tool.name,
            description=registered.tool.description or "",
            input_schema=registered.schema,
            function=registered.tool.function,
        )
        for registered in _selected(registered_tools(tools), names)
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredTool:
    """A tool, checked, with what its toolset says about it."""

    tool: AnyTool
    schema: dict[str, Any]
    owner: str
    timeout: float | None
    """The toolset's, for tools that have none of their own."""
    max_retries: int | None
    """The tool's, or else the toolset's; pydantic-ai's default if both leave it open."""


def _get_parameters_json_schema(tool: object) -> dict[str, Any]:
    """The JSON Schema of the tool's arguments, from the first place that has one.

    The places, in order: `parameters_json_schema`, `function_schema.json_schema`, `tool_def.parameters_json_schema`.

    Raises:
        ToolValidationError: none of them has one, or it is not a dict.
    """
    name = getattr(tool, "name", None)
    for place in _SCHEMA_PLACES:
        schema = reduce(lambda holder, attribute: getattr(holder, attribute, None), place, tool)
        if schema is not None:
            return check_schema(schema, ".".join(place), name)
    looked = ", ".join(f"`{'.'.join(place)}`" for place in _SCHEMA_PLACES)
    raise ToolValidationError(f"Tool {name!r} has no JSON Schema for its parameters: looked at {looked}.", name)


def registered_tools(tools: Tools) -> dict[str, RegisteredTool]:
    """The tools by name, in the order of their toolsets.

    Raises:
        ToolValidationError: a tool has no name, function or schema, or two tools share a name.
    """
    found: dict[str, RegisteredTool] = {}
    for registered in _each(tools):
        name = registered.tool.name
        if name in found:
            raise ToolValidationError(
                f"Two tools are called {name!r}: one of {found[name].owner}, one of {registered.owner}. "
                "Rename one with `Tool(function, name=...)`.",
                name,
            )
        found[name] = registered
    return found


def _each(tools: Tools) -> Iterator[RegisteredTool]:
    for number, source in enumerate(sources(tools), start=1):
        if has_tools(source.of):
            label = getattr(source.of, "label", None) or type(source.of).__name__
            for tool in source.of.tools.values():
                yield _checked(source.renamed(tool), f"toolset {number} ({label})", source.of)
        else:
            yield _checked(source.renamed(source.of), f"the tools given (number {number})", None)


def _checked(tool: AnyTool, owner: str, toolset: object) -> RegisteredTool:
    name, function = getattr(tool, "name", None), getattr(tool, "function", None)
    check_tool(name, function)
    max_retries = getattr(tool, "max_retries", None)
    return RegisteredTool(
        tool=tool,
        schema=_get_parameters_json_schema(tool),
        owner=owner,
        timeout=getattr(toolset, "timeout", None),
        max_retries=getattr(toolset, "max_retries", None) if max_retries is None else max_retries,
    )


def _selected(found: Mapping[str, RegisteredTool], names: Collection[str] | None) -> list[RegisteredTool]:
    check_names(names)
    if names is None:
        return list(found.values())
    if missing := [name for name in names if name not in found]:
        raise ToolNotFoundError(missing, list(found))
    return [found[name] for name in dict.fromkeys(names)]


def _runnable(registered: RegisteredTool, given: DepsContext[Any] | None, guard: Guard | None) -> NeutralTool:
    tool = registered.tool
    call = call_of(tool, context_for(tool, given), registered.timeout)

    async def answered(arguments: dict[str, Any]) -> ToolResult:
        return await answer(call, arguments, tool.name, guard, registered.max_retries)

    return neutral_tool(tool, registered.schema, answered)


def _logging(tool: NeutralTool) -> Handler:
    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return readable_response(tool.name, await tool.call(arguments))
        except Exception:
            logger.exception("tool %r failed", tool.name)
            raise

    return handler
