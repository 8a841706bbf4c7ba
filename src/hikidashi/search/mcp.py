"""Tool search as an MCP server, for any MCP client."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Unpack

from mcp import types
from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.mcpserver import Context, MCPServer

from .. import __version__
from ..convert.mcp import answer, wire_tool
from ..errors import Unsupported
from ..tool import Tool, ToolResult
from .answers import CALL_TOOL
from .catalog import ToolCatalog
from .options import SearchOptions, search_options
from .search_tools import FoundTools, ToolSearchHandler

logger = logging.getLogger("hikidashi")

_SESSION_ID = "mcp-session-id"  # streamable HTTP
_MOST_SESSIONS = 10_000
"""HTTP sessions whose found tools are remembered; in a session dropped from here, the model has to search again."""


def to_mcp_search(
    tools: Iterable[Tool] | ToolCatalog,
    *,
    name: str = "hikidashi",
    version: str = __version__,
    instructions: str | None = None,
    list_found: bool = True,
    **options: Unpack[SearchOptions],
) -> MCPServer[Any]:
    """An MCP server that lists two tools, `search_tools` and `call_tool`, for any number of tools.

    `search_tools` returns the name, description and input schema of matching tools; `call_tool` calls one of them.
    With `list_found`, the tools that a session has found are added to its `tools/list` under their own names, and the
    session is notified that the list has changed: clients that follow the notification may call them directly. A tool
    that the session has not found is not called: the answer shows its definition, so that the model can call it again.

    Without a session id, Streamable HTTP (a modern client, or `stateless_http=True`) is stateless: the list does
    not change, every tool can be called, and an error shows the tool's definition.

    Args:
        tools: hikidashi tools, or a catalogue of them, which may change while the server runs.
        name: The name of the server.
        version: The version of the server.
        instructions: The `instructions` that the server sends to a client.
        list_found: Whether found tools are listed; a changed list invalidates the client's prompt cache.
        options: See `SearchOptions`; all but `preload`, since a server does not see what the user writes.

    Raises:
        ToolValidationError: a tool is called `search_tools` or `call_tool`, or is not a hikidashi tool, or
            `always_loaded` names a tool that does not exist.
        TypeError: `preload` is given.
        ValueError: an option is invalid.
    """
    if "preload" in options or "preload_most" in options:
        raise TypeError(
            "`to_mcp_search` cannot preload: an MCP server does not see what the user writes. Leave `preload` out."
        )
    handler = ToolSearchHandler(tools, search_options(**options))
    return _SearchServer(handler, list_found=list_found, name=name, version=version, instructions=instructions)


_Findings = OrderedDict[str, FoundTools]
"""The found tools by session id, for one transport; sessions without an id share one entry."""


@asynccontextmanager
async def _findings(_: MCPServer[_Findings]) -> AsyncGenerator[_Findings]:
    # mcp enters this once per stdio or in-memory connection, and once for all sessions of an HTTP application.
    yield OrderedDict()


class _SearchServer(MCPServer[_Findings]):
    """An `MCPServer` whose list of tools depends on what the session has found."""

    def __init__(
        self,
        handler: ToolSearchHandler,
        *,
        list_found: bool,
        name: str,
        version: str,
        instructions: str | None,
    ) -> None:
        self._handler = handler
        self._loaded = {tool.name: tool for tool in handler.always_loaded}
        self._list_found = list_found
        self._found: ContextVar[FoundTools | None] = ContextVar("hikidashi_found", default=None)
        """The tools found in the session of the current request; None without a session."""
        own = (handler.search_tool(self._search), handler.call_tool(self._call))
        self._own = {tool.name: tool for tool in own}
        super().__init__(
            name, version=version, instructions=instructions, lifespan=_findings, middleware=[self._in_session]
        )

    async def list_tools(self) -> list[types.Tool]:
        listed = {**self._own, **self._loaded}
        if self._list_found:
            found = ((name, self._handler.tool(name)) for name in self._found.get() or ())
            listed |= {name: tool for name, tool in found if tool is not None and name not in listed}
        return [*filter(None, map(self._listed, listed.values())), *await super().list_tools()]

    def _listed(self, tool: Tool) -> types.Tool | None:
        """`tool` as clients see it; None if MCP cannot express it: it is called with `call_tool` only."""
        try:
            return wire_tool(self._handler.listed(tool))
        except Unsupported as error:
            logger.warning("The tool %r was found and is not listed: %s", tool.name, error)
            return None

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        if tool := self._loaded.get(name):
            return await answer(tool, arguments)
        if name not in self._own and name not in self._handler.catalog and await self._is_added(name):
            return await super().call_tool(name, arguments, context)
        own, given = (name, arguments) if name in self._own else (CALL_TOOL, {"name": name, "arguments": arguments})
        before = len(self._found.get() or ())
        result = await answer(self._own[own], given)
        if self._list_found and context is not None and len(self._found.get() or ()) > before:
            await context.session.send_tool_list_changed()
            await context.notify_tools_changed()
        return result

    async def _is_added(self, name: str) -> bool:
        """Whether `name` was added with `MCPServer.add_tool` or its decorator."""
        return any(tool.name == name for tool in await super().list_tools())

    def _search(self, arguments: dict[str, Any]) -> ToolResult:
        found = self._found.get()
        return self._handler.search(arguments, {} if found is None else found)

    async def _call(self, arguments: dict[str, Any]) -> ToolResult:
        if tool := self._loaded.get(str(arguments.get("name"))):
            return await self._handler.call(arguments, {tool.name: None})
        return await self._handler.call(arguments, self._found.get())

    async def _in_session(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        token = self._found.set(_found_by(ctx))
        try:
            result = await call_next(ctx)
        finally:
            self._found.reset(token)
        if ctx.method == "initialize" and self._list_found and isinstance(result, dict):
            # `MCPServer` has no option for this; older clients need it to expect the notification.
            capabilities: dict[str, Any] = result["capabilities"]
            tools = {**capabilities.get("tools", {}), "listChanged": True}
            return {**result, "capabilities": {**capabilities, "tools": tools}}
        return result


def _found_by(ctx: ServerRequestContext[_Findings, Any]) -> FoundTools | None:
    session_id = "" if ctx.request is None else _http_session(ctx.request)
    if session_id is None:
        return None
    findings = ctx.lifespan_context
    found = findings.setdefault(session_id, {})
    findings.move_to_end(session_id)
    if len(findings) > _MOST_SESSIONS:
        findings.popitem(last=False)
    return found


def _http_session(request: Any) -> str | None:
    """The session id of a request: a header in streamable HTTP, a query parameter in the older SSE."""
    return request.headers.get(_SESSION_ID) or request.query_params.get("session_id")
