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
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent
from mcp.types import Tool as McpTool
from pydantic_ai.tools import ToolDefinition

from ..convert.claude_listing import MAX_RESULT_CHARS, check_server_name, listed_schema, shown_name, wire_name
from ..errors import ToolValidationError
from .history import Block
from .restrictions import OwnToolRestrictions, Restrictions

CALL_ID_META = "claudecode/toolUseId"
"""Where Claude Code says which `tool_use` block a call comes from."""


class ParkedTools:
    """Tools that Claude Code can call and that somebody else runs."""

    def __init__(
        self,
        definitions: Sequence[ToolDefinition],
        *,
        server_name: str,
        restrictions: OwnToolRestrictions | None = None,
    ) -> None:
        check_server_name(server_name)
        self.server_name = server_name
        self._schemas = {tool.name: tool.parameters_json_schema for tool in definitions}
        self._restrictions = restrictions or OwnToolRestrictions(Restrictions())
        self.names: dict[str, str] = {}
        """Name on Claude Code's side → name on pydantic-ai's."""
        for definition in definitions:
            taken = self.names.setdefault(self.wire_name(definition.name), definition.name)
            if taken != definition.name:
                raise ToolValidationError(
                    f"Tools {taken!r} and {definition.name!r} are both {shown_name(taken)!r} to Claude Code, "
                    "which allows only letters, digits, `_` and `-`. Rename one of them.",
                    definition.name,
                )
        self._listed = [_listed(server_name, definition) for definition in definitions]
        self._calls: dict[str, asyncio.Future[CallToolResult]] = {}

    def wire_name(self, name: str) -> str:
        """The name the model sees."""
        return wire_name(self.server_name, name)

    @property
    def listing(self) -> list[dict[str, Any]]:
        """What the model is told of the tools: two sessions with equal listings are interchangeable."""
        return [tool.model_dump(by_alias=True, exclude_none=True) for tool in self._listed]

    def config(self) -> McpSdkServerConfig:
        """A server of its own for one session, for `ClaudeAgentOptions.mcp_servers`."""
        server: Server[Any] = Server(self.server_name, on_list_tools=self._list, on_call_tool=self._park)
        return McpSdkServerConfig(type="sdk", name=self.server_name, instance=cast("Any", server))

    def is_restricted(self, name: str) -> bool:
        """Whether a call of the tool `name` must be seen whole before it may park."""
        return self._restrictions.restricts(name)

    def refusal(self, name: str, arguments: object) -> str | None:
        """Why a call of the tool `name` does not park, for the model to read."""
        return self._restrictions.refusal(name, arguments, self._schemas.get(name, {}))

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
        if (refusal := self.refusal(params.name, params.arguments)) is not None:
            return CallToolResult(content=[TextContent(type="text", text=refusal)], is_error=True)
        meta = cast("dict[str, Any]", context.meta or params.meta or {})
        return await self._call(str(meta[CALL_ID_META]))


def _listed(server_name: str, definition: ToolDefinition) -> McpTool:
    description = definition.description or ""
    schema = listed_schema(server_name, definition.name, description, definition.parameters_json_schema)
    return McpTool.model_validate(
        {
            "name": definition.name,
            "description": description,
            "inputSchema": schema,
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
        case _:  # text: what MCP cannot carry does not come here, see `can_travel_by_mcp`
            return block
