"""The requests and notifications that a server sends, passed to the gateway."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from mcp.client import IncomingMessage
from mcp.client.session import ClientRequestContext
from mcp_types.methods import parse_server_notification

from .state import UpstreamEvents

if TYPE_CHECKING:
    from .upstream import Upstream

__all__ = ["ServerCallbacks"]

logger = logging.getLogger("hikidashi.gateway")


class ServerCallbacks:
    """Callbacks of `mcp.Client` for one server.

    Args:
        upstream: The server.
        events: Receives what the server sends.
        on_list_changed: Called when the server lists something else.
    """

    def __init__(self, upstream: Upstream, events: UpstreamEvents, on_list_changed: Callable[[], None]) -> None:
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
            await self.on_message(cast("IncomingMessage", notification))

    async def on_message(self, message: IncomingMessage) -> None:
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

    async def _elicit(
        self, _: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        answer = await self._events.ask(self._upstream, types.ElicitRequest(params=params))
        return cast("types.ElicitResult | types.ErrorData", answer)

    async def _sample(self, _: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        return await self._events.ask(self._upstream, types.CreateMessageRequest(params=params))

    async def _list_roots(self, _: ClientRequestContext) -> types.ListRootsResult | types.ErrorData:
        answer = await self._events.ask(self._upstream, types.ListRootsRequest())
        return cast("types.ListRootsResult | types.ErrorData", answer)

    async def _log(self, params: types.LoggingMessageNotificationParams) -> None:
        await self._events.log(self._upstream, params)
