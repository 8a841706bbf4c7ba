"""Tools for Claude Code, through the Claude Agent SDK's in-process MCP servers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

from .. import __version__
from ..errors import MissingExtra, ToolValidationError, Unsupported
from ..tool import Tool, ToolResult, current_call_id
from ._checks import by_name, object_schema, unknown_tool

try:
    from claude_agent_sdk import HookContext, HookMatcher, McpSdkServerConfig, SdkMcpTool, ToolAnnotations
    from claude_agent_sdk.types import HookEvent, HookJSONOutput
    from mcp import types
    from mcp.server import Server, ServerRequestContext
except ImportError as error:
    raise MissingExtra("claude-agent-sdk", "claude") from error

from .mcp import answer, wire_result, wire_tool

__all__ = ["MAX_RESULT_CHARS", "allowed_tools", "hooks_for_unknown", "shown_name", "to_claude", "to_claude_tool"]

MAX_RESULT_CHARS = 500_000
"""The most that Claude Code takes; without it a result over about 50,000 characters is moved to a file."""

_LONGEST_NAME = 128
"""With `mcp__<server>__`; Claude Code drops a tool with a longer one and does not say so."""


def to_claude(
    tools: Iterable[Tool],
    *,
    name: str = "pydantic_tools",
    version: str = __version__,
    max_result_chars: int | None = MAX_RESULT_CHARS,
    always_load: bool = False,
) -> McpSdkServerConfig:
    """A server of `tools` for `ClaudeAgentOptions(mcp_servers={name: ...})`.

    Claude Code shows them as `mcp__<name>__<tool>`: `allowed_tools` gives these names. The key in
    `mcp_servers` is what it uses for `<name>`.

    A result of up to `max_result_chars` characters stays in the conversation; a tool's own
    `metadata["anthropic/maxResultSizeChars"]` wins, and `None` leaves Claude Code's limit. With
    `always_load`, the tools that are not `defer_loading` are kept out of Claude Code's own tool
    search, so that the model sees them from the start.

    Claude Code shows structured content in place of the text beside it, so structured content is sent
    only where the text says the same; output schemas, which it does not show, are left out.

    Raises:
        ToolValidationError: two tools have the same name after Claude Code replaced all but ASCII
            letters, digits, `_` and `-`, or the whole of a name is longer than 128 characters.
        Unsupported: the root of an input schema is not an object.
    """
    named = {name: _without_hidden_text(tool) for name, tool in by_name(tools, seen_as=shown_name).items()}
    for tool in named.values():
        _refuse_long_name(name, tool)
    offered = {tool.name: tool for tool in named.values()}
    listed = types.ListToolsResult(
        tools=[wire_tool(tool, _claude_meta(tool, max_result_chars, always_load)) for tool in offered.values()]
    )

    # A server of our own and not `create_sdk_mcp_server`: that one drops audio, binary resources,
    # structured content and `_meta`, and checks arguments against the schema a second time.
    async def on_list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def on_call_tool(_: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = offered.get(params.name) or named.get(params.name)
        if tool is None:
            return wire_result(unknown_tool(params.name, offered))
        call_id = (params.meta or {}).get("claudecode/toolUseId")
        token = current_call_id.set(call_id if isinstance(call_id, str) else None)
        try:
            return await answer(tool, params.arguments)
        finally:
            current_call_id.reset(token)

    server: Server[Any] = Server(name, version=version, on_list_tools=on_list_tools, on_call_tool=on_call_tool)
    return McpSdkServerConfig(type="sdk", name=name, instance=server)


def to_claude_tool(tool: Tool) -> SdkMcpTool[Any]:
    """`tool` for `create_sdk_mcp_server(tools=[...])`, beside tools made with the SDK's own decorator.

    That server carries less than `to_claude`: no output schema, no structured content, no metadata. A
    result with sound or a binary resource is refused when it comes.

    Raises:
        Unsupported: the input schema has no `properties`, or its root is not an object.
    """
    schema = object_schema(tool, "SdkMcpTool")
    if "properties" not in schema:
        raise Unsupported(
            f"the input schema of tool {tool.name!r} without `properties`", "SdkMcpTool", "Use `to_claude` instead."
        )

    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        result = await tool.call(arguments)
        _refuse_what_the_sdk_drops(tool.name, result)
        return {"content": list(result.blocks), "is_error": result.is_error}

    limit = tool.metadata.get("anthropic/maxResultSizeChars", MAX_RESULT_CHARS)
    annotations = ToolAnnotations(**tool.annotations.to_mcp(), maxResultSizeChars=limit)
    return SdkMcpTool(
        name=tool.name, description=tool.description, input_schema=schema, handler=handler, annotations=annotations
    )


def allowed_tools(server_name: str, tools: Iterable[Tool]) -> list[str]:
    """The names of `tools` in Claude Code, for `ClaudeAgentOptions(allowed_tools=...)`."""
    return [f"mcp__{shown_name(server_name)}__{shown_name(tool.name)}" for tool in tools]


def _refuse_long_name(server_name: str, tool: Tool) -> None:
    (shown,) = allowed_tools(server_name, [tool])
    if len(shown) > _LONGEST_NAME:
        raise ToolValidationError(
            f"Claude Code would leave out tool {tool.name!r}: {shown!r} has {len(shown)} characters and the limit is "
            f"{_LONGEST_NAME}. Shorten it with `tool.renamed(...)`, or the name of the server.",
            tool.name,
        )


def shown_name(name: str) -> str:
    """`name` as Claude Code shows it: what the API does not allow in a tool name becomes `_`."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)


def _without_hidden_text(tool: Tool) -> Tool:
    """`tool` such that no text of its answers is hidden behind structured content."""

    async def call(arguments: dict[str, Any]) -> ToolResult:
        result = await tool.call(arguments)
        hidden = (block for block in result.content if block["type"] == "text" and not result.is_repeated_by(block))
        return replace(result, structured_content=None) if any(hidden) else result

    return replace(tool, call=call, output_schema=None)


def _claude_meta(tool: Tool, max_result_chars: int | None, always_load: bool) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    if max_result_chars is not None:
        meta["anthropic/maxResultSizeChars"] = max_result_chars
    if always_load and not tool.defer_loading:
        meta["anthropic/alwaysLoad"] = True
    return meta


def _refuse_what_the_sdk_drops(tool_name: str, result: ToolResult) -> None:
    for block in result.content:
        if block["type"] == "audio" or (block["type"] == "resource" and "blob" in block["resource"]):
            raise Unsupported(f"the {block['type']} in the result of {tool_name!r}", "SdkMcpTool", "Use `to_claude`.")


def hooks_for_unknown(advice: Callable[[list[str]], str]) -> dict[HookEvent, list[HookMatcher]]:
    """Hooks by which the model reads `advice`, given the names of tools it called that Claude Code does not know.

    Such a call never reaches a server: Claude Code itself answers that there is no such tool, and no more than that.
    Where `advice` is empty, nothing is added.
    """

    async def advise(given: Any, _: str | None, __: HookContext) -> HookJSONOutput:
        calls = [call for call in given["tool_calls"] if "No such tool available" in str(call.get("tool_response"))]
        said = advice(list(dict.fromkeys(call["tool_name"] for call in calls))) if calls else ""
        if not said:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "PostToolBatch", "additionalContext": said}}

    # The one hook that sees such calls; the SDK types its answer and not its name.
    return {cast("HookEvent", "PostToolBatch"): [HookMatcher(hooks=[advise])]}
