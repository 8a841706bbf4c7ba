"""Handlers of `resources/*` and `subscriptions/listen`."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.subscriptions import ListenHandler

from ...errors import ServerUnavailableError
from ..bridge.callers import client_key
from ..bridge.meta import passed_on
from ..bridge.parked import Raw
from ..gateway import Gateway
from ._support import Context, raw_meta, refuse_cursor
from ._watching import Watching, no_resource

__all__ = ["ResourceHandlers"]

_FORGET_SECONDS = 10.0


class ResourceHandlers:
    """Lists the resources of all servers, and forwards reads and subscriptions to the server of each."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._watching = Watching(gateway)
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
        meta = passed_on(raw_meta(ctx))
        refused: MCPError | None = None
        resources = self._gateway.merged.resources
        for place in resources.places_of(uri):

            def make(
                responses: types.InputResponses | None, state: str | None, own_uri: str = place.name
            ) -> types.ClientRequest:
                return types.ReadResourceRequest(
                    params=types.ReadResourceRequestParams(
                        uri=own_uri, input_responses=responses, request_state=state, _meta=meta
                    )
                )

            try:
                result = await self._gateway.forwarder.forward(
                    ctx,
                    self._gateway.upstream_of(place.server),
                    make,
                    responses=params.input_responses,
                    state=params.request_state,
                )
                return resources.with_shown_uris(place.server, result) if isinstance(result, dict) else result
            except MCPError as error:
                refused = refused or error
            except ServerUnavailableError as error:
                refused = refused or MCPError(types.INTERNAL_ERROR, str(error))
        raise refused or no_resource(uri)

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Answer `resources/subscribe`."""
        self._gateway.remember_client(ctx)
        await self._until_known(str(params.uri))
        await self._watching.begin(str(params.uri), client_key(ctx))
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Answer `resources/unsubscribe`."""
        await self._watching.end(str(params.uri), client_key(ctx))
        return types.EmptyResult()

    async def listen(self, ctx: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        """Answer `subscriptions/listen`; its resources are subscribed to as long as the stream is open."""
        uris = [str(uri) for uri in params.notifications.resource_subscriptions or ()]
        listener = f"listener {secrets.token_hex(8)}"
        await self._until_known(*uris)
        try:
            for uri in uris:
                with suppress(MCPError):  # a server without subscriptions must not end the stream of the others
                    await self._watching.begin(uri, listener)
            return await self._listen(ctx, params)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_FORGET_SECONDS):
                await self._watching.forget(listener)

    async def forget(self, client: str) -> None:
        """End the subscriptions of a client that is gone."""
        await self._watching.forget(client)

    async def _until_known(self, *uris: str) -> None:
        """Wait for the servers of resources that no server is known to have.

        Two servers may have one URI, and the first in the configuration is meant, whichever starts faster.
        """
        await self._gateway.first_lists.wait()
        await self._gateway.first_lists.wait_until(lambda: all(uri in self._gateway.merged.resources for uri in uris))
