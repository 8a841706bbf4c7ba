"""The two ways to Slack: its Web API, with rate limits and retries, and Socket Mode by slack-bolt."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ...common.json import as_object
from ...errors import MissingExtra, SlackError
from ...web.redact import redacted

try:
    import aiohttp
    from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
    from slack_bolt.app.async_app import AsyncApp
    from slack_bolt.authorization import AuthorizeResult
    from slack_sdk.errors import SlackApiError
    from slack_sdk.web.async_client import AsyncWebClient
except ImportError as error:
    raise MissingExtra("slack-bolt", "slack") from error

SLACK_URL = "https://slack.com/api/"

# Slack takes JSON only for methods that write.
_READS = frozenset({"auth.test", "conversations.replies", "users.info"})
_TROUBLE_AT_SLACK = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
_TRIES = 3
_LONGEST_SAID = 300
_LONGEST_WAIT = 2 * 24 * 60 * 60.0
_FIRST_PAUSE = 0.5


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The identity of the bot."""

    user_id: str
    bot_id: str
    name: str
    team: str
    team_id: str


class SlackAPI:
    """Slack's Web API with one bot token.

    A rate-limited method is not called again before its time, by any caller: Slack counts per app. Other failures are
    retried, except that a message is never posted twice.

    Args:
        token: The bot token.
        base_url: Another address of the API, for tests and proxies.
        patience: The most seconds that a call waits for rate limits.
        secrets: Further texts that errors must not contain, besides the token.
    """

    def __init__(
        self, token: str, *, base_url: str | None = None, patience: float = 120.0, secrets: Sequence[str] = ()
    ) -> None:
        self._secrets = (token, *secrets)
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30))
        base_url = base_url or SLACK_URL
        # By default, the SDK posts a message again after a lost connection.
        self.client = AsyncWebClient(token=token, base_url=base_url, session=self._session, retry_handlers=[])
        self.client.proxy = proxy_for(base_url)
        self._untyped: Any = self.client  # the SDK's methods are only partly typed
        self._patience = patience
        self._resume_at: dict[str, float] = {}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._session.close()

    def wait_of(self, method: str) -> float:
        """Seconds until `method` may be called again; 0 if it is not rate-limited."""
        return max(0.0, self._resume_at.get(method, 0.0) - time.monotonic())

    async def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """The response of Slack, after waits and retries.

        Raises:
            SlackError: Slack refused, or cannot be reached.
        """
        deadline = time.monotonic() + self._patience
        tries = 0
        while True:
            wait = self.wait_of(method)
            if time.monotonic() + wait > deadline:
                raise SlackError(method, "ratelimited", detail=f"asks to wait {_readable(wait)}")
            if wait:
                await asyncio.sleep(wait)
            try:
                return await self.attempt(method, **arguments)
            except SlackError as error:
                if error.code == "ratelimited":
                    continue
                tries += 1
                if tries >= _TRIES or not _is_retryable(error):
                    raise
            await asyncio.sleep(_FIRST_PAUSE * 2 ** (tries - 1))

    async def attempt(self, method: str, **arguments: Any) -> dict[str, Any]:
        """The response of Slack to a single attempt.

        Raises:
            SlackError: Slack refused, also because of its limits, or cannot be reached.
        """
        try:
            match method:
                case "apps.connections.open":
                    answer = await self._untyped.apps_connections_open(**arguments)
                case _ if method in _READS:
                    answer = await self._untyped.api_call(method, http_verb="GET", params=arguments)
                case _:
                    answer = await self._untyped.api_call(method, json=arguments)
        except SlackApiError as error:
            raise self._refusal(method, error) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            # Without a connection nothing was sent, so even a post may be retried.
            unsent = isinstance(error, aiohttp.ClientConnectorError)
            code = "unreachable" if unsent else "connection_lost"
            raise SlackError(method, code, detail=self._clean(str(error)) or type(error).__name__) from error
        return answer.data

    def _refusal(self, method: str, error: SlackApiError) -> SlackError:
        response: Any = error.response  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        status = int(getattr(response, "status_code", None) or getattr(response, "status", 0))
        body: object = getattr(response, "data", None)
        fields = as_object(body)
        if status == 429 or fields.get("error") == "ratelimited":
            self._resume_at[method] = time.monotonic() + _retry_after(response.headers)
            return SlackError(method, "ratelimited")
        code = self._clean(str(fields.get("error") or f"http_{status}"))
        return SlackError(method, code, self._clean(str(fields.get("needed") or "")))

    def _clean(self, text: str) -> str:
        """The message of a server in one short line, without our tokens, which it may repeat."""
        return " ".join(redacted(text, self._secrets).split())[:_LONGEST_SAID]


def proxy_for(url: str) -> str | None:
    """The proxy of the environment for `url`; the Slack SDK does not read NO_PROXY."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if proxy_bypass(host):
        return None
    return getproxies().get("https" if parts.scheme in ("https", "wss") else "http")


def _is_retryable(error: SlackError) -> bool:
    if error.code == "unreachable":
        return True
    in_trouble = error.code in _TROUBLE_AT_SLACK or error.code.startswith("http_5") or error.code == "connection_lost"
    return in_trouble and error.method != "chat.postMessage"


def _retry_after(headers: Any) -> float:
    try:
        seconds = float(headers.get("Retry-After", "1"))
    except ValueError:
        return 1.0
    return max(0.0, seconds) if math.isfinite(seconds) else 1.0


def _readable(seconds: float) -> str:
    """A wait in a readable unit; Slack never means more than two days."""
    if seconds > _LONGEST_WAIT:
        return "for days"
    for unit, name in ((3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


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
        socket: Any = self._handler.client  # the SDK's attributes are only partly typed
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
            socket: Any = handler.client
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

        untyped: Any = app
        untyped.event(re.compile(".*"))(on_event)
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
