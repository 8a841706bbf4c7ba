"""Tools for Claude Code, through the Claude Agent SDK's in-process MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast
from weakref import WeakSet

from .. import __version__
from ..errors import MissingExtra, Unsupported
from ..tool import Tool, ToolResult, current_call_id, json_text, text
from .claude_listing import (
    MAX_RESULT_CHARS,
    check_server_name,
    listed_schema,
    names_in_claude,
    shown_name,
    wire_name,
)
from .claude_results import readable_result, with_readable_error
from .shared.checks import by_name, neutral_tools, object_schema, unknown_tool
from .shared.repetition import NOTHING, without_repetition

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
    "is_for_one_conversation",
    "mark_for_one_conversation",
    "names_in_claude",
    "shown_name",
    "to_claude",
    "to_claude_tool",
]


def to_claude(
    tools: Iterable[Tool],
    *,
    name: str = "pydantic_tools",
    version: str = __version__,
    max_result_chars: int | None = MAX_RESULT_CHARS,
    always_load: bool = False,
    can_read_files: bool = False,
) -> McpSdkServerConfig:
    """A server of `tools` for `ClaudeAgentOptions(mcp_servers={name: ...})`.

    Claude Code shows them as `mcp__<name>__<tool>`: `allowed_tools` gives these names. The key in
    `mcp_servers` is what it uses for `<name>`. A tool whose name has other characters than ASCII letters,
    digits, `_` and `-`, or too many, is listed under a name that fits: see `names_in_claude`.

    A result of up to `max_result_chars` characters stays in the conversation; a tool's own
    `metadata["anthropic/maxResultSizeChars"]` wins, and `None` leaves Claude Code's limit. With
    `always_load`, the tools that are not `defer_loading` are kept out of Claude Code's own tool
    search, so that the model sees them from the start.

    Claude Code writes longer results, audio, PDF and other files to disk and gives the model the path. Unless
    the session can read it there (`can_read_files`: it has the tool `Read`), such a result is an error that says
    what it was and what to return instead; text files are shown as text.

    Claude Code shows structured content in place of the text beside it, so structured content is sent as such
    only where it has all of the text, and else as text; output schemas, which it does not show, are left out. A
    description of more than 4,096 characters, which it cuts, is logged. For images of more than about 380 KB pass a
    `ClaudeAgentOptions(max_buffer_size=...)` above the SDK's 1 MiB: Claude Code repeats each result to the SDK.

    Raises:
        ToolValidationError: two tools have the same name, or the name of the server is too long or reserved by
            Claude Code.
        Unsupported: the root of an input schema cannot be written as one object, or an argument has a name that
            the Anthropic API refuses.
    """
    check_server_name(name)
    longest = None if can_read_files else max_result_chars
    named = {own: _readable(_checked(tool), longest, can_read_files) for own, tool in by_name(tools).items()}
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


def mark_for_one_conversation(server: McpSdkServerConfig) -> None:
    """Keep `server` from being given to a model of many conversations: it adds to the messages of one."""
    _for_one_conversation.add(server["instance"])


def is_for_one_conversation(server: object) -> bool:
    """Whether `server`, a config of any kind, was marked so."""
    config = cast("dict[str, Any]", server) if isinstance(server, dict) else {}
    return config.get("type") == "sdk" and config.get("instance") in _for_one_conversation


_for_one_conversation: WeakSet[Any] = WeakSet()


def to_claude_tool(tool: Tool) -> SdkMcpTool[Any]:
    """`tool` for `create_sdk_mcp_server(tools=[...])`, beside tools made with the SDK's own decorator.

    That server carries less than `to_claude`: no output schema, no structured content, no metadata, no images
    in errors. A call that returns audio or a binary resource raises `Unsupported`.

    Raises:
        Unsupported: the input schema has no `properties`, its root cannot be written as one object, or an argument
            has a name that the Anthropic API refuses.
    """
    schema = object_schema(tool, "SdkMcpTool", for_claude=True)
    if "properties" not in schema:
        raise Unsupported(
            f"the input schema of tool {tool.name!r} without `properties`", "SdkMcpTool", "Use `to_claude` instead."
        )

    limit = tool.metadata.get("anthropic/maxResultSizeChars", MAX_RESULT_CHARS)

    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        result = await tool.call(arguments)
        _refuse_what_the_sdk_drops(tool.name, result)
        if not result.is_error:
            result = readable_result(tool.name, result, longest=limit if isinstance(limit, int) else None)
        return {"content": list(result.blocks), "is_error": result.is_error}

    annotations = ToolAnnotations(**tool.annotations.to_mcp(), maxResultSizeChars=limit)
    return SdkMcpTool(
        name=tool.name, description=tool.description, input_schema=schema, handler=handler, annotations=annotations
    )


def allowed_tools(server_name: str, tools: Iterable[Tool]) -> list[str]:
    """The names of `tools` in Claude Code, for `ClaudeAgentOptions(allowed_tools=...)`.

    Raises:
        ToolValidationError: `tools` is not a list of hikidashi tools, or the name of the server is invalid.
    """
    check_server_name(server_name)
    names = [tool.name for tool in neutral_tools(tools)]
    wire = names_in_claude(server_name, names)
    return [wire_name(server_name, wire.of(name)) for name in names]


def _checked(tool: Tool) -> Tool:
    """`tool` with the schema that Claude Code lists."""
    schema = listed_schema(tool.name, tool.description, tool.input_schema)
    return replace(tool, input_schema=schema, output_schema=None)


def _listed_as(shown: str, tool: Tool) -> Tool:
    """`tool` under the name that Claude Code shows; if that is only a hash, the description has its own name."""
    return replace(tool, name=shown, description=tool.description or ("" if shown == tool.name else tool.name))


def _readable(tool: Tool, longest: int | None, can_read_files: bool) -> Tool:
    """`tool` with results that a model can read in Claude Code; see `readable_result`."""
    own = tool.metadata.get("anthropic/maxResultSizeChars")
    longest = own if isinstance(own, int) and not can_read_files else longest

    async def call(arguments: dict[str, Any]) -> ToolResult:
        result = _without_hidden_text(await tool.call(arguments))
        if can_read_files:
            return with_readable_error(result)
        return readable_result(tool.name, result, longest=longest)

    return replace(tool, call=call)


def _without_hidden_text(result: ToolResult) -> ToolResult:
    """`result` without loss in Claude Code, which shows structured content in place of text."""
    texts = [block for block in result.content if block["type"] == "text"]
    if result.structured_content is None or all(map(result.is_repeated_by, texts)):
        return result
    structured, blocks = without_repetition(result)
    content = result.content
    if structured is not NOTHING and any(block["type"] == "text" for block in blocks):
        content = (*blocks, text(json_text(structured)))  # each has something that the other lacks
    elif structured is not NOTHING and structured is result.structured_content:
        return result  # which has all of the text
    return replace(result, content=content, structured_content=None)


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

    Such a call never reaches a server: Claude Code itself answers, only that there is no such tool. An empty `advice`
    adds nothing.
    """

    async def advise(given: Any, _: str | None, __: HookContext) -> HookJSONOutput:
        calls = [call for call in given["tool_calls"] if "No such tool available" in str(call.get("tool_response"))]
        context = advice(list(dict.fromkeys(call["tool_name"] for call in calls))) if calls else ""
        if not context:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "PostToolBatch", "additionalContext": context}}

    # The one hook that sees such calls; the SDK has a type for its output, and none for its name.
    return {cast("HookEvent", "PostToolBatch"): [HookMatcher(hooks=[advise])]}
