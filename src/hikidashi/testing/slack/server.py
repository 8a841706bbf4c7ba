"""`SlackServer`: Slack's Web API and Socket Mode on loopback, and a workspace for assertions."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, cast
from urllib.parse import parse_qsl

from ...common.loopback import Exchange, LoopbackServer
from ._methods import ALL_SCOPES, Bot, Refusal, methods_of
from ._socket import Delivery, DisconnectReason, SocketMode
from .state import SlackMessage, Workspace

__all__ = ["SlackCall", "SlackServer"]

_CHANNELS = {"C0GENERAL": "general", "D0HANAKO": "Hanako", "D0TARO": "Taro"}
_USERS = {"U0HANAKO": "Hanako", "U0TARO": "Taro"}
_APP_ID = "A0LOOP"


@dataclass(frozen=True, kw_only=True)
class SlackCall:
    """One call of the Web API."""

    method: str
    arguments: dict[str, Any]
    error: str | None
    """Slack's code where the call was refused."""


class SlackServer(LoopbackServer):
    """A Slack workspace with one app in it, for `slack-bolt` and `slack-sdk` with `base_url=server.api_url`.

        with SlackServer() as slack:
            ...  # start the bot with slack.api_url, slack.bot_token, slack.app_token
            question = slack.say("C0GENERAL", "U0HANAKO", f"{slack.mention} Anybody there?")
            assert slack.wait_for(lambda: len(slack.thread("C0GENERAL", question.ts)) == 2)

    `say` posts a message of a person; `thread` and `messages` return what the workspace shows. Calls with a wrong
    token, a missing scope or an unknown message are refused as Slack refuses them.

    Args:
        channels: Name of each channel by id; ids of direct messages begin with D.
        users: Name of each person by id.
        scopes: The scopes of the bot token.
        events: The events that the app subscribes to.
    """

    def __init__(
        self,
        *,
        channels: Mapping[str, str] = _CHANNELS,
        users: Mapping[str, str] = _USERS,
        scopes: frozenset[str] = ALL_SCOPES,
        events: frozenset[str] = frozenset({"app_mention", "message.im"}),
        bot_token: str = "xoxb-test",
        app_token: str = "xapp-test",
    ) -> None:
        super().__init__()
        self.bot_token = bot_token
        self.app_token = app_token
        self.bot = Bot(scopes=scopes)
        self.events = events
        self._workspace = Workspace(channels, users)
        self._socket: SocketMode | None = None
        self._lock = threading.Lock()
        self._calls: list[SlackCall] = []
        self._too_early: list[SlackCall] = []
        self._planned: dict[str, list[_Plan]] = {}
        self._limited_until: dict[str, float] = {}
        self._held = 0
        self._event_ids = itertools.count(1)
        self._methods = methods_of(self._workspace, self.bot, posted=self._bot_posted, edited=self._bot_edited)

    # Where a client finds it.

    @property
    def api_url(self) -> str:
        """The base URL for clients, such as `http://127.0.0.1:49152/api/`."""
        return f"{self.url}/api/"

    @property
    def mention(self) -> str:
        """How a message mentions the bot."""
        return f"<@{self.bot.user_id}>"

    @property
    def socket(self) -> SocketMode:
        """The websockets of the app."""
        if self._socket is None:
            raise RuntimeError("SlackServer is not running. Use it in a `with` block, or call `start()`.")
        return self._socket

    def start(self) -> Self:
        """Start to listen; returns the server itself."""
        if self._socket is None:
            self._socket = SocketMode(app_id=_APP_ID, on_change=self._workspace.notify)
            self._socket.start()
        return super().start()

    def close(self) -> None:
        """Close every connection, and stop listening; the messages stay."""
        super().close()
        if self._socket is not None:
            self._socket.stop()
            self._socket = None

    # Actions of people.

    def say(
        self, channel: str, user: str, text: str, *, thread_ts: str | None = None, bot_id: str | None = None
    ) -> SlackMessage:
        """Post a message of a person, or of another bot with `bot_id`; the app gets the events it subscribed to."""
        message = self._workspace.post(channel, user, text, thread_ts=thread_ts, bot_id=bot_id)
        self._tell_app(message)
        return message

    def edit(self, message: SlackMessage, text: str) -> SlackMessage:
        """Change the text of `message`, as its author."""
        changed = self._workspace.edit(message, text)
        self._tell_app_of_edit(message, changed)
        return changed

    def delete(self, message: SlackMessage) -> None:
        """Delete `message`."""
        self._workspace.delete(message)

    def join(self, channel: str, user: str) -> SlackMessage:
        """Add a person to the channel, which Slack reports as a message."""
        text = f"<@{user}> has joined the channel"
        message = self._workspace.post(channel, user, text, subtype="channel_join")
        self._tell_app(message)
        return message

    def emit(self, event: Mapping[str, Any]) -> Delivery:
        """Send any event to the app."""
        number = next(self._event_ids)
        payload = {
            "token": "unused",
            "team_id": self.bot.team_id,
            "api_app_id": _APP_ID,
            "event": dict(event),
            "type": "event_callback",
            "event_id": f"Ev{number:08}",
            "event_time": int(time.time()),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": self.bot.team_id,
                    "user_id": self.bot.user_id,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
        }
        return self.socket.deliver(payload)

    def deliver_again(self, delivery: Delivery, *, reason: str = "timeout") -> Delivery:
        """Send the same event again, as Slack does without an acknowledgement."""
        return self.socket.deliver(delivery.payload, retry_attempt=delivery.retry_attempt + 1, retry_reason=reason)

    # The workspace.

    def messages(self, channel: str) -> list[SlackMessage]:
        """Every message of the channel, those in threads included, oldest first."""
        return self._workspace.in_channel(channel)

    def thread(self, channel: str, ts: str) -> list[SlackMessage]:
        """The message `ts` and its replies, oldest first."""
        return self._workspace.thread(channel, ts)

    def ever_reacted(self, message: SlackMessage) -> list[str]:
        """All reactions `message` ever had, including removed ones."""
        return [
            name for channel, ts, name in self._workspace.ever_reacted if (channel, ts) == (message.channel, message.ts)
        ]

    def wait_for(self, condition: Callable[[], object], seconds: float = 20.0) -> bool:
        """Whether `condition` came true within `seconds`; blocks, and looks again after each change."""
        return self._workspace.wait(condition, seconds)

    async def until(self, condition: Callable[[], object], seconds: float = 20.0) -> None:
        """Return when `condition` is true.

        Raises:
            TimeoutError: It did not come true within `seconds`.
        """
        if not await asyncio.to_thread(self.wait_for, condition, seconds):
            texts = {channel: [one.history for one in self.messages(channel)] for channel in self._workspace.channels}
            raise TimeoutError(
                f"The condition was not met within {seconds:g} s. Messages: {texts}. Calls: {self.calls}"
            )

    # Calls of the app.

    @property
    def calls(self) -> list[SlackCall]:
        """Every call of the Web API, oldest first."""
        with self._lock:
            return list(self._calls)

    @property
    def too_early(self) -> list[SlackCall]:
        """The calls that came before the `Retry-After` of an earlier refusal was over."""
        with self._lock:
            return list(self._too_early)

    def calls_of(self, method: str) -> list[SlackCall]:
        """The calls of one method, oldest first."""
        return [call for call in self.calls if call.method == method]

    # Failures.

    def refuse(self, method: str, error: str, *, times: int = 1, **fields: Any) -> None:
        """The next calls of `method` are refused with Slack's code `error`."""
        self._plan(method, _Plan(200, json.dumps({"ok": False, "error": error, **fields}).encode(), error), times)

    def pretend(self, method: str, **answer: Any) -> None:
        """The next call of `method` has no effect, and this answer."""
        self._plan(method, _Plan(200, json.dumps({"ok": True, **answer}).encode(), None), 1)

    def limit(self, method: str, *, retry_after: int = 1, times: int = 1) -> None:
        """The next calls of `method` are rate limited: HTTP 429, and none is taken before `retry_after` is over."""
        body = json.dumps({"ok": False, "error": "ratelimited"}).encode()
        self._plan(method, _Plan(429, body, "ratelimited", retry_after=retry_after), times)

    def break_down(self, method: str, *, status: int = 503, times: int = 1) -> None:
        """The next calls of `method` end with an HTTP error that is not Slack's JSON."""
        self._plan(method, _Plan(status, b"<html>down</html>", f"http_{status}", content_type="text/html"), times)

    def hold(self, method: str, released: threading.Event) -> None:
        """The next call of `method` is answered once `released` is set."""
        self._plan(method, _Plan(0, b"", None, released=released), 1)

    @property
    def held(self) -> int:
        """How many calls wait to be released."""
        with self._lock:
            return self._held

    def ask_to_leave(self, reason: DisconnectReason = "refresh_requested") -> None:
        """Announce the end of the app's websocket, as Slack does every few hours."""
        self.socket.ask_to_leave(reason)

    def handle(self, exchange: Exchange) -> None:
        """Answer one call of the Web API."""
        method = exchange.path.removeprefix("/api/").strip("/")
        arguments = _arguments(exchange)
        plan = self._next_plan(method)
        if plan is not None and plan.released is not None:
            with self._lock:
                self._held += 1
            self._workspace.notify()
            while not plan.released.is_set():
                exchange.wait(0.01)
            with self._lock:
                self._held -= 1
            plan = None
        if plan is None:
            body = self._answer(method, exchange.headers, arguments)
            plan = _Plan(200, json.dumps(body, ensure_ascii=False).encode(), body.get("error"))
        call = SlackCall(method=method, arguments=arguments, error=plan.error)
        with self._lock:
            self._calls.append(call)
            if plan.early:
                self._too_early.append(call)
        headers = {"content-type": plan.content_type}
        if plan.retry_after is not None:
            headers["retry-after"] = str(plan.retry_after)
        exchange.answer(plan.status, plan.body, headers)
        self._workspace.notify()

    def _answer(self, method: str, headers: Mapping[str, str], arguments: dict[str, Any]) -> dict[str, Any]:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        try:
            if method == "apps.connections.open":
                self._check(token, self.app_token, self.bot_token)
                return {"ok": True, "url": self.socket.ticket()}
            if method not in self._methods:
                raise Refusal("unknown_method", req_method=method)
            self._check(token, self.bot_token, self.app_token)
            return {"ok": True, **self._methods[method](arguments)}
        except Refusal as refusal:
            return refusal.body

    def _check(self, token: str, expected: str, other: str) -> None:
        if not token:
            raise Refusal("not_authed")
        if token == other:
            raise Refusal("not_allowed_token_type")
        if token != expected:
            raise Refusal("invalid_auth")

    def _plan(self, method: str, plan: _Plan, times: int) -> None:
        with self._lock:
            self._planned.setdefault(method, []).extend([plan] * times)

    def _next_plan(self, method: str) -> _Plan | None:
        now = time.monotonic()
        with self._lock:
            wait = self._limited_until.get(method, 0.0) - now
            if wait > 0:
                body = json.dumps({"ok": False, "error": "ratelimited"}).encode()
                return _Plan(429, body, "ratelimited", retry_after=math.ceil(wait), early=True)
            planned = self._planned.get(method)
            plan = planned.pop(0) if planned else None
            if plan is not None and plan.retry_after is not None:
                self._limited_until[method] = now + plan.retry_after
            return plan

    def _bot_posted(self, message: SlackMessage) -> None:
        self._tell_app(message)

    def _bot_edited(self, before: SlackMessage, after: SlackMessage) -> None:
        self._tell_app_of_edit(before, after)

    def _tell_app(self, message: SlackMessage) -> None:
        event = {**message.wire(), "channel": message.channel, "event_ts": message.ts}
        kind = "im" if message.channel.startswith("D") else "channel"
        # Slack sends no app_mention for direct messages.
        if kind == "channel" and self.mention in message.text and "app_mention" in self.events:
            self.emit({**event, "type": "app_mention"})
        if ("message.im" if kind == "im" else "message.channels") in self.events:
            self.emit({**event, "channel_type": kind})

    def _tell_app_of_edit(self, before: SlackMessage, after: SlackMessage) -> None:
        kind = "im" if after.channel.startswith("D") else "channel"
        if ("message.im" if kind == "im" else "message.channels") in self.events:
            self.emit(
                {
                    "type": "message",
                    "subtype": "message_changed",
                    "hidden": True,
                    "channel": after.channel,
                    "channel_type": kind,
                    "ts": after.ts,
                    "message": after.wire(),
                    "previous_message": before.wire(),
                }
            )


@dataclass(frozen=True)
class _Plan:
    status: int
    body: bytes
    error: str | None
    retry_after: int | None = None
    content_type: str = "application/json; charset=utf-8"
    released: threading.Event | None = None
    early: bool = False


def _arguments(exchange: Exchange) -> dict[str, Any]:
    """Slack takes arguments from the query, a form or JSON alike."""
    arguments: dict[str, Any] = dict(parse_qsl(exchange.query))
    if exchange.headers.get("content-type", "").startswith("application/json"):
        parsed: object = json.loads(exchange.body or b"{}")
        return arguments | (cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {})
    return arguments | dict(parse_qsl(exchange.body.decode()))
