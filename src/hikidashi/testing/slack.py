"""`SlackServer`: Slack's Web API and Socket Mode on loopback, and a workspace for assertions."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import socket
import threading
import time
import uuid
from asyncio import run_coroutine_threadsafe
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..common.json import as_object
from ..errors import MissingExtra
from .server import ServerBlock
from .slack_workspace import ALL_SCOPES, Bot, Refusal, SlackMessage, WebAPI, Workspace

try:
    from aiohttp import web
except ImportError as error:
    raise MissingExtra("aiohttp", "slack") from error

_CHANNELS = {"C0GENERAL": "general", "D0HANAKO": "Hanako", "D0TARO": "Taro"}
_USERS = {"U0HANAKO": "Hanako", "U0TARO": "Taro"}
_APP_ID = "A0LOOP"
_HELD_LOOK_SECONDS = 0.01
_FAREWELL_SECONDS = 0.5

DisconnectReason = Literal["refresh_requested", "warning", "link_disabled", "too_many_websockets"]


@dataclass(frozen=True, kw_only=True)
class SlackCall:
    """One call of the Web API."""

    method: str
    arguments: dict[str, Any]
    error: str | None
    """Slack's code where the call was refused."""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One envelope that carried an event to the app."""

    envelope_id: str
    payload: dict[str, Any]
    retry_attempt: int = 0
    retry_reason: str = ""
    acknowledged: bool = False

    @property
    def event_id(self) -> str:
        """The event, the same in every retry."""
        return self.payload["event_id"]

    def wire(self) -> str:
        """The envelope as it is sent."""
        envelope = {
            "envelope_id": self.envelope_id,
            "payload": self.payload,
            "type": "events_api",
            "accepts_response_payload": False,
            "retry_attempt": self.retry_attempt,
            "retry_reason": self.retry_reason,
        }
        return json.dumps(envelope, ensure_ascii=False)


