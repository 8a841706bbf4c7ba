"""Toolsets in, an in-process MCP server for Claude Code out: the high level of spec 002.

Nothing here needs pydantic-ai's own classes: a tool is whatever has the attributes that
`PydanticAITool` names. One tool at a time is the business of `tool_converter`.

A handler made here logs what its tool raised and lets it through; the server then tells Claude.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeGuard, cast, runtime_checkable

from hikidashi.errors import ToolNotFoundError, ToolValidationError
from . import _calls, _server

if TYPE_CHECKING:
    from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool

__all__ = [
    "DEFAULT_SERVER_NAME",
    "AgentToolset",
    "PydanticAITool",
    "ToolDefinition",
    "claude_tool_name",
    "create_mcp_server_from_tools",
    "extract_tools_from_toolset",
    "registered_tools",
    "tool_definitions",
]

logger = logging.getLogger("hikidashi")

DEFAULT_SERVER_NAME = "pydantic_tools"


class _NamedFunction(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def function(self) -> Callable[..., Any]: ...


@runtime_checkable
class PydanticAITool(_NamedFunction, Protocol):
    """A tool: its name, description, function, and the JSON Schema of its arguments."""

    @property
    def parameters_json_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        ...


class _ToolWithFunctionSchema(_NamedFunction, Protocol):
    """A tool as pydantic-ai builds it today: the JSON Schema is `function_schema.json_schema`."""

    @property
    def function_schema(self) -> Any: ...


class _ToolWithDefinition(_NamedFunction, Protocol):
    """A tool that keeps the JSON Schema in `tool_def.parameters_json_schema`."""

    @property
    def tool_def(self) -> Any: ...


AnyTool = PydanticAITool | _ToolWithFunctionSchema | _ToolWithDefinition


@runtime_checkable
class AgentToolset(Protocol):
    """What holds tools by name: `agent._function_toolset`, a `FunctionToolset`, or your own."""

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        """The tools by name."""
        ...


class ToolDefinition(TypedDict):
    """What a toolset says about one tool."""

    name: str
    description: str
    input_schema: dict[str, Any]
    function: Callable[..., Any]


Tools = AgentToolset | Iterable["AgentToolset | AnyTool"]
"""One toolset, several, single tools, or a mixture."""


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
        tools: one toolset, several, single tools, or a mixture.
        server_name: the name under which the config is put into `mcp_servers`.
        names: only these tools, in this order.
        deps: what tools that take a `RunContext` find in `ctx.deps` (experimental, see `DepsContext`).

    Raises:
        ToolValidationError: a tool has no name, function or schema, or two tools share a name.
        ToolNotFoundError: `names` has a name that no tool has.
        UnsupportedDepsTypeError: JSON cannot carry `deps`.
    """
    raise NotImplementedError


def extract_tools_from_toolset(
    tools: Tools, *, names: Collection[str] | None = None, deps: object = None
) -> list[SdkMcpTool[Any]]:
    """The tools as `SdkMcpTool`s, all or only `names`; arguments and errors as for `create_mcp_server_from_tools`."""
    raise NotImplementedError


def registered_tools(tools: Tools) -> dict[str, AnyTool]:
    """The tools by name, in the order of their toolsets.

    Raises:
        ToolValidationError: a tool has no name, function or schema, or two tools share a name.
    """
    raise NotImplementedError


def tool_definitions(tools: Tools, *, names: Collection[str] | None = None) -> list[ToolDefinition]:
    """What each tool says about itself: name, description, input schema and function.

    Raises:
        ToolValidationError: a tool has no name, function or schema, or two tools share a name.
        ToolNotFoundError: `names` has a name that no tool has.
    """
    raise NotImplementedError


def claude_tool_name(name: str, *, server_name: str = DEFAULT_SERVER_NAME) -> str:
    """The name under which Claude sees tool `name`: `mcp__<server_name>__<name>`."""
    return f"mcp__{server_name}__{name}"
