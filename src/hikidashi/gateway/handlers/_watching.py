"""Resource subscriptions: one at the server for all clients that subscribe."""

from __future__ import annotations

from contextlib import suppress

import mcp_types as types
from mcp import MCPError

from ...errors import ServerUnavailableError
from ..gateway import Gateway

__all__ = ["Watching", "no_resource"]


class Watching:
    """Subscribes to resources at the servers of `gateway` on behalf of clients."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def begin(self, uri: str, client: str) -> None:
        """Subscribe a client, or a stream of one, to a resource.

        Raises:
            MCPError: no server has the resource, or its server refuses.
        """
        places = self._gateway.merged.resources.places_of(uri)
        if not places:
            raise no_resource(uri)
        try:
            await self._gateway.upstream_of(places[0].server).subscribe(places[0].name)
        except ServerUnavailableError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error
        self._gateway.subscribers.setdefault(uri, set()).add(client)

    async def end(self, uri: str, client: str) -> None:
        """Unsubscribe a client; the last one ends the subscription at the server."""
        watching = self._gateway.subscribers.get(uri, set())
        watching.discard(client)
        if watching:
            return
        self._gateway.subscribers.pop(uri, None)
        try:
            for place in self._gateway.merged.resources.places_of(uri)[:1]:
                await self._gateway.upstream_of(place.server).unsubscribe(place.name)
        except ServerUnavailableError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error

    async def forget(self, client: str) -> None:
        """Unsubscribe a client that is gone from everything."""
        for uri in [uri for uri, watching in self._gateway.subscribers.items() if client in watching]:
            with suppress(MCPError):
                await self.end(uri, client)


def no_resource(uri: str) -> MCPError:
    """The error for a resource that no server has."""
    return MCPError(types.INVALID_PARAMS, f"No server has the resource {uri!r}.", data={"uri": uri})
