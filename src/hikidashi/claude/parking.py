"""An MCP server whose calls wait until somebody outside answers them.

Claude Code calls a tool; the call parks here; pydantic-ai runs the tool in its own way; the answer
wakes the call. The server the SDK builds hides the id of the call and checks arguments itself, so
this one stands on `mcp.server.Server`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, cast

from claude_agent_sdk import McpSdkServerConfig
from mcp.server import Server, ServerRequestContext
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams
from mcp.types import Tool as McpTool
from pydantic_ai.tools import ToolDefinition

from ..convert.claude import MAX_RESULT_CHARS, names_in_claude, shown_name
from .history import Block

CALL_ID_META = "claudecode/toolUseId"
"""Where Claude Code says which `tool_use` block a call comes from."""


class ParkedTools:
    """Tools that Claude Code can call and that somebody else runs.

    `names` has those of tools that may be listed later: no tool changes its name because another one joins it.
    """

    def __init__(self, definitions: Sequence[ToolDefinition], *, server_name: str, names: Iterable[str] = ()) -> None:
        self.server_name = server_name
        self._wire = names_in_claude(server_name, [*names, *(definition.name for definition in definitions)])
        self.names = {self.wire_name(definition.name): definition.name for definition in definitions}
        """Name on Claude Code's side → name on pydantic-ai's."""
        self._listed = [_listed(definition, self._wire.of(definition.name)) for definition in definitions]
        self._calls: dict[str, asyncio.Future[CallToolResult]] = {}

    def wire_name(self, name: str) -> str:
        """The name the model sees."""
        return f"mcp__{shown_name(self.server_name)}__{self._wire.of(name)}"

    @property
    def listing(self) -> list[dict[str, Any]]:
        """What the model is told of the tools: two sessions with equal listings are interchangeable."""
        return [tool.model_dump(by_alias=True, exclude_none=True) for tool in self._listed]

    def config(self) -> McpSdkServerConfig:
        """A server of its own for one session, for `ClaudeAgentOptions.mcp_servers`."""
        server: Server[Any] = Server(self.server_name, on_list_tools=self._list, on_call_tool=self._park)
        return McpSdkServerConfig(type="sdk", name=self.server_name, instance=cast("Any", server))

    def answer(self, results: Iterable[Block]) -> None:
        """Wake the calls that the `tool_result` blocks answer."""
        for block in results:
            future = self._call(block["tool_use_id"])
            if not future.done():
                future.set_result(_mcp_result(block))

    def release(self) -> None:
        """Let go of every call that still waits."""
        for future in self._calls.values():
            future.cancel()

    def _call(self, call_id: str) -> asyncio.Future[CallToolResult]:
        # Whichever side comes first makes the future: Claude Code may call before its turn is complete.
        return self._calls.setdefault(call_id, asyncio.get_running_loop().create_future())

    async def _list(self, _: ServerRequestContext[Any, Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=self._listed)

    async def _park(self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        meta = cast("dict[str, Any]", context.meta or params.meta or {})
        return await self._call(str(meta[CALL_ID_META]))


def _listed(definition: ToolDefinition, name: str) -> McpTool:
    return McpTool.model_validate(
        {
            "name": name,
            "description": definition.description or ("" if name == definition.name else definition.name),
            "inputSchema": definition.parameters_json_schema,
            # Claude Code runs the calls of one turn side by side only if they say they only read.
            # pydantic-ai decides about that itself, so here every call may park at once.
            "annotations": {"readOnlyHint": True},
            "_meta": {"anthropic/maxResultSizeChars": MAX_RESULT_CHARS, "anthropic/alwaysLoad": True},
        }
    )


def _mcp_result(block: Block) -> CallToolResult:
    content = [_mcp_block(item) for item in cast("list[Block]", block["content"])]
    return CallToolResult.model_validate({"content": content, "isError": block.get("is_error", False)})


def _mcp_block(block: Block) -> Block:
    match block:
        case {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}:
            return {"type": "image", "data": data, "mimeType": media_type}
        case {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}}:
            return {"type": "resource", "resource": {"uri": "file:///document", "blob": data, "mimeType": media_type}}
        case {"source": {"type": "url", "url": url}}:
            return {"type": "text", "text": url}
        case _:
            return block
