"""Resource subscriptions and change notifications of one server, for every revision of the protocol.

Up to 2025-11-25 each resource is subscribed to by a request; since 2026-07-28 one stream carries all changes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client import Client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.subscriptions import ResourceUpdated

__all__ = ["Subscriptions"]

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0


class Subscriptions:
    """The resources of a server that clients are subscribed to; they outlive a single connection.

    Args:
        on_updated: Called with the URI of a resource that changed.
        on_list_changed: Called when the server lists something else.
    """

    def __init__(self, on_updated: Callable[[str], None], on_list_changed: Callable[[], None]) -> None:
        self._uris: set[str] = set()
        self._changed = anyio.Event()
        self._on_updated = on_updated
        self._on_list_changed = on_list_changed

    def __len__(self) -> int:
        return len(self._uris)

    async def add(self, client: Client, uri: str) -> None:
        """Subscribe to a resource."""
        if _is_modern(client):
            self._uris.add(uri)
            self._changed.set()
        else:
            await _subscribe(client, uri)
            self._uris.add(uri)

    async def remove(self, client: Client | None, uri: str) -> None:
        """End the subscription to a resource."""
        if uri not in self._uris:
            return
        self._uris.discard(uri)
        if client is None:
            return
        if _is_modern(client):
            self._changed.set()
            return
        request = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
        with suppress(MCPError):
            await client.session.send_request(request, types.EmptyResult)

    async def restore(self, client: Client) -> None:
        """Subscribe again after a reconnection."""
        for uri in () if _is_modern(client) else sorted(self._uris):
            with suppress(MCPError):
                await _subscribe(client, uri)

    async def listen(self, client: Client) -> None:
        """Receive changes from a server since 2026-07-28; return at once for one before, which sends notifications."""
        pause = _FIRST_PAUSE
        while True:
            try:
                self._changed = anyio.Event()
                async with client.listen(
                    tools_list_changed=True,
                    prompts_list_changed=True,
                    resources_list_changed=True,
                    resource_subscriptions=sorted(self._uris),
                ) as changes:
                    pause = _FIRST_PAUSE
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(_cancel_when, self._changed, tasks.cancel_scope)
                        async for event in changes:
                            if isinstance(event, ResourceUpdated):
                                self._on_updated(str(event.uri))
                            else:
                                self._on_list_changed()
                        tasks.cancel_scope.cancel()
                if self._changed.is_set():
                    continue
            except (ListenNotSupportedError, MCPError):
                return
            except SubscriptionLost:
                self._on_list_changed()
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _is_modern(client: Client) -> bool:
    return client.session.discover_result is not None


async def _subscribe(client: Client, uri: str) -> None:
    request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
    await client.session.send_request(request, types.EmptyResult)


async def _cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
