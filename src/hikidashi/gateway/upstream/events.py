"""What a server sends by itself: requests, notifications, and changes of what is subscribed to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types.methods import parse_server_notification

from ...servers.revisions import is_modern_server

if TYPE_CHECKING:
    from ..gateway import Gateway
    from .upstream import Upstream

logger = logging.getLogger("hikidashi.gateway")


class ServerCallbacks:
    """Callbacks of `mcp.Client` for one server.

    Args:
        upstream: The server.
        events: Receives what the server sends.
        on_list_changed: Called when the server lists something else.
    """

    def __init__(self, upstream: Upstream, events: Gateway, on_list_changed: Callable[[], None]) -> None:
        self._upstream = upstream
        self._events = events
        self._on_list_changed = on_list_changed

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for `mcp.Client`. All capabilities are declared: the gateway asks the client of a call."""
        return {
            "elicitation_callback": self._elicit,
            "sampling_callback": self._sample,
            "sampling_capabilities": types.SamplingCapability(
                tools=types.SamplingToolsCapability(), context=types.SamplingContextCapability()
            ),
            "list_roots_callback": self._list_roots,
            "logging_callback": self._log,
        }

    async def on_notification(self, method: str, params: dict[str, Any] | None) -> None:
        """Handle a notification in the response to a call that was sent without the session."""
        try:
            notification = parse_server_notification(method, self._upstream.state.protocol, params)
        except (KeyError, ValueError) as error:
            logger.debug("dropped %r of %r: %s", method, self._upstream.name, error)
            return
        if isinstance(notification, types.LoggingMessageNotification):
            await self._log(notification.params)
        else:
            await self.on_message(notification)

    async def on_message(self, message: object) -> None:
        """Handle a notification."""
        match message:
            case (
                types.ToolListChangedNotification()
                | types.PromptListChangedNotification()
                | types.ResourceListChangedNotification()
            ):
                self._on_list_changed()
            case types.ResourceUpdatedNotification(params=params):
                self._events.resource_updated(self._upstream, str(params.uri))
            case _:
                return

    async def _elicit(self, _: ClientRequestContext, params: types.ElicitRequestParams) -> Any:
        return await self._events.ask(self._upstream, types.ElicitRequest(params=params))

    async def _sample(self, _: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        return await self._events.ask(self._upstream, types.CreateMessageRequest(params=params))

    async def _list_roots(self, _: ClientRequestContext) -> Any:
        return await self._events.ask(self._upstream, types.ListRootsRequest())

    async def _log(self, params: types.LoggingMessageNotificationParams) -> None:
        await self._events.log(self._upstream, params)


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
        if is_modern_server(client):
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
        if is_modern_server(client):
            self._changed.set()
            return
        request = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
        with suppress(MCPError):
            await client.session.send_request(request, types.EmptyResult)

    async def restore(self, client: Client) -> None:
        """Subscribe again after a reconnection."""
        for uri in () if is_modern_server(client) else sorted(self._uris):
            with suppress(MCPError):
                await _subscribe(client, uri)

    async def listen(self, client: Client) -> None:
        """Receive changes from a modern server; return at once for an older one, which sends notifications."""
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


async def _subscribe(client: Client, uri: str) -> None:
    request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
    await client.session.send_request(request, types.EmptyResult)


async def _cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


_MOST = 1_000


class Reports:
    """The notifications that are being passed on."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def room(self) -> None:
        """Wait while very many are on their way: a server that floods is read no faster than its client reads."""
        while len(self._tasks) >= _MOST:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def start(self, passing: Coroutine[Any, Any, None]) -> None:
        """Pass one on; if that fails, it is logged."""
        task = asyncio.create_task(_logged(passing))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """Drop those that have not arrived."""
        for task in self._tasks:
            task.cancel()


async def _logged(passing: Coroutine[Any, Any, None]) -> None:
    try:
        await passing
    except Exception:
        logger.exception("a notification of a server was not passed on")


def progress_in(params: Mapping[str, Any]) -> tuple[float, float | None, str | None] | None:
    """The progress, total and message of a progress notification; None if it is malformed."""
    progress, total, message = _number(params.get("progress")), _number(params.get("total")), params.get("message")
    if progress is None:
        return None
    return progress, total, message if isinstance(message, str) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
