"""Tools for Claude Code, through the Claude Agent SDK's in-process MCP servers.

First what Claude Code accepts in a list of tools, then tool results in the form that its model can read, then
`to_claude`. Measured on the CLI 2.1.325.
"""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from weakref import WeakSet

from .. import __version__
from ..common.json import as_object
from ..errors import MissingExtra, ToolValidationError, Unsupported
from ..tool import ContentBlock, Tool, ToolResult, current_call_id, image, json_text, resource, text
from .wire import (
    IMAGES,
    IS_ERROR,
    NOTHING,
    PYDANTIC_AI_META,
    WireNames,
    by_name,
    decoded,
    is_text,
    mapping,
    neutral_tools,
    plain_name,
    root_schema,
    unknown_tool,
    utf16_length,
    without_repetition,
)

try:
    from claude_agent_sdk import HookContext, HookMatcher, McpSdkServerConfig, SdkMcpTool, ToolAnnotations
    from claude_agent_sdk.types import HookEvent, HookJSONOutput
    from mcp import types
    from mcp.server import Server, ServerRequestContext
except ImportError as error:
    raise MissingExtra("claude-agent-sdk", "claude") from error

from .mcp import answer, wire_result, wire_tool

logger = logging.getLogger("hikidashi")

MAX_RESULT_CHARS = 500_000
"""The largest limit that Claude Code accepts; the default moves results over about 50,000 characters to a file."""

_LONGEST_NAME = 128
_LONGEST_DESCRIPTION = 4_096
_RESERVED_SERVERS = frozenset({"ide"})


def shown_name(name: str) -> str:
    """The name of a server in Claude Code: each UTF-16 code unit that the API does not allow becomes `_`."""
    return plain_name(re.sub("[\U00010000-\U0010ffff]", "__", name))


