"""Handlers of `tools/*`: the list, and the gateway's own tools among the calls."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, cast

import mcp_types as types

from ...errors import ToolSearchError
from ..bridge.callers import client_key, is_modern, principal_of
from ..bridge.parked import Raw
from ..finder import OWN_TOOLS, READ_RESULT, SEARCH_TOOLS
from ..gateway import Gateway
from ..telemetry import search_span
from ._records import ClientRecords
from ._results import LongResults
from ._support import Context, refuse_cursor
from ._tool_calls import ToolCalls, error_result

__all__ = ["ToolHandlers"]

_MOST_CLIENTS = 1_024


class ToolHandlers:
    """Lists tools, searches them, and calls them."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._long_results = LongResults()
        self._records = ClientRecords(gateway.record)
        self._calls = ToolCalls(gateway, self._long_results, self._records)
        self._promoted: OrderedDict[str, dict[str, None]] = OrderedDict()

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Answer `tools/list`."""
        refuse_cursor(params)
        self._gateway.remember_client(ctx)
        if (name := _called_over_http(ctx)) is not None:
            if name not in OWN_TOOLS:
                await self._gateway.until_known(name, lambda: name in self._gateway.merged.tools)
            if (called := self._gateway.listed_tool(name)) is not None:
                return types.ListToolsResult(tools=[called], cache_scope="private")
        await self._gateway.until_listable()
        if self._gateway.searching:
            self._gateway.finder.embed()  # a search comes next
        promoted = self._promoted.get(client_key(ctx), ()) if self._promotes(ctx) else ()
        return types.ListToolsResult(tools=self._gateway.listed_tools(promoted), cache_scope="private")

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Raw | types.Result:
        """Answer `tools/call`."""
        # The client may have listed them when fewer servers were known, so they are answered also where they are not
        # listed any more. No other tool has their names.
        if params.name not in OWN_TOOLS or self._gateway.options.search == "off":
            return await self._calls.call(ctx, params, params.name, params.arguments)
        given = params.arguments or {}
        if params.name == SEARCH_TOOLS:
            return await self._search(ctx, given)
        if params.name == READ_RESULT:
            return self._read_result(ctx, given)
        return await self._call_found(ctx, params, given)

    async def _call_found(
        self, ctx: Context, params: types.CallToolRequestParams, given: dict[str, Any]
    ) -> Raw | types.Result:
        """Answer `call_read_tool` and `call_tool`."""
        name, arguments = given.get("name"), _object(given.get("arguments"))
        if not isinstance(name, str):
            return error_result(f"`name` is {name!r}: give the name of a tool, as {SEARCH_TOOLS} shows it.")
        if arguments is None:
            return error_result(f"`arguments` is {given.get('arguments')!r}: give an object.")
        return await self._calls.call(ctx, params, name, arguments, through=params.name)

    async def _search(self, ctx: Context, given: dict[str, Any]) -> types.Result:
        query = given.get("query")
        if not isinstance(query, str) or not query.strip():
            return error_result(f"`query` is {query!r}: give a few words about what you want to do.")
        await self._gateway.first_lists.wait()
        with search_span() as span:
            try:
                await self._gateway.finder.prepare(query)
                answer = self._gateway.search(query)
            except ToolSearchError as error:
                return error_result(str(error))
            span.set_attributes({"hikidashi.search.kind": answer.kind, "hikidashi.search.found": len(answer.names)})
        self._records.searched(ctx, query, answer.kind, answer.names)
        if self._promotes(ctx) and answer.whole:
            await self._promote(ctx, answer.whole)
        return types.CallToolResult(content=[types.TextContent(text=answer.text)])

    def _read_result(self, ctx: Context, given: dict[str, Any]) -> types.Result:
        handle, offset = given.get("handle"), _whole_number(given.get("offset"))
        if offset is None or offset < 0:
            return error_result(f"`offset` is {given.get('offset')!r}: give a whole number from 0 on.")
        text = self._long_results.read(str(handle), offset, principal_of(ctx))
        if text is None:
            return error_result(f"Nothing is kept under {handle!r} any more. Call the tool again.")
        return types.CallToolResult(content=[types.TextContent(text=text)])

    def _promotes(self, ctx: Context) -> bool:
        return self._gateway.options.promote and not is_modern(ctx)

    async def _promote(self, ctx: Context, names: Sequence[str]) -> None:
        """List `names` for this client from now on."""
        promoted = self._promoted.setdefault(client_key(ctx), {})
        self._promoted.move_to_end(client_key(ctx))
        while len(self._promoted) > _MOST_CLIENTS:
            self._promoted.popitem(last=False)
        if not set(names) <= set(promoted):
            promoted.update(dict.fromkeys(names))
            await ctx.session.send_tool_list_changed()


def _called_over_http(ctx: Context) -> str | None:
    """The tool that this HTTP request calls; None if it is not a call.

    Before a call, the `mcp` package lists the tools to compare the headers that a tool declares (`x-mcp-header`). One
    definition is enough for that: there may be thousands.
    """
    if ctx.request is None or ctx.request.headers.get("mcp-method") != "tools/call":
        return None
    return ctx.request.headers.get("mcp-name")  # the package has refused one that is not in the body


def _object(value: object) -> dict[str, Any] | None:
    """`value` as an object: some models send it as JSON text; None is an empty object."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _whole_number(value: object) -> int | None:
    """`value` as a whole number: some models send it as text or with a fraction of 0; None is 0."""
    if value is None:
        return 0
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == value // 1 else None
