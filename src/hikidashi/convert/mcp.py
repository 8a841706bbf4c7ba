"""Tools from a connected MCP session, and tools as an MCP server.

Nothing else depends on the types of the `mcp` package for tools and results; `convert.claude` uses this file.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

from mcp import ClientSession, MCPError, types
from mcp.client import Client
from mcp.server.mcpserver import Context, MCPServer

from .. import __version__
from ..common.exceptions import is_closed_session
from ..errors import ToolConnectionError, ToolValidationError, Unsupported
from ..tool import Tool, ToolAnnotations, ToolResult, json_text
from .wire import ALIASES, by_name, failed_tool, root_schema, strings

logger = logging.getLogger("hikidashi")

# `_meta` carries what MCP has no field for, so that `from_mcp` restores it.
_DEFER_LOADING = "hikidashi/deferLoading"
_ICONS = "hikidashi/icons"

_RESERVED = "io.modelcontextprotocol/"


async def from_mcp(session: ClientSession | Client) -> list[Tool]:
    """The tools of a connected MCP session, on all pages of its list.

    The tools work as long as the session is open. Annotations, output schemas and `_meta` come along;
    `isError` answers stay results, and a cancelled call is cancelled on the server.

    Raises:
        ToolConnectionError: the session is closed, here or when a tool is called.
        ToolValidationError: `session` is neither a `ClientSession` nor a `Client`.
    """
    if not hasattr(session, "list_tools") or not hasattr(session, "call_tool"):
        raise ToolValidationError(
            f"Expected a connected `mcp.ClientSession` or `mcp.Client`, got a {type(session).__name__} "
            f"({session!r:.100}). Connect first: `async with Client(...) as session:`."
        )
    return [_from_wire(session, tool) for tool in await _listed(session)]


def to_mcp(
    tools: Iterable[Tool], *, name: str = "hikidashi", version: str = __version__, instructions: str | None = None
) -> MCPServer[Any]:
    """An MCP server that offers `tools`: run it with `server.run()`, or connect with `mcp.Client(server)`.

    Schemas, descriptions, annotations and `_meta` are carried over untouched. What a tool raises
    becomes an `isError` answer and is logged. More tools may be added with `@server.tool()`.

    Raises:
        ToolValidationError: two tools have the same name.
    """
    return _ToolServer(by_name(tools), name=name, version=version, instructions=instructions)


class _ToolServer(MCPServer[Any]):
    """An `MCPServer` whose tools bring their own JSON Schemas.

    `MCPServer.add_tool` makes the schema from a Python signature and takes no other. Every request goes through the
    public `list_tools` and `call_tool`, which are overridden here.
    """

    def __init__(self, offered: Mapping[str, Tool], *, name: str, version: str, instructions: str | None) -> None:
        self._offered = offered
        self._wire_tools = [wire_tool(tool) for tool in offered.values()]
        super().__init__(name, version=version, instructions=instructions)

    async def list_tools(self) -> list[types.Tool]:
        return [*self._wire_tools, *await super().list_tools()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = self._offered.get(name)
        return await super().call_tool(name, arguments, context) if tool is None else await answer(tool, arguments)


def wire_tool(tool: Tool, extra_meta: Mapping[str, Any] | None = None) -> types.Tool:
    """`tool` as an entry of `tools/list`; its own metadata wins over `extra_meta`."""
    meta: dict[str, Any] = {**(extra_meta or {}), **tool.metadata}
    icons = meta.pop(_ICONS, None)
    if tool.aliases:
        meta[ALIASES] = list(tool.aliases)
    if tool.defer_loading:
        meta[_DEFER_LOADING] = True
    return types.Tool.model_validate(
        {
            "name": tool.name,
            "title": tool.annotations.title,
            "description": tool.description,
            "inputSchema": root_schema(tool.input_schema, tool_name=tool.name, target="MCP", for_claude=False),
            "outputSchema": tool.output_schema,
            "annotations": tool.annotations.to_mcp() or None,
            "icons": icons,
            "_meta": json.loads(json_text(meta)) or None,
        }
    )


async def answer(tool: Tool, arguments: dict[str, Any] | None) -> types.CallToolResult:
    """The result of `tool` on the wire; an exception is logged, and becomes an `isError` result."""
    try:
        result = await tool.call(arguments or {})
        if tool.output_schema is not None and result.structured_content is None and not result.is_error:
            raise Unsupported("an answer without the structured content that the output schema promises", "MCP")
        return wire_result(result)
    except MCPError:
        raise  # a protocol error of the server behind a forwarded tool stays one
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and _is_being_cancelled():
            raise
        logger.exception("tool %r failed", tool.name)
        return wire_result(failed_tool(tool.name, error))


def _is_being_cancelled() -> bool:
    """Whether a cancellation is meant for this call: a tool also raises one if a task that it waits for was cancelled.

    Otherwise the server would shut down and answer no further call.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def wire_result(result: ToolResult) -> types.CallToolResult:
    """`result` as the response to `tools/call`."""
    wire = result.to_mcp()
    if not isinstance(result.structured_content, dict):
        wire.pop("structuredContent", None)  # of an older server only objects; the text has the same content
        wire["content"] = list(result.blocks)
    if "_meta" in wire:
        wire["_meta"] = json.loads(json_text(wire["_meta"]))
    return types.CallToolResult.model_validate(wire)


