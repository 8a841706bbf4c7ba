"""Tool search as an MCP server, for clients that know nothing of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, cast

from .. import __version__
from ..errors import MissingExtra
from ..tool import Tool, ToolResult
from .answers.budget import DEFAULT_BUDGET, AnswerBudget
from .answers.search_tools import Strategy, ToolSearchHandler
from .answers.texts import CALL_TOOL, Language, Recorder
from .catalog import ToolCatalog

try:
    from mcp import types
    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult
    from mcp.server.mcpserver import Context, MCPServer
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

from ..convert.mcp import answer, wire_tool

__all__ = ["to_mcp_search"]

_SESSION_ID = "mcp-session-id"  # streamable HTTP
_MOST_SESSIONS = 10_000
"""HTTP sessions whose findings are kept; one that is dropped is told to search again."""


def to_mcp_search(
    tools: Iterable[Tool] | ToolCatalog,
    *,
    name: str = "hikidashi",
    version: str = __version__,
    instructions: str | None = None,
    strategy: Strategy = "both",
    max_results: int = 5,
    always_loaded: Iterable[str] = (),
    list_found: bool = True,
    about: str | None = None,
    language: Language = "en",
    record: Recorder | None = None,
    budget: AnswerBudget | int = DEFAULT_BUDGET,
) -> MCPServer[Any]:
    """An MCP server that lists two tools, `search_tools` and `call_tool`, however many there are.

    `search_tools` answers with name, description and input schema of what fits; `call_tool` calls one of these. With
    `list_found`, what a session found is in its own `tools/list` from then on, under its own name, and the session is
    told that the list changed: clients that follow that notification may call it directly. A tool that the session
    has not found is not called: the answer shows it, so that the next call can be right.

    Streamable HTTP without a session id (protocol 2026-07-28, or `stateless_http=True`) has nobody to remember what
    was found: the list stays as it is, every tool can be called, and an error shows the tool's definition.

    Args:
        tools: hikidashi tools, or a catalogue of them, which may change while the server runs.
        name: The name of the server.
        version: The version of the server.
        instructions: What the server tells a client about itself.
        strategy: What a query is: words, a pattern, or either (a pattern between slashes).
        max_results: How many tools a search shows at most.
        always_loaded: Names of tools that are listed from the start, beside the two.
        list_found: Whether what a session found is listed for it; a changed list costs the client its prompt cache.
        about: What the tools are for, in a few words: all that the model knows of them before it searches.
        language: The language of what the model reads.
        record: Recorder notified of each search and call.
        budget: The most tokens that an answer of a search costs: see `AnswerBudget`.

    Raises:
        ToolValidationError: a tool is called `search_tools` or `call_tool`, is no hikidashi tool, or `always_loaded`
            names one that is not there.
    """
    handler = ToolSearchHandler(
        tools,
        strategy=strategy,
        max_results=max_results,
        about=about,
        language=language,
        record=record,
        budget=budget,
    )
    return _SearchServer(
        handler, always_loaded, list_found=list_found, name=name, version=version, instructions=instructions
    )


_Findings = OrderedDict[str, dict[str, None]]
"""What each session of one transport found, in order; sessions without an id are one."""


@asynccontextmanager
async def _findings(_: MCPServer[_Findings]) -> AsyncGenerator[_Findings]:
    # mcp enters this once for each stdio or in-memory connection, and once for all sessions of an HTTP application.
    yield OrderedDict()


class _SearchServer(MCPServer[_Findings]):
    """An `MCPServer` whose list of tools depends on what the session has found."""

    def __init__(
        self,
        handler: ToolSearchHandler,
        always_loaded: Iterable[str],
        *,
        list_found: bool,
        name: str,
        version: str,
        instructions: str | None,
    ) -> None:
        self._handler = handler
        self._loaded = {tool.name: tool for tool in handler.always_loaded(always_loaded)}
        self._list_found = list_found
        self._found: ContextVar[dict[str, None] | None] = ContextVar("hikidashi_found", default=None)
        """What the session of the running request has found; None where there is no session."""
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
        return [*(wire_tool(self._handler.listed(tool)) for tool in listed.values()), *await super().list_tools()]

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
        """Whether `name` is a tool that was added to the server by its own means."""
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
            # `MCPServer` has no option for this: clients before 2026-07-28 would not expect the notification.
            capabilities = cast("dict[str, Any]", result["capabilities"])
            tools = {**capabilities.get("tools", {}), "listChanged": True}
            return {**result, "capabilities": {**capabilities, "tools": tools}}
        return result


def _found_by(ctx: ServerRequestContext[Any, Any]) -> dict[str, None] | None:
    session_id = "" if ctx.request is None else _http_session(ctx.request)
    if session_id is None:
        return None
    findings = cast("_Findings", ctx.lifespan_context)
    found = findings.setdefault(session_id, {})
    findings.move_to_end(session_id)
    if len(findings) > _MOST_SESSIONS:
        findings.popitem(last=False)
    return found


def _http_session(request: Any) -> str | None:
    """The session a request belongs to: streamable HTTP has its id in a header, the older SSE in the address."""
    return request.headers.get(_SESSION_ID) or request.query_params.get("session_id")