class ClaudeNames(WireNames):
    """The names of the tools of one server in Claude Code, with and without the prefix `mcp__<server>__`.

    Raises:
        ToolValidationError: Claude Code offers no tools of a server of this name, which is not text, empty, reserved
            or too long.
    """

    def __init__(self, server_name: str, names: Iterable[str] = ()) -> None:
        if not isinstance(server_name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ToolValidationError(
                f"The name of a server must be text, got {server_name!r:.100}. Use a name such as 'tools'."
            )
        if not server_name.strip() or server_name in _RESERVED_SERVERS:
            raise ToolValidationError(
                f"Claude Code offers no tools of a server called {server_name!r}. Give the server another name."
            )
        self.prefix = f"mcp__{shown_name(server_name)}__"
        """What the full name of each tool begins with."""
        room = _LONGEST_NAME - len(self.prefix)
        try:
            super().__init__(names, longest=room)
        except ValueError as error:
            raise ToolValidationError(
                f"The name {server_name!r} of the server has {len(server_name)} characters, which leaves "
                f"{max(room, 0)} of the {_LONGEST_NAME} that Claude Code allows for the whole name of a tool. Give the "
                "server a shorter name."
            ) from error

    def full(self, name: str) -> str:
        """The full name of a tool, as the model sees it."""
        return self.prefix + self.of(name)


def listed_schema(tool_name: str, description: str, schema: object) -> dict[str, Any]:
    """The input schema under which Claude Code lists the tool; a description that it cuts is logged once.

    Raises:
        ToolValidationError: the tool has no name.
        Unsupported: the schema cannot be written with one object at its root; see `root_schema`.
    """
    if not tool_name.strip():
        raise ToolValidationError(f"A tool needs a name, got {tool_name!r}.", tool_name)
    if len(description) > _LONGEST_DESCRIPTION:
        _warn_about_cut(tool_name, len(description))
    return root_schema(schema, tool_name=tool_name, target="Claude Code")


@lru_cache(maxsize=1024)
def _warn_about_cut(tool_name: str, length: int) -> None:
    logger.warning(
        "Claude Code shows the model only the first %s of the %s characters that describe tool %r. Shorten the "
        "description, or move parts of it to the descriptions of the arguments.",
        f"{_LONGEST_DESCRIPTION:,}",
        f"{length:,}",
        tool_name,
    )


# Tool results in the form that a model in Claude Code can read.
#
# Through MCP it gets text and four kinds of images. Everything else Claude Code writes to a file, and gives the model
# the path; so it does with more than 500,000 characters. A model without `Read` can do nothing with a path: here such
# content becomes text where it is text, and otherwise an error that says what it was and what to return instead.


LONGEST_BESIDE_IMAGES = 100_000
"""Characters of text in a result that has images too; Claude Code cuts the rest off and leaves images out."""

LONGEST_RESULT = 2_000_000
"""Characters of a result in a transcript; from about 2,500,000 on, Claude Code summarises the conversation instead."""

LONGEST_ERROR = 10_000
"""Characters of an error; Claude Code cuts out its middle."""

_NAMING = 200
"""At most this many characters that Claude Code puts around a resource, with the name of the server in them."""

_AGENT_MODE = '`ClaudeCodeModel(tool_execution="agent")` carries it as it is.'


@dataclass(frozen=True)
class _UnreadableContent:
    """Content that a model cannot read, and what to return instead."""

    what: str
    remedy: str


def readable_result(tool_name: str, result: ToolResult, *, longest: int | None = MAX_RESULT_CHARS) -> ToolResult:
    """`result` as a model in Claude Code can read it; what it cannot read is named in an error, and logged.

    Args:
        tool_name: the tool that answered.
        result: its answer.
        longest: how many characters stay in the conversation; `None` is no limit.
    """
    shown: list[ContentBlock] = []
    refused: list[_UnreadableContent] = []
    for block in result.content:
        blocks = _shown(block)
        if isinstance(blocks, _UnreadableContent):
            refused.append(blocks)
        else:
            shown += blocks
    if refused:
        what = "; ".join(item.what for item in refused)
        remedies = " ".join(dict.fromkeys(item.remedy for item in refused))
        note = f"The result of tool {tool_name!r} has content that cannot be shown here: {what}. {remedies}"
        logger.warning(note)
        whole = _as_text(replace(result, content=tuple(shown)))
        result = replace(whole, content=(*whole.content, text(note)), is_error=True)
    elif list(result.content) != shown:
        result = replace(result, content=tuple(shown))
    if longest is not None and (note := _too_long(tool_name, result, min(longest, MAX_RESULT_CHARS))):
        logger.warning(note)
        return ToolResult.error(note)
    return with_readable_error(result)


def with_readable_error(result: ToolResult) -> ToolResult:
    """`result`, where an error with more than short text starts with a note that it is one.

    The API takes only text in a result with `is_error`, and Claude Code only 10,000 characters of it.
    """
    others = any(block["type"] not in ("text", "resource_link") for block in result.content)
    if not result.is_error or not (others or _length(result) > LONGEST_ERROR):
        return result
    whole = _as_text(result)
    return replace(whole, content=(text(IS_ERROR), *whole.content), is_error=False)


def _as_text(result: ToolResult) -> ToolResult:
    """`result` without structured content, which Claude Code would show in place of the text."""
    if result.structured_content is None:
        return result
    has_text = any(block["type"] == "text" for block in result.content)
    content = result.content if has_text else (text(json_text(result.structured_content)), *result.content)
    return replace(result, content=content, structured_content=None)


def _shown(block: ContentBlock) -> list[ContentBlock] | _UnreadableContent:
    """The blocks that show `block` to a model."""
    match block["type"]:
        case "image" if block["mimeType"] not in IMAGES:
            return _file(block["mimeType"], block["data"], f"image:{block['mimeType'].partition('/')[2]}")
        case "audio":
            return _file(block["mimeType"], block["data"], "audio")
        case "resource" if "text" not in block["resource"]:
            body = block["resource"]
            return _file(body.get("mimeType") or "application/octet-stream", body.get("blob", ""), body["uri"])
        case "resource_link" if kind := mapping(mapping(block.get("_meta")).get(PYDANTIC_AI_META)).get("kind"):
            what = str(kind).removesuffix("-url")
            readable = f"Return its bytes as `BinaryContent`, or its text. {_AGENT_MODE}"
            return _UnreadableContent(
                f"the {what} at {block['uri']}", readable if what in ("image", "document") else "Return text about it."
            )
        case _:
            return [block]


def _file(media_type: str, data: str, uri: str) -> list[ContentBlock] | _UnreadableContent:
    content = base64.b64decode(data)
    if media_type in IMAGES:
        return [text(f"[{uri}]"), image(content, media_type)]
    what = f"a file of type {media_type} ({uri}, {len(content):,} bytes)"
    if media_type == "application/pdf":
        return _UnreadableContent(what, f"Return its text. {_AGENT_MODE}")
    if not is_text(media_type):
        return _UnreadableContent(what, "Return text, or an image as PNG, JPEG, GIF or WebP.")
    written = decoded(content, media_type)
    if written is None:
        return _UnreadableContent(f"{what}, which is neither UTF-8 nor in the charset it names", "Return its text.")
    return [resource(uri, written, media_type)]


def too_long(tool_name: str, length: int, limit: int, what: str = "") -> str:
    """The error for a result of more than `limit` characters."""
    return (
        f"The result of tool {tool_name!r} has {length:,} characters, and the model can be shown {limit:,} {what}at "
        "once. Return less, or in parts: let the tool take a page or a range, and ask for one after the other."
    )


def _too_long(tool_name: str, result: ToolResult, longest: int) -> str:
    beside_images = any(block["type"] == "image" for block in result.content)
    limit = min(longest, LONGEST_BESIDE_IMAGES) if beside_images else longest
    length = _length(result)
    if length <= limit:
        return ""
    what = "beside an image " if beside_images and length <= longest else ""
    return too_long(tool_name, length, limit, what) + (f" {_AGENT_MODE}" if length <= LONGEST_RESULT else "")


def _length(result: ToolResult) -> int:
    """The length of `result` as Claude Code counts it: of the structured content, or else of the text."""
    if result.structured_content is not None and not result.is_error:
        return utf16_length(json_text(result.structured_content))
    return sum(_block_length(block) for block in result.content)


def _block_length(block: ContentBlock) -> int:
    match block["type"]:
        case "text":
            return utf16_length(block["text"])
        case "resource":
            return _NAMING + utf16_length(block["resource"]["uri"] + block["resource"].get("text", ""))
        case "resource_link":
            return _NAMING + utf16_length(block["name"] + block["uri"] + block.get("description", ""))
        case _:
            return 0


# Servers and tools for the Claude Agent SDK


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
    digits, `_` and `-`, or too many, is listed under a name that fits: see `ClaudeNames`.

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
    wire = ClaudeNames(name)  # an invalid name is refused before the tools are looked at
    longest = None if can_read_files else max_result_chars
    named = {own: _readable(_checked(tool), longest, can_read_files) for own, tool in by_name(tools).items()}
    wire.add(named)
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
    config = as_object(server)
    return config.get("type") == "sdk" and config.get("instance") in _for_one_conversation


_for_one_conversation: WeakSet[Any] = WeakSet()

AFTER_CALLS: Any = "PostToolBatch"
"""The hook after the last call of a turn; the SDK has a type for its output, and none for its name."""


def to_claude_tool(tool: Tool) -> SdkMcpTool[Any]:
    """`tool` for `create_sdk_mcp_server(tools=[...])`, beside tools made with the SDK's own decorator.

    That server carries less than `to_claude`: no output schema, no structured content, no metadata, no images
    in errors. A call that returns audio or a binary resource raises `Unsupported`.

    Raises:
        Unsupported: the input schema has no `properties`, its root cannot be written as one object, or an argument
            has a name that the Anthropic API refuses.
    """
    limit = tool.metadata.get("anthropic/maxResultSizeChars", MAX_RESULT_CHARS)

    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        result = await tool.call(arguments)
        _refuse_what_the_sdk_drops(tool.name, result)
        if not result.is_error:
            result = readable_result(tool.name, result, longest=limit if isinstance(limit, int) else None)
        return {"content": list(result.blocks), "is_error": result.is_error}

    converted = sdk_tool(tool, handler, limit=limit, target="SdkMcpTool")
    if "properties" not in as_object(converted.input_schema):
        raise Unsupported(
            f"the input schema of tool {tool.name!r} without `properties`", "SdkMcpTool", "Use `to_claude` instead."
        )
    return converted


def sdk_tool(
    tool: Tool,
    handler: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],
    *,
    limit: int = MAX_RESULT_CHARS,
    target: str = "Claude Code",
) -> SdkMcpTool[Any]:
    """`tool` as an `SdkMcpTool` that `handler` runs, with results of up to `limit` characters.

    Raises:
        Unsupported: the root of the input schema cannot be written as one object; see `root_schema`.
    """
    return SdkMcpTool(
        name=tool.name,
        description=tool.description,
        input_schema=root_schema(tool.input_schema, tool_name=tool.name, target=target),
        handler=handler,
        annotations=ToolAnnotations(**tool.annotations.to_mcp(), maxResultSizeChars=limit),
    )


def allowed_tools(server_name: str, tools: Iterable[Tool]) -> list[str]:
    """The names of `tools` in Claude Code, for `ClaudeAgentOptions(allowed_tools=...)`.

    Raises:
        ToolValidationError: `tools` is not a list of hikidashi tools, or the name of the server is invalid.
    """
    wire, names = ClaudeNames(server_name), [tool.name for tool in neutral_tools(tools)]
    wire.add(names)
    return list(map(wire.full, names))


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

    return {AFTER_CALLS: [HookMatcher(hooks=[advise])]}
