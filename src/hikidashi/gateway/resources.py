"""Handlers of `resources/*`, `subscriptions/listen`, `prompts/*` and `completion/complete`."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.subscriptions import ListenHandler

from .callers import Context, client_key, refuse_cursor, unavailable_as_mcp_error
from .forward import passed_on
from .gateway import Gateway
from .merged import Origin
from .parked import Raw

_FORGET_SECONDS = 10.0


class ResourceHandlers:
    """Lists the resources of all servers, and forwards reads and subscriptions to the server of each."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._listen = ListenHandler(gateway.bus)

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Answer `resources/list`."""
        refuse_cursor(params)
        self._gateway.remember_client(ctx)
        await self._gateway.first_lists.wait()
        return types.ListResourcesResult(
            resources=list(self._gateway.merged.resources.listed.values()), cache_scope="private"
        )

    async def list_templates(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Answer `resources/templates/list`."""
        refuse_cursor(params)
        await self._gateway.first_lists.wait()
        return types.ListResourceTemplatesResult(
            resource_templates=self._gateway.merged.resources.templates, cache_scope="private"
        )

    async def read(self, ctx: Context, params: types.ReadResourceRequestParams) -> Raw | types.Result:
        """Answer `resources/read` from the first server that has the resource, or with the error of the likeliest."""
        uri = str(params.uri)
        await self._until_known(uri)
        meta = passed_on(ctx)
        refused: MCPError | None = None
        resources = self._gateway.merged.resources
        for place in resources.places_of(uri):
            request = types.ReadResourceRequest(
                params=types.ReadResourceRequestParams(
                    uri=place.name,
                    input_responses=params.input_responses,
                    request_state=params.request_state,
                    _meta=meta,
                )
            )
            try:
                with unavailable_as_mcp_error():
                    upstream = self._gateway.upstream_of(place.server)
                    result = await self._gateway.forwarder.forward(ctx, upstream, request)
                return resources.with_shown_uris(place.server, result) if isinstance(result, dict) else result
            except MCPError as error:
                refused = refused or error
        raise refused or _no_resource(uri)

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Answer `resources/subscribe`."""
        self._gateway.remember_client(ctx)
        await self._until_known(str(params.uri))
        await self._begin(str(params.uri), client_key(ctx))
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Answer `resources/unsubscribe`."""
        await self._end(str(params.uri), client_key(ctx))
        return types.EmptyResult()

    async def listen(self, ctx: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        """Answer `subscriptions/listen`; its resources are subscribed to as long as the stream is open."""
        uris = [str(uri) for uri in params.notifications.resource_subscriptions or ()]
        listener = f"listener {secrets.token_hex(8)}"
        await self._until_known(*uris)
        try:
            for uri in uris:
                with suppress(MCPError):  # a server without subscriptions must not end the stream of the others
                    await self._begin(uri, listener)
            return await self._listen(ctx, params)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_FORGET_SECONDS):
                await self.forget(listener)

    async def forget(self, client: str) -> None:
        """End the subscriptions of a client, or a stream of one, that is gone."""
        for uri in [uri for uri, watching in self._gateway.subscribers.items() if client in watching]:
            with suppress(MCPError):
                await self._end(uri, client)

    async def _begin(self, uri: str, client: str) -> None:
        """Subscribe a client, or a stream of one, to a resource."""
        places = self._gateway.merged.resources.places_of(uri)
        if not places:
            raise _no_resource(uri)
        with unavailable_as_mcp_error():
            await self._gateway.upstream_of(places[0].server).subscribe(places[0].name)
        self._gateway.subscribers.setdefault(uri, set()).add(client)

    async def _end(self, uri: str, client: str) -> None:
        """Unsubscribe a client; the last one ends the subscription at the server."""
        watching = self._gateway.subscribers.get(uri, set())
        watching.discard(client)
        if watching:
            return
        self._gateway.subscribers.pop(uri, None)
        with unavailable_as_mcp_error():
            for place in self._gateway.merged.resources.places_of(uri)[:1]:
                await self._gateway.upstream_of(place.server).unsubscribe(place.name)

    async def _until_known(self, *uris: str) -> None:
        """Wait for the servers of resources that no server is known to have.

        Two servers may have one URI, and the first in the configuration is meant, whichever starts faster.
        """
        await self._gateway.first_lists.wait()
        await self._gateway.first_lists.wait_until(lambda: all(uri in self._gateway.merged.resources for uri in uris))


class PromptHandlers:
    """Lists the prompts of all servers, and forwards requests to the server of each."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """Answer `prompts/list`."""
        refuse_cursor(params)
        self._gateway.remember_client(ctx)
        await self._gateway.first_lists.wait()
        return types.ListPromptsResult(prompts=list(self._gateway.merged.prompts.values()), cache_scope="private")

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Raw | types.Result:
        """Answer `prompts/get`."""
        await self._gateway.until_known(params.name, lambda: params.name in self._gateway.merged.prompt_places)
        place = self._gateway.merged.prompt_places.get(params.name)
        if place is None:
            raise MCPError(types.INVALID_PARAMS, f"No server has the prompt {params.name!r}.")
        request = types.GetPromptRequest(
            params=types.GetPromptRequestParams(
                name=place.name,
                arguments=params.arguments,
                input_responses=params.input_responses,
                request_state=params.request_state,
                _meta=passed_on(ctx),
            )
        )
        with unavailable_as_mcp_error():
            upstream = self._gateway.upstream_of(place.server)
            result = await self._gateway.forwarder.forward(ctx, upstream, request)
        resources = self._gateway.merged.resources
        return resources.with_shown_uris(place.server, result) if isinstance(result, dict) else result

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> Raw | types.Result:
        """Answer `completion/complete` for a prompt or a resource template."""
        ref = params.ref
        if isinstance(ref, types.PromptReference):
            shown = ref.name
            await self._gateway.until_known(shown, lambda: self._place_of(ref) is not None)
        else:
            shown = str(ref.uri)
            await self._gateway.first_lists.wait_until(lambda: self._place_of(ref) is not None)
        place = self._place_of(ref)
        if place is None:
            raise MCPError(types.INVALID_PARAMS, f"No server has the prompt or resource template {shown!r}.")
        if isinstance(ref, types.PromptReference):
            ref = ref.model_copy(update={"name": place.name})
        else:
            ref = ref.model_copy(update={"uri": place.name})
        request = types.CompleteRequest(params=params.model_copy(update={"ref": ref, "meta": passed_on(ctx)}))
        with unavailable_as_mcp_error():
            return await self._gateway.forwarder.forward(ctx, self._gateway.upstream_of(place.server), request)

    def _place_of(self, ref: types.PromptReference | types.ResourceTemplateReference) -> Origin | None:
        merged = self._gateway.merged
        if isinstance(ref, types.PromptReference):
            return merged.prompt_places.get(ref.name)
        return merged.resources.template_place(str(ref.uri))


def _no_resource(uri: str) -> MCPError:
    """The error for a resource that no server has."""
    return MCPError(types.INVALID_PARAMS, f"No server has the resource {uri!r}.", data={"uri": uri})
