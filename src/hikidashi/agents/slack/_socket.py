"""Socket Mode by slack-bolt, with a verified connection and a clean end."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from ...errors import MissingExtra, SlackError
from ._api import SlackAPI
from ._thread import Identity

try:
    from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
    from slack_bolt.app.async_app import AsyncApp
    from slack_bolt.authorization import AuthorizeResult
    from slack_sdk.web.async_client import AsyncWebClient
except ImportError as error:
    raise MissingExtra("slack-bolt", "slack") from error

__all__ = ["SlackSocket"]

_CONNECT_SECONDS = 30.0
_LOOKS_BEFORE_A_NEW_ADDRESS = 3


class SlackSocket:
    """Receives events from Slack.

    Args:
        api: Slack's Web API.
        app_token: Starts with `xapp-`.
        me: The identity of the bot, whose own messages are ignored.
        on_event: Called with the body of each event.
        ping_seconds: How often the connection is checked.
    """

    def __init__(
        self,
        api: SlackAPI,
        app_token: str,
        me: Identity,
        *,
        on_event: Callable[[dict[str, Any]], None],
        ping_seconds: float,
    ) -> None:
        self._api = api
        self._app_token = app_token
        self._me = me
        self._on_event = on_event
        self._ping_seconds = ping_seconds
        self._handler: AsyncSocketModeHandler | None = None
        self._watching: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Connect, and return after Slack's hello; lost connections are restored in the background.

        Raises:
            SlackError: The token is wrong, or Slack cannot be reached.
        """
        # The SDK retries a wrong token forever, so the first address is requested here.
        opened = await self._api.call("apps.connections.open", app_token=self._app_token)
        client = self._api.client
        self._handler = AsyncSocketModeHandler(
            self._app(client), self._app_token, web_client=client, ping_interval=self._ping_seconds
        )
        socket = cast("Any", self._handler.client)  # the SDK's attributes are only partly typed
        socket.wss_uri = opened["url"]
        socket.proxy = client.proxy
        greeted = asyncio.Event()

        async def on_message(_client: object, message: dict[str, Any], _raw: str | None) -> None:
            if message.get("type") == "hello":
                greeted.set()

        socket.message_listeners.append(on_message)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                await socket.connect()
                await greeted.wait()
        except TimeoutError as error:
            raise SlackError("apps.connections.open", "unreachable", detail="the websocket does not answer") from error
        self._watching = asyncio.create_task(self._renew_address(socket))

    async def aclose(self) -> None:
        """Disconnect; may be called twice."""
        watching, self._watching = self._watching, None
        handler, self._handler = self._handler, None
        if watching is not None:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        if handler is not None:
            socket = cast("Any", handler.client)
            await socket.close()
            # close() cancels its tasks without waiting for them.
            tasks = [socket.message_processor, socket.current_session_monitor, socket.message_receiver]
            await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)

    def _app(self, client: AsyncWebClient) -> AsyncApp:
        async def authorize() -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=None,
                team_id=self._me.team_id,
                bot_user_id=self._me.user_id,
                bot_id=self._me.bot_id,
                bot_token=client.token,
            )

        logger = logging.getLogger("hikidashi.slack.bolt")
        # bolt reads SLACK_BOT_TOKEN, SLACK_CLIENT_ID and others itself, and warns that they are unused.
        was_disabled, logger.disabled = logger.disabled, True
        try:
            app = AsyncApp(
                name=logger.name,  # bolt sets the level of the logger with the name of the app
                logger=logger,
                client=AsyncWebClient(base_url=client.base_url, session=client.session),
                authorize=authorize,
            )
        finally:
            logger.disabled = was_disabled

        async def on_event(body: dict[str, Any]) -> None:
            self._on_event(body)

        cast("Any", app).event(re.compile(".*"))(on_event)
        return app

    async def _renew_address(self, socket: Any) -> None:
        """Remove a used address from a disconnected client, which would retry it forever."""
        missed = 0
        while True:
            await asyncio.sleep(self._ping_seconds)
            missed = 0 if await socket.is_connected() else missed + 1
            if missed == _LOOKS_BEFORE_A_NEW_ADDRESS:
                socket.wss_uri = None
                missed = 0