class SlackServer(ServerBlock):
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

    Raises:
        MissingExtra: aiohttp, which the extra `slack` brings, is not installed.
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
        self._workspace = Workspace(channels, users, mention=self.mention, events=events, emit=self.emit)
        self._api = WebAPI(self._workspace, self.bot)
        self._lock = threading.Lock()
        self._calls: list[SlackCall] = []
        self._too_early: list[SlackCall] = []
        self._planned: dict[str, list[_Plan]] = {}
        self._limited_until: dict[str, float] = {}
        self._held = 0
        self._event_ids = itertools.count(1)

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
        _ = self.url  # raises unless the server is running
        return self._socket

    def _open(self) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._socket = SocketMode(url, loop, self._workspace)
        self._thread = threading.Thread(target=self._run, args=(loop, listening, self._socket), daemon=True)
        self._thread.start()
        return url

    def _shut(self) -> None:
        self._socket.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self, loop: asyncio.AbstractEventLoop, listening: socket.socket, sockets: SocketMode) -> None:
        """The thread of the server, with a loop of its own."""
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._answer)
        app.router.add_get("/link/", sockets.serve)

        async def serve() -> None:
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=_FAREWELL_SECONDS)
            await runner.setup()
            await web.SockSite(runner, listening).start()
            await self._stop.wait()
            sockets.cut_all()
            await runner.cleanup()

        try:
            loop.run_until_complete(serve())
        finally:
            loop.close()

    # Actions of people.

    def say(
        self, channel: str, user: str, text: str, *, thread_ts: str | None = None, bot_id: str | None = None
    ) -> SlackMessage:
        """Post a message of a person, or of another bot with `bot_id`; the app gets the events it subscribed to."""
        return self._workspace.post(channel, user, text, thread_ts=thread_ts, bot_id=bot_id)

    def edit(self, message: SlackMessage, text: str) -> SlackMessage:
        """Change the text of `message`, as its author."""
        return self._workspace.edit(message, text)

    def delete(self, message: SlackMessage) -> None:
        """Delete `message`."""
        self._workspace.delete(message)

    def join(self, channel: str, user: str) -> SlackMessage:
        """Add a person to the channel, which Slack reports as a message."""
        return self._workspace.post(channel, user, f"<@{user}> has joined the channel", subtype="channel_join")

    def emit(self, event: Mapping[str, Any]) -> Delivery:
        """Send any event to the app."""
        authorization = {
            "enterprise_id": None,
            "team_id": self.bot.team_id,
            "user_id": self.bot.user_id,
            "is_bot": True,
            "is_enterprise_install": False,
        }
        payload = {
            "token": "unused",
            "team_id": self.bot.team_id,
            "api_app_id": _APP_ID,
            "event": dict(event),
            "type": "event_callback",
            "event_id": f"Ev{next(self._event_ids):08}",
            "event_time": int(time.time()),
            "authorizations": [authorization],
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
        self._plan(method, _Plan(200, json.dumps({"ok": False, "error": error, **fields}), error), times)

    def pretend(self, method: str, **answer: Any) -> None:
        """The next call of `method` has no effect, and this answer."""
        self._plan(method, _Plan(200, json.dumps({"ok": True, **answer}), None), 1)

    def limit(self, method: str, *, retry_after: int = 1, times: int = 1) -> None:
        """The next calls of `method` are rate limited: HTTP 429, and none is taken before `retry_after` is over."""
        self._plan(method, _limited(retry_after), times)

    def break_down(self, method: str, *, status: int = 503, times: int = 1) -> None:
        """The next calls of `method` end with an HTTP error that is not Slack's JSON."""
        self._plan(method, _Plan(status, "<html>down</html>", f"http_{status}", content_type="text/html"), times)

    def hold(self, method: str, released: threading.Event) -> None:
        """The next call of `method` is answered once `released` is set."""
        self._plan(method, _Plan(0, "", None, released=released), 1)

    @property
    def held(self) -> int:
        """How many calls wait to be released."""
        with self._lock:
            return self._held

    def ask_to_leave(self, reason: DisconnectReason = "refresh_requested") -> None:
        """Announce the end of the app's websocket, as Slack does every few hours."""
        self.socket.ask_to_leave(reason)

    def _plan(self, method: str, plan: _Plan, times: int) -> None:
        with self._lock:
            self._planned.setdefault(method, []).extend([plan] * times)

    def _next_plan(self, method: str) -> _Plan | None:
        now = time.monotonic()
        with self._lock:
            wait = self._limited_until.get(method, 0.0) - now
            if wait > 0:
                return replace(_limited(math.ceil(wait)), early=True)
            planned = self._planned.get(method)
            plan = planned.pop(0) if planned else None
            if plan is not None and plan.retry_after is not None:
                self._limited_until[method] = now + plan.retry_after
            return plan

    # The Web API.

    async def _answer(self, request: web.Request) -> web.Response:
        """Answer one call of the Web API."""
        method = request.match_info["method"]
        try:
            arguments = await _arguments(request)
            plan = self._next_plan(method)
            if plan is not None and plan.released is not None:
                await self._wait_for(plan.released)
                plan = None
            if plan is None:
                body = self._result(method, request.headers.get("authorization", ""), arguments)
                plan = _Plan(200, json.dumps(body, ensure_ascii=False), body.get("error"))
        except Exception as error:
            self.failures.append(error)
            raise
        call = SlackCall(method=method, arguments=arguments, error=plan.error)
        with self._lock:
            self._calls.append(call)
            if plan.early:
                self._too_early.append(call)
        self._workspace.notify()
        waits = {} if plan.retry_after is None else {"retry-after": str(plan.retry_after)}
        return web.Response(
            status=plan.status, text=plan.body, content_type=plan.content_type, charset="utf-8", headers=waits
        )

    async def _wait_for(self, released: threading.Event) -> None:
        with self._lock:
            self._held += 1
        self._workspace.notify()
        while not released.is_set():  # noqa: ASYNC110 - a thread sets it, and closing the server cancels this
            await asyncio.sleep(_HELD_LOOK_SECONDS)
        with self._lock:
            self._held -= 1

    def _result(self, method: str, authorization: str, arguments: dict[str, Any]) -> dict[str, Any]:
        token = authorization.removeprefix("Bearer ")
        try:
            if method == "apps.connections.open":
                _check(token, self.app_token, self.bot_token)
                return {"ok": True, "url": self.socket.ticket()}
            if method not in self._api:
                raise Refusal("unknown_method", req_method=method)
            _check(token, self.bot_token, self.app_token)
            return {"ok": True, **self._api.call(method, arguments)}
        except Refusal as refusal:
            return refusal.body


@dataclass(frozen=True)
class _Plan:
    """An answer that a test asked for."""

    status: int
    body: str
    error: str | None
    retry_after: int | None = None
    content_type: str = "application/json"
    released: threading.Event | None = None
    early: bool = False


def _limited(retry_after: int) -> _Plan:
    return _Plan(429, json.dumps({"ok": False, "error": "ratelimited"}), "ratelimited", retry_after=retry_after)


def _check(token: str, expected: str, other: str) -> None:
    if not token:
        raise Refusal("not_authed")
    if token == other:
        raise Refusal("not_allowed_token_type")
    if token != expected:
        raise Refusal("invalid_auth")


async def _arguments(request: web.Request) -> dict[str, Any]:
    """Slack takes arguments from the query, a form or JSON alike."""
    if request.content_type == "application/json":
        return {**request.query, **as_object(json.loads(await request.text() or "{}"))}
    return {**request.query, **await request.post()}


@dataclass(frozen=True, eq=False)
class _Link:
    """One client on its websocket."""

    websocket: web.WebSocketResponse
    transport: asyncio.Transport | None


class SocketMode:
    """The websockets of one app: tickets, hello, envelopes with their acknowledgements, retries, disconnects.

    An event goes to one of the connected clients, as with Slack, or waits for the next client. Events that were not
    acknowledged before their connection was lost are sent again.
    """

    def __init__(self, server_url: str, loop: asyncio.AbstractEventLoop, workspace: Workspace) -> None:
        self.server_url = server_url
        self.loop = loop
        self.opened = 0
        """How many connections there ever were."""
        self._workspace = workspace
        self._lock = threading.RLock()
        self._tickets: set[str] = set()
        self._links: list[_Link] = []
        self._waiting: list[Delivery] = []
        self._sent_over: dict[str, _Link] = {}
        self._deliveries: dict[str, Delivery] = {}

    @property
    def connected(self) -> int:
        """How many clients are connected now."""
        with self._lock:
            return len(self._links)

    @property
    def deliveries(self) -> list[Delivery]:
        """Every envelope that was sent, oldest first."""
        with self._lock:
            return list(self._deliveries.values())

    def ticket(self) -> str:
        """A websocket address for one connection."""
        ticket = uuid.uuid4().hex
        with self._lock:
            self._tickets.add(ticket)
        return f"{self.server_url.replace('http:', 'ws:')}/link/?ticket={ticket}&app_id={_APP_ID}"

    def deliver(self, payload: dict[str, Any], *, retry_attempt: int = 0, retry_reason: str = "") -> Delivery:
        """Send an event to the app, or keep it until the app is connected."""
        delivery = Delivery(
            envelope_id=str(uuid.uuid4()), payload=payload, retry_attempt=retry_attempt, retry_reason=retry_reason
        )
        with self._lock:
            self._send(delivery)
        return delivery

    def ask_to_leave(self, reason: DisconnectReason) -> None:
        """Announce the end of every connection, as Slack does every few hours."""
        for link in self._all():
            self._write(link, {"type": "disconnect", "reason": reason, "debug_info": {"host": "loopback"}})

    def close_all(self, code: int = 1001) -> None:
        """Close every connection with a close frame."""
        for link in self._all():
            run_coroutine_threadsafe(link.websocket.close(code=code), self.loop)

    def cut_all(self) -> None:
        """Close every connection without a close frame."""
        for link in self._all():
            if link.transport is not None:
                self.loop.call_soon_threadsafe(link.transport.abort)

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """One connection, from its ticket to its end."""
        websocket = web.WebSocketResponse()
        if websocket.can_prepare(request):
            self._use_up(request.query.get("ticket", ""))
        await websocket.prepare(request)
        link = _Link(websocket, request.transport)
        self._begin(link)
        try:
            async for message in websocket:
                self._acknowledge(as_object(json.loads(message.data)).get("envelope_id"))
        except ValueError:
            pass  # not JSON: such a client is cut off
        finally:
            self._end(link)
        return websocket

    def _all(self) -> list[_Link]:
        with self._lock:
            return list(self._links)

    def _use_up(self, ticket: str) -> None:
        with self._lock:
            if ticket not in self._tickets:
                raise web.HTTPForbidden
            self._tickets.remove(ticket)

    def _begin(self, link: _Link) -> None:
        with self._lock:
            self._links.append(link)
            self.opened += 1
            hello = {
                "type": "hello",
                "num_connections": len(self._links),
                "debug_info": {"host": "loopback", "approximate_connection_time": 18060},
                "connection_info": {"app_id": _APP_ID},
            }
            self._write(link, hello)
            waiting, self._waiting = self._waiting, []
            for delivery in waiting:
                self._send(delivery)
        self._workspace.notify()

    def _acknowledge(self, envelope: object) -> None:
        with self._lock:
            delivery = self._deliveries.get(str(envelope))
            if delivery is not None:
                self._deliveries[delivery.envelope_id] = replace(delivery, acknowledged=True)
        self._workspace.notify()

    def _end(self, link: _Link) -> None:
        with self._lock:
            self._links.remove(link)
            lost = [
                self._deliveries[envelope]
                for envelope, carrier in self._sent_over.items()
                if carrier is link and not self._deliveries[envelope].acknowledged
            ]
            for delivery in lost:
                del self._sent_over[delivery.envelope_id]
                attempt = delivery.retry_attempt + 1
                self.deliver(delivery.payload, retry_attempt=attempt, retry_reason="timeout")
        self._workspace.notify()

    def _send(self, delivery: Delivery) -> None:
        if not self._links:
            self._waiting.append(delivery)
            return
        link = self._links[-1]
        self._deliveries[delivery.envelope_id] = delivery
        self._sent_over[delivery.envelope_id] = link
        run_coroutine_threadsafe(link.websocket.send_str(delivery.wire()), self.loop)

    def _write(self, link: _Link, message: dict[str, Any]) -> None:
        run_coroutine_threadsafe(link.websocket.send_json(message), self.loop)