async def _listed(session: ClientSession | Client) -> list[types.Tool]:
    tools: list[types.Tool] = []
    cursors: list[str | None] = [None]
    while True:
        page = await _page(session, cursors[-1])
        tools += page.tools
        if page.next_cursor is None:
            return tools
        if page.next_cursor in cursors:
            raise ToolValidationError(
                f"The tool list of the MCP server does not end: the cursor {page.next_cursor!r} was repeated."
            )
        cursors.append(page.next_cursor)


async def _page(session: ClientSession | Client, cursor: str | None) -> types.ListToolsResult:
    with _raising_connection_errors(session, "tools/list"):
        if isinstance(session, Client):
            return await session.list_tools(cursor=cursor)
        return await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))


@contextmanager
def _raising_connection_errors(session: ClientSession | Client, tool_name: str) -> Generator[None]:
    try:
        _ = session.session if isinstance(session, Client) else session
    except RuntimeError as error:
        raise ToolConnectionError(tool_name, "the MCP client is not connected") from error
    try:
        yield
    except MCPError as error:
        if not is_closed_session(error.code, error.message):
            raise
        raise ToolConnectionError(tool_name, "the MCP session is closed") from error


def _from_wire(session: ClientSession | Client, tool: types.Tool) -> Tool:
    async def call(arguments: dict[str, Any]) -> ToolResult:
        try:
            with _raising_connection_errors(session, tool.name):
                return _from_wire_result(await session.call_tool(tool.name, arguments))
        except MCPError as error:
            if error.code != types.INVALID_PARAMS:
                raise
            return ToolResult.error(error.message)  # some servers refuse bad arguments this way

    meta = dict(tool.meta or {})
    if tool.icons:
        meta[_ICONS] = [_dumped(icon) for icon in tool.icons]
    hints: dict[str, Any] = _dumped(tool.annotations) if tool.annotations else {}
    return Tool(
        name=tool.name,
        description=tool.description or "",
        input_schema=tool.input_schema,
        call=call,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations.from_mcp({**hints, "title": tool.title or hints.get("title")}),
        aliases=tuple(strings(meta.pop(ALIASES, None))),
        defer_loading=bool(meta.pop(_DEFER_LOADING, False)),
        metadata=meta,
    )


def _from_wire_result(result: types.CallToolResult) -> ToolResult:
    return ToolResult(
        content=tuple(map(_dumped, result.content)),
        structured_content=result.structured_content,
        is_error=result.is_error,
        meta={key: value for key, value in (result.meta or {}).items() if not key.startswith(_RESERVED)},
    )


def _dumped(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
