"""One pydantic-ai `Tool` as one `SdkMcpTool`: the low level of spec 002.

A handler made here never raises what its tool raised: it answers with `isError`, so that Claude can react.
A cancellation is raised.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypedDict, cast

from ..convert.claude_results import readable_result
from ..errors import ToolValidationError
from ..tool import Tool as NeutralTool
from ..tool import ToolResult
from .deps_support import DepsContext
from .tools.calls import (
    answer,
    call_of,
    call_of_function,
    check_schema,
    check_server_name,
    check_tool,
    failure,
    is_whole,
    result_of,
)
from .tools.sdk_tools import Handler, as_response, neutral_tool, sdk_tool, server_of

if TYPE_CHECKING:
    from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool
    from pydantic_ai import Tool

__all__ = [
    "McpResponse",
    "McpTextContent",
    "_create_async_handler",
    "_format_return_value_as_mcp",
    "convert_tool",
    "convert_tool_with_deps",
    "convert_tools_to_mcp_server",
]

logger = logging.getLogger("hikidashi")


class _Unset(Enum):
    UNSET = "no deps, which is not the same as None"


_UNSET: Final = _Unset.UNSET


class McpTextContent(TypedDict):
    """Text for the model."""

    type: Literal["text"]
    text: str


class McpResponse(TypedDict):
    """What a handler returns: MCP's answer to `tools/call`.

    A tool that returns images, audio or resources puts them into `content` beside, or instead of, text. A failure
    has `isError`, as MCP spells it, and also `is_error`, the only spelling that `create_sdk_mcp_server` reads.
    """

    content: list[McpTextContent]
    isError: NotRequired[bool]
    is_error: NotRequired[bool]


def convert_tool(tool: Tool[Any]) -> SdkMcpTool[Any]:
    """`tool` with its name, description and input schema, for `create_sdk_mcp_server` or a server of your own.

    Raises:
        NotImplementedError: as spec 002 (US2-3) asks, `tool` takes a `RunContext`: use `convert_tool_with_deps`.
        ToolValidationError: `tool` has no usable name, function or schema.
        Unsupported: `tool` requires approval.
    """
    return sdk_tool(*_converted(tool, None))


def convert_tool_with_deps(tool: Tool[Any], deps: object) -> SdkMcpTool[Any]:
    """`tool`, finding `deps` in `ctx.deps` whenever Claude calls it.

    **Experimental**: this function and `DepsContext` may change in any release. `deps` may be a dict, a list, a plain
    value, a dataclass or a pydantic model; the tool gets the object itself, not a copy.

    Raises:
        UnsupportedDepsTypeError: `deps`, or something inside it, cannot be serialised.
        ToolValidationError: `tool` has no usable name, function or schema.
        Unsupported: `tool` requires approval.
    """
    return sdk_tool(*_converted(tool, DepsContext(deps)))


def convert_tools_to_mcp_server(
    tools: Iterable[Tool[Any]], *, name: str = "pydantic_tools", deps: object = _UNSET
) -> McpSdkServerConfig:
    """A server with all `tools`, for `ClaudeAgentOptions(mcp_servers={name: ...})`.

    Claude sees each as `mcp__<name>__<tool_name>`. Images, audio, resources and `isError` are passed on without loss.

    Args:
        tools: the tools.
        name: the name under which the config is put into `mcp_servers`.
        deps: what tools with a `RunContext` find in `ctx.deps` (experimental); without it they are refused.

    Raises:
        NotImplementedError: as spec 002 (US2-3) asks, a tool takes a `RunContext`, and there are no `deps`.
        ToolValidationError: a tool has no usable name, function or schema, or two share a name.
        UnsupportedDepsTypeError: `deps` cannot be serialised as JSON.
        Unsupported: a tool requires approval.
    """
    context = None if deps is _UNSET else DepsContext(deps)
    converted = [_converted(tool, context)[0] for tool in _listed(tools)]
    return server_of(converted, check_server_name(name, "name"))


def _listed(tools: object) -> Iterable[Any]:
    if isinstance(tools, Iterable) and not isinstance(tools, str | bytes | Mapping):
        return cast("Iterable[Any]", tools)
    shown, kind = f"{cast('object', tools)!r:.100}", type(cast("object", tools)).__name__
    raise ToolValidationError(
        f"Expected a list of pydantic-ai tools, got {shown} (a {kind}). Pass `[tool]` for one "
        "tool; for agents, toolsets and tools by name there is `create_mcp_server_from_tools`."
    )


def _converted(tool: Tool[Any], context: DepsContext[Any] | None) -> tuple[NeutralTool, Handler]:
    if not hasattr(tool, "tool_def") or not hasattr(tool, "function"):
        raise ToolValidationError(
            f"Expected a pydantic-ai `Tool`, got {tool!r:.100} (a {type(tool).__name__}). Make one of a function with "
            "`Tool(function)`; for agents and toolsets there is `create_mcp_server_from_tools`."
        )
    definition = tool.tool_def
    name: Any = getattr(definition, "name", None)
    check_tool(name, tool.function)
    given: object = getattr(definition, "parameters_json_schema", None)
    schema = check_schema(given, "tool_def.parameters_json_schema", name)
    handler = _create_async_handler(tool.function, getattr(tool, "takes_ctx", False), context, tool=tool)

    async def call(arguments: dict[str, Any]) -> ToolResult:
        return ToolResult.from_mcp(await handler(arguments))

    return neutral_tool(definition, schema, call), handler


def _create_async_handler(
    func: Callable[..., Any],
    takes_ctx: bool,
    deps_context: DepsContext[Any] | None = None,
    *,
    tool: Tool[Any] | None = None,
) -> Handler:
    """A handler that calls `func`, in a thread if it is not async, with checked arguments.

    Args:
        func: the function.
        takes_ctx: whether it takes a context first.
        deps_context: that context.
        tool: the tool that `func` belongs to, for its own schema, checks and timeout; else the type hints are used.

    Raises:
        NotImplementedError: as spec 002 (US2-3) asks, `func` takes a context, and there is no `deps_context`.
        ToolValidationError: `func` cannot be called.
        Unsupported: `tool` requires approval.
    """
    name = tool.tool_def.name if tool is not None else getattr(func, "__name__", type(func).__name__)
    check_tool(name, func)
    if takes_ctx and deps_context is None:
        raise NotImplementedError(  # the error that spec 002 (US2-3) names
            f"Tool {name!r} takes a `RunContext`, and there is none outside a pydantic-ai run. Convert it with "
            "`convert_tool_with_deps(tool, deps)` (`deps=None` for `RunContext[None]`), or use "
            '`ClaudeCodeModel(tool_execution="agent")`.'
        )
    context = deps_context if takes_ctx else None
    call = call_of_function(func, context, name) if tool is None else call_of(tool, context, name=name)

    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            result = await answer(call, arguments, name)
            result = result if result.is_error else readable_result(name, result)
        except Exception as error:
            logger.exception("tool %r failed", name)
            result = failure(name, error)
        return as_response(result)

    return handler


def _format_return_value_as_mcp(value: object) -> McpResponse:
    """`value` as MCP's answer to `tools/call`: already one, it is returned as it is; `None` is an empty text.

    Raises:
        Unsupported: `value` has no JSON form.
    """
    result = result_of(value)
    if isinstance(value, dict) and is_whole(cast("dict[str, Any]", value), result):
        return cast("McpResponse", value)
    return cast("McpResponse", as_response(result))
