"""The MCP server that clients see: each request answered here, or carried to the server it is for."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

from .. import __version__
from ..errors import MissingExtra, ServerUnavailableError, ToolSearchError
from ._confirm import Confirmations
from ._finder import CALL_READ_TOOL, OWN_TOOLS, SEARCH_TOOLS
from ._merged import Place
from ._policy import is_repeatable, needs_confirmation
from ._results import LongResults
from ._watching import Watching, no_resource
from .bridge.callers import CONNECTION, Caller, client_key, is_modern
from .bridge.meta import passed_on
from .bridge.parked import Raw
from .gateway import Gateway

try:
    import anyio
    import mcp_types as types
    from mcp import MCPError
    from mcp.server import NotificationOptions, Server, ServerRequestContext
    from mcp.server.models import InitializationOptions
    from mcp.server.subscriptions import ListenHandler
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["GatewayMCPServer"]

_Context = ServerRequestContext[Any, Any]
_WAIT_FOR_LISTS = 10.0  # seconds that a first list waits for servers that nothing is known of
_MOST_CLIENTS = 1_024


class GatewayMCPServer(Server[Any]):
    """What clients of any revision talk to."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._long = LongResults()
        self._confirmations = Confirmations()
        self._watching = Watching(gateway)
        self._found: OrderedDict[str, dict[str, None]] = OrderedDict()
        listen = ListenHandler(gateway.bus)

        async def on_listen(ctx: _Context, params: types.SubscriptionsListenRequestParams) -> Any:
            uris = [str(uri) for uri in params.notifications.resource_subscriptions or ()]
            listener = f"listener {secrets.token_hex(8)}"
            if uris:
                await gateway.listed(_WAIT_FOR_LISTS)
            try:
                for uri in uris:
                    with suppress(MCPError):  # a server without subscriptions does not keep the others from telling
                        await self._watching.begin(uri, listener)
                return await listen(ctx, params)
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(_WAIT_FOR_LISTS):
                    for uri in uris:
                        await self._watching.end(uri, listener)

        # Raw results pass untouched, which the package's types for handlers do not foresee.
        raw: dict[str, Any] = {
            "on_call_tool": self._call_tool,
            "on_read_resource": self._read_resource,
            "on_get_prompt": self._get_prompt,
            "on_completion": self._complete,
        }
        super().__init__(
            "hikidashi",
            version=__version__,
            title="hikidashi",
            on_list_tools=self._list_tools,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=on_listen,
            on_list_prompts=self._list_prompts,
            lifespan=_lifespan,
            **raw,
        )
        # Not by the constructor, which warns of what 2026-07-28 deprecates: older clients have it.
        self.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        self.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)
        self.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, self._roots_changed)

    @property
    def instructions(self) -> str | None:
        """What a client is told about the gateway, as it is now."""
        return self._gateway.instructions or None

    @instructions.setter
    def instructions(self, value: str | None) -> None:
        """The constructor of the base class sets it."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """As the base class, with lists that change."""
        return super().create_initialization_options(
            notification_options or NotificationOptions(True, True, True), experimental_capabilities, extensions
        )

    # Tools

    async def _list_tools(self, ctx: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        _no_cursor(params)
        await self._know_client(ctx)
        await self._gateway.listed(_WAIT_FOR_LISTS)
        if (called := self._gateway.listed_tool(_called_over_http(ctx))) is not None:
            return types.ListToolsResult(tools=[called], cache_scope="private")
        promoted = self._found.get(client_key(ctx), ()) if self._promotes(ctx) else ()
        return types.ListToolsResult(tools=self._gateway.listed_tools(promoted), cache_scope="private")

    async def _call_tool(self, ctx: _Context, params: types.CallToolRequestParams) -> Raw | types.Result:
        gateway = self._gateway
        if gateway.searching and params.name in OWN_TOOLS:
            return await self._call_own(ctx, params)
        return await self._call(ctx, params, params.name, params.arguments)

    async def _call_own(self, ctx: _Context, params: types.CallToolRequestParams) -> Raw | types.Result:
        given = params.arguments or {}
        match params.name:
            case "search_tools":
                return await self._search(ctx, given)
            case "read_result":
                return self._read_result(given)
            case _:
                name, arguments = given.get("name"), _object(given.get("arguments"))
                if not isinstance(name, str):
                    return _refusal(f"`name` is {name!r}: give the name of a tool, as {SEARCH_TOOLS} shows it.")
                if arguments is None:
                    return _refusal(f"`arguments` is {given.get('arguments')!r}: give an object.")
                right = self._gateway.finder.call_with(name)
                if name in self._gateway.merged.tools and params.name != right:
                    kind = "only reads" if right == CALL_READ_TOOL else "may change something"
                    return _refusal(f"{name!r} {kind}: call it with {right}.")
                return await self._call(ctx, params, name, arguments, explain=True)

    async def _search(self, ctx: _Context, given: dict[str, Any]) -> types.Result:
        query = given.get("query")
        if not isinstance(query, str) or not query.strip():
            return _refusal(f"`query` is {query!r}: say in a few words what you want to do.")
        await self._gateway.listed(_WAIT_FOR_LISTS)
        try:
            said = self._gateway.finder.search(query, down=self._gateway.down())
        except ToolSearchError as error:
            return _refusal(str(error))
        names = [json.loads(line)["name"] for line in said.split("\n") if line.startswith('{"name":')]
        if self._gateway.record is not None:
            self._gateway.record.searched(query, "words", names)
        if self._promotes(ctx) and names:
            await self._promote(ctx, names)
        return types.CallToolResult(content=[types.TextContent(text=said)])

    def _read_result(self, given: dict[str, Any]) -> types.Result:
        handle, offset = given.get("handle"), given.get("offset", 0)
        if not isinstance(offset, int) or offset < 0:
            return _refusal(f"`offset` is {offset!r}: give a whole number from 0 on.")
        limit = min(one.given.options.result_characters for one in self._gateway.upstreams.values())
        text = self._long.read(str(handle), offset, limit)
        if text is None:
            return _refusal(f"Nothing is kept under {handle!r} any more. Call the tool again.")
        return types.CallToolResult(content=[types.TextContent(text=text)])

    async def _call(
        self,
        ctx: _Context,
        params: types.CallToolRequestParams,
        name: str,
        arguments: dict[str, Any] | None,
        *,
        explain: bool = False,
    ) -> Raw | types.Result:
        gateway = self._gateway
        if name not in gateway.merged.tool_places:
            await gateway.listed(_WAIT_FOR_LISTS)
        place = gateway.merged.tool_places.get(name)
        if place is None:
            return _refusal(gateway.finder.nearest(name))
        tool = gateway.merged.own_tools[name]
        upstream = gateway.upstream_of(place.server)
        options = upstream.given.options
        if gateway.record is not None:
            gateway.record.called(name)
        meta = passed_on(_raw_meta(ctx))

        def make(responses: types.InputResponses | None, state: str | None) -> types.ClientRequest:
            return types.CallToolRequest(
                params=types.CallToolRequestParams(
                    name=place.name, arguments=arguments, input_responses=responses, request_state=state, _meta=meta
                )
            )

        try:
            result = await gateway.forwarder.forward(
                ctx,
                upstream,
                make,
                repeatable=is_repeatable(tool, options),
                responses=params.input_responses,
                state=params.request_state,
                before=self._confirmation(ctx, name, place, arguments),
            )
        except ServerUnavailableError as error:
            return _refusal(str(error))
        except MCPError as error:
            if not explain or error.code != types.INVALID_PARAMS:
                raise
            return _refusal(f"{error.message}\n{gateway.finder.definition(name)}")
        if not isinstance(result, dict):
            return result
        if gateway.searching:
            result = self._long.cut(result, options.result_characters)
        if explain and result.get("isError"):
            shown = {"type": "text", "text": f"Its definition: {gateway.finder.definition(name)}"}
            result = {**result, "content": [*result.get("content", []), shown]}
        return result

    def _confirmation(
        self, ctx: _Context, shown: str, place: Place, arguments: dict[str, Any] | None
    ) -> Callable[[Caller], Awaitable[Raw | None]] | None:
        """What asks the person before this call, where they want that and the client can."""
        gateway, client = self._gateway, client_key(ctx)
        own = gateway.merged.own_tools[shown]
        capabilities = ctx.session.client_capabilities
        if (
            not needs_confirmation(own, gateway.upstream_of(place.server).given.options)
            or capabilities is None
            or capabilities.elicitation is None
            or self._confirmations.is_remembered(client, shown)
        ):
            return None

        async def ask(caller: Caller) -> Raw | None:
            return await self._confirmations.ask(
                caller, client, shown, server=place.server, name=place.name, arguments=arguments
            )

        return ask

    def _promotes(self, ctx: _Context) -> bool:
        return self._gateway.options.promote and not is_modern(ctx)

    async def _promote(self, ctx: _Context, names: list[str]) -> None:
        found = self._found.setdefault(client_key(ctx), {})
        self._found.move_to_end(client_key(ctx))
        while len(self._found) > _MOST_CLIENTS:
            self._found.popitem(last=False)
        if not set(names) <= set(found):
            found.update(dict.fromkeys(names))
            await ctx.session.send_tool_list_changed()

    # Resources and prompts

    async def _list_resources(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        _no_cursor(params)
        await self._know_client(ctx)
        await self._gateway.listed(_WAIT_FOR_LISTS)
        return types.ListResourcesResult(resources=list(self._gateway.merged.resources.values()), cache_scope="private")

    async def _list_templates(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        _no_cursor(params)
        await self._gateway.listed(_WAIT_FOR_LISTS)
        return types.ListResourceTemplatesResult(
            resource_templates=list(self._gateway.merged.templates), cache_scope="private"
        )

    async def _read_resource(self, ctx: _Context, params: types.ReadResourceRequestParams) -> Raw | types.Result:
        await self._gateway.listed(_WAIT_FOR_LISTS)
        uri = str(params.uri)
        meta = passed_on(_raw_meta(ctx))
        refused = no_resource(uri)
        for place in self._gateway.merged.places_of(uri):

            def make(
                responses: types.InputResponses | None, state: str | None, place: Place = place
            ) -> types.ClientRequest:
                return types.ReadResourceRequest(
                    params=types.ReadResourceRequestParams(
                        uri=place.name, input_responses=responses, request_state=state, _meta=meta
                    )
                )

            try:
                return await self._gateway.forwarder.forward(
                    ctx,
                    self._gateway.upstream_of(place.server),
                    make,
                    responses=params.input_responses,
                    state=params.request_state,
                )
            except MCPError as error:
                refused = error
            except ServerUnavailableError as error:
                refused = MCPError(types.INTERNAL_ERROR, str(error))
        raise refused

    async def _subscribe(self, ctx: _Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        await self._know_client(ctx)
        await self._gateway.listed(_WAIT_FOR_LISTS)
        await self._watching.begin(str(params.uri), client_key(ctx))
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: _Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        await self._watching.end(str(params.uri), client_key(ctx))
        return types.EmptyResult()

    async def _list_prompts(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        _no_cursor(params)
        await self._know_client(ctx)
        await self._gateway.listed(_WAIT_FOR_LISTS)
        return types.ListPromptsResult(prompts=list(self._gateway.merged.prompts.values()), cache_scope="private")

    async def _get_prompt(self, ctx: _Context, params: types.GetPromptRequestParams) -> Raw | types.Result:
        await self._gateway.listed(_WAIT_FOR_LISTS)
        place = self._gateway.merged.prompt_places.get(params.name)
        if place is None:
            raise MCPError(types.INVALID_PARAMS, f"No server has the prompt {params.name!r}.")
        meta = passed_on(_raw_meta(ctx))

        def make(responses: types.InputResponses | None, state: str | None) -> types.ClientRequest:
            return types.GetPromptRequest(
                params=types.GetPromptRequestParams(
                    name=place.name,
                    arguments=params.arguments,
                    input_responses=responses,
                    request_state=state,
                    _meta=meta,
                )
            )

        try:
            return await self._gateway.forwarder.forward(
                ctx,
                self._gateway.upstream_of(place.server),
                make,
                responses=params.input_responses,
                state=params.request_state,
            )
        except ServerUnavailableError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error

    async def _complete(self, ctx: _Context, params: types.CompleteRequestParams) -> Raw | types.Result:
        await self._gateway.listed(_WAIT_FOR_LISTS)
        merged = self._gateway.merged
        match params.ref:
            case types.PromptReference(name=name):
                place = merged.prompt_places.get(name)
                ref = None if place is None else params.ref.model_copy(update={"name": place.name})
            case _:
                place = merged.template_place(str(params.ref.uri))
                ref = params.ref
        if place is None or ref is None:
            raise MCPError(types.INVALID_PARAMS, "No server has what this completion is for.")
        request = types.CompleteRequest(
            params=params.model_copy(update={"ref": ref, "meta": passed_on(_raw_meta(ctx))})
        )
        try:
            return await self._gateway.forwarder.forward(
                ctx, self._gateway.upstream_of(place.server), lambda _, __: request
            )
        except ServerUnavailableError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error

    # Sessions

    async def _know_client(self, ctx: _Context) -> None:
        if not is_modern(ctx):
            self._gateway.remember(client_key(ctx), ctx.session)

    async def _initialized(self, ctx: _Context, _: types.NotificationParams) -> None:
        await self._know_client(ctx)

    async def _roots_changed(self, _: _Context, __: types.NotificationParams) -> None:
        for upstream in self._gateway.upstreams.values():
            await upstream.roots_changed()

    async def _set_level(self, ctx: _Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self._gateway.forwarder.levels.set(client_key(ctx), params.level)
        async with anyio.create_task_group() as tasks:
            for upstream in self._gateway.upstreams.values():
                tasks.start_soon(upstream.set_level, params.level)
        return types.EmptyResult()


@asynccontextmanager
async def _lifespan(_: Server[Any]) -> AsyncGenerator[dict[str, str]]:
    yield {CONNECTION: secrets.token_hex(8)}


def _raw_meta(ctx: _Context) -> dict[str, Any] | None:
    meta = (ctx.params or {}).get("_meta")
    return cast("dict[str, Any]", meta) if isinstance(meta, dict) else None


def _called_over_http(ctx: _Context) -> str | None:
    """The tool that this HTTP request calls, whose definition the `mcp` package lists before; None if a client lists.

    It compares the headers that a tool may want (`x-mcp-header`), and would list thousands of tools for each call.
    """
    if ctx.request is None or ctx.request.headers.get("mcp-method") != "tools/call":
        return None
    return ctx.request.headers.get("mcp-name")  # the package has refused one that is not in the body


def _no_cursor(params: types.PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, f"There is no page {params.cursor!r}: the list has one.")


def _refusal(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _object(value: object) -> dict[str, Any] | None:
    """The object that `value` is, or is the JSON text of, as some models send it; none at all is an empty one."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
