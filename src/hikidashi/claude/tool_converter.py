"""One pydantic-ai `Tool` in, one `SdkMcpTool` out: the low level of spec 002.

A handler made here never raises what its tool raised: it answers with `isError`, so Claude can react.
Cancellation is not an answer and goes through.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, cast

from hikidashi.errors import MissingExtra
from hikidashi.tool import Tool as NeutralTool
from hikidashi.tool import ToolResult

from ._calls import Call, answer, call_of_function, call_of_tool, check_tool, failure, result_of
from ._context import UNSET, Unset
from .deps_support import DepsContext

try:
    from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool
except ImportError as error:
    raise MissingExtra("claude-agent-sdk", "claude") from error

if TYPE_CHECKING:
    from pydantic_ai import Tool

__all__ = [
    "McpResponse",
    "McpTextContent",
    "convert_tool",
    "convert_tool_with_deps",
    "convert_tools_to_mcp_server",
]

logger = logging.getLogger("hikidashi")


class McpTextContent(TypedDict):
    """Text for the model."""

    type: Literal["text"]
    text: str


class McpResponse(TypedDict):
    """What a handler returns: MCP's answer to `tools/call`.

    A tool that returns images, sound or resources puts them into `content` beside, or instead of, text. A failure
    has `isError`, as MCP spells it, and also `is_error`, the only spelling that `create_sdk_mcp_server` reads.
    """

    content: list[McpTextContent]
    isError: NotRequired[bool]
    is_error: NotRequired[bool]


Handler = Callable[[dict[str, Any]], Awaitable[McpResponse]]


def convert_tool(tool: Tool[Any]) -> SdkMcpTool[Any]:
    """`tool` with its name, description and input schema, for `create_sdk_mcp_server` or a server of your own.

    Raises:
        NotImplementedError: `tool` takes a `RunContext`; `convert_tool_with_deps` gives it one.
        ToolValidationError: `tool` has no usable name, function or schema.
        Unsupported: `tool` requires approval.
    """
    return _converted(tool, None)


def convert_tool_with_deps(tool: Tool[Any], deps: object) -> SdkMcpTool[Any]:
    """`tool`, finding `deps` in `ctx.deps` whenever Claude calls it.

    **Experimental**: this function and `DepsContext` may change in any release. `deps` may be a dict, a list, a plain
    value, a dataclass or a pydantic model; the tool gets the object itself, not a copy.

    Raises:
        UnsupportedDepsTypeError: JSON cannot carry `deps`, or something inside it.
        ToolValidationError: `tool` has no usable name, function or schema.
        Unsupported: `tool` requires approval.
    """
    return _converted(tool, DepsContext(deps))


def convert_tools_to_mcp_server(
    tools: Iterable[Tool[Any]], *, name: str = "pydantic_tools", deps: object | Unset = UNSET
) -> McpSdkServerConfig:
    """A server with all `tools`, for `ClaudeAgentOptions(mcp_servers={name: ...})`.

    Claude sees each as `mcp__<name>__<tool_name>`. Images, sound, resources and `isError` reach it whole.

    Args:
        tools: the tools.
        name: the name under which the config is put into `mcp_servers`.
        deps: what tools with a `RunContext` find in `ctx.deps` (experimental); without it they are refused.

    Raises:
        NotImplementedError: a tool takes a `RunContext`, and there are no `deps`.
        ToolValidationError: a tool has no usable name, function or schema, or two share a name.
        UnsupportedDepsTypeError: JSON cannot carry `deps`.
        Unsupported: a tool requires approval.
    """
    from hikidashi.convert.claude import to_claude

    context = None if deps is UNSET else DepsContext(deps)
    return to_claude([_neutral(tool, context) for tool in tools], name=name)


def _converted(tool: Tool[Any], context: DepsContext[Any] | None) -> SdkMcpTool[Any]:
    neutral = _neutral(tool, context)

    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        return cast("dict[str, Any]", _response(await neutral.call(arguments)))

    return SdkMcpTool(
        name=neutral.name, description=neutral.description, input_schema=neutral.input_schema, handler=handler
    )


def _neutral(tool: Tool[Any], context: DepsContext[Any] | None) -> NeutralTool:
    definition = tool.tool_def
    check_tool(definition.name, tool.function, definition.parameters_json_schema)
    _require_context(definition.name, tool.takes_ctx, context)
    call = call_of_tool(tool, context)

    async def answered(arguments: dict[str, Any]) -> ToolResult:
        return await _answered(call, arguments, definition.name)

    return NeutralTool(
        name=definition.name,
        description=definition.description or "",
        input_schema=definition.parameters_json_schema,
        call=answered,
        defer_loading=definition.defer_loading,
    )


def _create_async_handler(
    func: Callable[..., Any], takes_ctx: bool, deps_context: DepsContext[Any] | None = None
) -> Handler:
    """A handler that calls `func`, in a thread if it is not async, with arguments checked by its type hints.

    Raises:
        NotImplementedError: `func` takes a context, and there is no `deps_context`.
    """
    name = getattr(func, "__name__", type(func).__name__)
    _require_context(name, takes_ctx, deps_context)
    call = call_of_function(func, deps_context if takes_ctx else None)

    async def handler(arguments: dict[str, Any]) -> McpResponse:
        return _response(await _answered(call, arguments, name))

    return handler


async def _answered(call: Call, arguments: dict[str, Any], name: str) -> ToolResult:
    try:
        return await answer(call, arguments, name)
    except Exception as error:
        logger.exception("tool %r failed", name)
        return failure(name, error)


def _require_context(name: str, takes_ctx: bool, context: DepsContext[Any] | None) -> None:
    if takes_ctx and context is None:
        raise NotImplementedError(
            f"Tool {name!r} takes a `RunContext`, and there is none outside a pydantic-ai run. Convert it with "
            "`convert_tool_with_deps(tool, deps)` (`deps=None` for `RunContext[None]`), or use "
            '`ClaudeCodeModel(tool_execution="agent")`.'
        )


def _format_return_value_as_mcp(value: object) -> McpResponse:
    """`value` as MCP's answer to `tools/call`: already one, it is returned as it is; `None` is an empty text.

    Raises:
        Unsupported: `value` has no JSON form.
    """
    result = result_of(value)
    if isinstance(value, dict) and cast("dict[str, Any]", value).get("content") == list(result.content):
        return cast("McpResponse", value)
    return cast("McpResponse", result.to_mcp())


def _response(result: ToolResult) -> McpResponse:
    response = result.to_mcp()
    if result.is_error:
        response["is_error"] = True
    return cast("McpResponse", response)
