"""An MCP server whose calls wait for results from outside.

Claude Code calls a tool; the call waits (is parked) here; pydantic-ai runs the tool; the result completes the call.
The SDK's own server hides the id of the call and validates arguments itself, so this one is an `mcp.server.Server`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, cast

from claude_agent_sdk import HookContext, McpSdkServerConfig
from claude_agent_sdk.types import HookJSONOutput
from mcp.server import Server, ServerRequestContext
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent
from mcp.types import Tool as McpTool
from pydantic_ai.tools import ToolDefinition

from ...convert.claude_listing import MAX_RESULT_CHARS, check_server_name, listed_schema, names_in_claude, wire_name
from ..history import Block
from ..tools.restrictions import OwnToolRestrictions, Restrictions

CALL_ID_META = "claudecode/toolUseId"
"""The key in `_meta` for the id of the `tool_use` block that a call comes from."""


def _error(text: str) -> CallToolResult:
    return CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": True})


_NO_ANSWER = _error("This call ended before it was answered.")
_NOT_FOR_SUB_AGENTS = _error(
    "A sub-agent cannot call this tool: the main agent runs it. Say in your answer which call you need and why."
)


class ParkedTools:
    """Tools that Claude Code can call and pydantic-ai runs.

    `names` includes tools that may be listed later, so that adding a tool never renames another.
    """

    def __init__(
        self,
        definitions: Sequence[ToolDefinition],
        *,
        server_name: str,
        restrictions: OwnToolRestrictions | None = None,
        names: Iterable[str] = (),
    ) -> None:
        check_server_name(server_name)
        self.server_name = server_name
        self._schemas = {tool.name: tool.parameters_json_schema for tool in definitions}
        self._restrictions = restrictions or OwnToolRestrictions(Restrictions())
        self._wire = names_in_claude(server_name, [*names, *(definition.name for definition in definitions)])
        self.names = {self.wire_name(definition.name): definition.name for definition in definitions}
        """Name in Claude Code → name in pydantic-ai."""
        self._listed = [_listed(definition, self._wire.of(definition.name)) for definition in definitions]
        self._calls: dict[str, asyncio.Future[CallToolResult]] = {}
        self._released: set[str] = set()
        """Ids of the calls that were ended without a result."""
        self.abandoned = False
        """Whether a turn of Claude Code ended with such a call, so that its conversation is incomplete."""

    def wire_name(self, name: str) -> str:
        """The name the model sees."""
        return wire_name(self.server_name, self._wire.of(name))

    @property
    def listing(self) -> list[dict[str, Any]]:
        """The tools as the model sees them; sessions with equal listings are interchangeable."""
        return [tool.model_dump(by_alias=True, exclude_none=True) for tool in self._listed]

    def config(self) -> McpSdkServerConfig:
        """A server of its own for one session, for `ClaudeAgentOptions.mcp_servers`."""
        server: Server[Any] = Server(self.server_name, on_list_tools=self._list, on_call_tool=self._park)
        return McpSdkServerConfig(type="sdk", name=self.server_name, instance=cast("Any", server))

    def is_restricted(self, name: str) -> bool:
        """Whether a call of the tool `name` may be refused, depending on its arguments."""
        return self._restrictions.restricts(name)

    def always_parks(self, wire_name: str) -> bool:
        """Whether every call of the tool with this name in Claude Code parks, for any arguments."""
        name = self.names.get(wire_name)
        return name is not None and not self.is_restricted(name)

    def refusal(self, name: str, arguments: object) -> str | None:
        """Why a call of the tool `name` does not park, for the model to read."""
        return self._restrictions.refusal(name, arguments, self._schemas.get(name, {}))

    def answer(self, results: Iterable[Block]) -> None:
        """Complete the calls that the `tool_result` blocks answer."""
        for block in results:
            future = self._call(block["tool_use_id"])
            if not future.done():
                future.set_result(_mcp_result(block))

    def refuse(self, call_ids: Iterable[str]) -> None:
        """Refuse calls of a sub-agent of Claude Code, which pydantic-ai does not see."""
        for call_id in call_ids:
            future = self._call(call_id)
            if not future.done():
                future.set_result(_NOT_FOR_SUB_AGENTS)

    def release(self, call_ids: Iterable[str] | None = None) -> None:
        """End these calls, or all, without a result, so that Claude Code goes on to the calls behind them."""
        # With a result and not a cancellation, which would end the MCP server and fail the calls after this one.
        for call_id in list(self._calls if call_ids is None else call_ids):
            future = self._call(call_id)
            if not future.done():
                self._released.add(call_id)
                future.set_result(_NO_ANSWER)

    async def end_abandoned_turn(self, turn: Any, _: str | None, __: HookContext) -> HookJSONOutput:
        """A `PostToolBatch` hook: end the turn before the model is asked with a result that did not come from outside.

        That is the result of a call that was released, or that Claude Code gave up.
        """
        calls = [call["tool_use_id"] for call in turn["tool_calls"]]
        if not any(call_id in self._released or self._waits(call_id) for call_id in calls):
            return {}
        self.abandoned = True
        return {"continue_": False, "stopReason": "A call waits for its result from outside."}

    def _waits(self, call_id: str) -> bool:
        future = self._calls.get(call_id)
        return future is not None and (future.cancelled() or not future.done())

    def _call(self, call_id: str) -> asyncio.Future[CallToolResult]:
        # Created by whichever side is first: Claude Code may call before its turn is complete.
        return self._calls.setdefault(call_id, asyncio.get_running_loop().create_future())

    async def _list(self, _: ServerRequestContext[Any, Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=self._listed)

    async def _park(self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        name = self._wire.original(params.name) or params.name
        if (refusal := self.refusal(name, params.arguments)) is not None:
            return CallToolResult(content=[TextContent(type="text", text=refusal)], is_error=True)
        meta = cast("dict[str, Any]", context.meta or params.meta or {})
        return await self._call(str(meta[CALL_ID_META]))


def _listed(definition: ToolDefinition, name: str) -> McpTool:
    description = definition.description or ""
    return McpTool.model_validate(
        {
            "name": name,
            "description": description or ("" if name == definition.name else definition.name),
            "inputSchema": listed_schema(definition.name, description, definition.parameters_json_schema),
            # Claude Code runs only the calls of read-only tools concurrently. pydantic-ai decides about that itself, so
            # every call may park at once.
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
        case _:  # text: see `results_fit_mcp` for what MCP cannot carry
            return block
