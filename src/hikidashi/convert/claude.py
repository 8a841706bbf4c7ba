"""Tools for Claude Code, through the Claude Agent SDK's in-process MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

from .. import __version__
from ..errors import MissingExtra, ToolValidationError, Unsupported
from ..tool import Tool, ToolResult, current_call_id
from ._checks import by_name, object_schema, unknown_tool
from .wire_names import WireNames, plain_name

try:
    from claude_agent_sdk import HookContext, HookMatcher, McpSdkServerConfig, SdkMcpTool, ToolAnnotations
    from claude_agent_sdk.types import HookEvent, HookJSONOutput
    from mcp import types
    from mcp.server import Server, ServerRequestContext
except ImportError as error:
    raise MissingExtra("claude-agent-sdk", "claude") from error

from .mcp import answer, wire_result, wire_tool

__all__ = [
    "MAX_RESULT_CHARS",
    "allowed_tools",
    "hooks_for_unknown",
    "names_in_claude",
    "shown_name",
    "to_claude",
    "to_claude_tool",
]

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
    `mcp_servers` is what it uses for `<name>`. A tool whose name has other characters than ASCII letters,
    digits, `_` and `-`, or too many, is listed under a name that fits: see `names_in_claude`.

    A result of up to `max_result_chars` characters stays in the conversation; a tool's own
    `metadata["anthropic/maxResultSizeChars"]` wins, and `None` leaves Claude Code's limit. With
    `always_load`, the tools that are not `defer_loading` are kept out of Claude Code's own tool
    search, so that the model sees them from the start.

    Claude Code shows structured content in place of the text beside it, so structured content is sent
    only where the text says the same; output schemas, which it does not show, are left out.

    Raises:
        ToolValidationError: two tools have the same name, or the name of the server is too long.
        Unsupported: the root of an input schema is not an object.
    """
    named = {own: _without_hidden_text(tool) for own, tool in by_name(tools).items()}
    wire = names_in_claude(name, named)
    offered = {wire.of(own): tool for own, tool in named.items()}
    listed = types.ListToolsResult(
        tools=[
            wire_tool(_listed_as(shown, tool), _claude_meta(tool, max_result_chars, always_load))
            for shown, tool in offered.items()
        ]
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
    names = [tool.name for tool in tools]
    wire = names_in_claude(server_name, names)
    return [f"mcp__{shown_name(server_name)}__{wire.of(name)}" for name in names]


def names_in_claude(server_name: str, names: Iterable[str]) -> WireNames:
    """What Claude Code calls the tools `names` of a server, behind `mcp__<server>__`.

    Raises:
        ToolValidationError: the name of the server leaves no room for them.
    """
    room = _LONGEST_NAME - len(f"mcp__{shown_name(server_name)}__")
    try:
        return WireNames(names, longest=room)
    except ValueError as error:
        raise ToolValidationError(
            f"The name {server_name!r} of the server has {len(server_name)} characters, which leaves {max(room, 0)} of "
            f"the {_LONGEST_NAME} that Claude Code allows for the whole name of a tool. Give the server a shorter name."
        ) from error


def shown_name(name: str) -> str:
    """The name of a server as Claude Code shows it: what the API does not allow becomes `_`."""
    return plain_name(name)


def _listed_as(shown: str, tool: Tool) -> Tool:
    """`tool` under the name that Claude Code shows; where that says nothing of its own name, the description does."""
    return replace(tool, name=shown, description=tool.description or ("" if shown == tool.name else tool.name))


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
