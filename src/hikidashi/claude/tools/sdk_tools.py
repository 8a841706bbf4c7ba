"""Tools for the Claude Agent SDK, in both layers of spec 002: an `SdkMcpTool`, and a server of tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from ...convert.pydantic_ai_content import META
from ...convert.pydantic_ai_definition import tool_of
from ...convert.shared.checks import object_schema
from ...errors import MissingExtra
from ...tool import Tool, ToolResult

try:
    import pydantic_ai
    from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, ToolAnnotations
    from pydantic_ai.tools import ToolDefinition
except ImportError as error:
    raise MissingExtra("claude-agent-sdk", "claude,pydantic-ai") from error

from ...convert.claude import MAX_RESULT_CHARS, to_claude

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def neutral_tool(tool: Any, schema: dict[str, Any], call: Callable[[dict[str, Any]], Awaitable[ToolResult]]) -> Tool:
    """A neutral tool that runs `call`, with the name and description of `tool`, which may be a definition alone.

    It has no output schema, since results are text as in spec 002, and no metadata that is for pydantic-ai alone.
    """
    if isinstance(tool, pydantic_ai.Tool):
        tool = tool.tool_def
    if isinstance(tool, ToolDefinition):
        definition = tool
    else:
        description = getattr(tool, "description", None)
        definition = ToolDefinition(name=tool.name, description=description, parameters_json_schema=schema)
    neutral = tool_of(definition, call)
    metadata = {key: value for key, value in neutral.metadata.items() if key != META}
    return replace(neutral, output_schema=None, metadata=metadata)


def sdk_tool(tool: Tool, handler: Handler) -> SdkMcpTool[Any]:
    """`tool` as an `SdkMcpTool` that `handler` runs.

    Raises:
        Unsupported: the root of the input schema cannot be written as one object; see `root_schema`.
    """
    return SdkMcpTool(
        name=tool.name,
        description=tool.description,
        input_schema=object_schema(tool, "Claude Code", for_claude=True),
        handler=handler,
        annotations=ToolAnnotations(**tool.annotations.to_mcp(), maxResultSizeChars=MAX_RESULT_CHARS),
    )


def server_of(tools: Iterable[Tool], name: str) -> McpSdkServerConfig:
    """A server of `tools` whose results reach Claude Code without loss.

    Raises:
        ToolValidationError: two tools share a name.
    """
    return to_claude(tools, name=name)


def as_response(result: ToolResult) -> dict[str, Any]:
    """`result` as a handler returns it.

    A failure has `isError`, as MCP spells it, and `is_error`, the only spelling that `create_sdk_mcp_server` reads.
    """
    response = result.to_mcp()
    if result.is_error:
        response["is_error"] = True
    return response
