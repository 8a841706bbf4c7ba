"""One server behind the gateway: connected when it is needed, watched, restarted with backoff, stopped when idle."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, cast

from ...errors import MissingExtra, ServerUnavailableError
from ...search.mcp_servers.connection import Diagnostics, connected
from ...search.mcp_servers.references import EntryError
from ..options import GatewayServer
from ._memory import memory_of_group
from ._passwords import Passwords
from ._remedies import remedy_for
from .listing import Listing, list_everything
from .reaper import Reaper
from .stamping import reaches, stamping
from .state import ServerState, Status, UpstreamEvents
from .turn import Turn

try:
    import anyio
    import mcp_types as types
    from mcp import MCPError
    from mcp.client import Client, IncomingMessage
    from mcp.client.session import ClientRequestContext
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
    from mcp.shared.subscriptions import ResourceUpdated
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["Upstream"]

logger = logging.getLogger("hikidashi.gateway")

_GRACE = 2.0  # seconds that a process has to end by itself
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 60.0
_FAILURES_TO_OPEN = 3  # in a row, after which callers are refused until the pause is over
_CHECK_EVERY = 300.0
_MEMORY_EVERY = 5.0


class _Lost(Exception):  # noqa: N818 - it ends a connection, and says why
    """The connection is to be closed; `restart` if at once."""

    def __init__(self, reason: str, *, failed: bool = True, remedy: str = "") -> None:
        super().__init__(reason)
        self.failed = failed
        self.remedy = remedy


class Upstream:
    """A server behind the gateway.

    Args:
        given: How to reach it, and its limits.
        events: Told of changes, and asked when the server asks.
        reaper: Ends its process should the gateway be killed.
        listing: What it listed when it was last connected, if that is known.
    """

    def __init__(
        self, given: GatewayServer, events: UpstreamEvents, reaper: Reaper, listing: Listing | None = None
    ) -> None:
        self.given = given
        self.server = given.server
        """How it was last reached, with its passwords."""
        self._passwords = Passwords(given)
        self.listing = listing
        self.state = ServerState(given.name)
        self.listed = anyio.Event()
        """Set when it has listed what it has, or failed to."""
        if listing is not None:
            self.listed.set()
        self._events = events
        self._reaper = reaper
        self._client: Client | None = None
        self._wanted = anyio.Event()
        self._settled = anyio.Event()
        self._changed = anyio.Event()
        self._stopping = anyio.Event()
        self._limiter = anyio.CapacityLimiter(given.options.at_once)
        self._waiting = 0
        self._running = 0
        self._last_used = 0.0
        self._failures = 0
        self._retry_at = 0.0
        self._group: int | None = None
        self._subscribed: set[str] = set()
        self._resubscribe = anyio.Event()
        self._log_level: types.LoggingLevel | None = None
        if given.problem is not None:
            self.listed.set()
            reason, remedy = given.problem.reason, given.problem.remedy
            error = f"{reason}. {remedy}".strip()
            self.state = replace(self.state, status="failed", reason=reason, remedy=remedy, last_error=error)
        elif listing is None or not given.lazy:
            self._wanted.set()

    @property
    def name(self) -> str:
        """Its name."""
        return self.given.name

    @property
    def is_modern(self) -> bool:
        """Whether the connection speaks 2026-07-28 or later; False while there is none."""
        return self._client is not None and self._client.session.discover_result is not None

    # What the gateway does with it

    async def client(self) -> Client:
        """The connected client; the server is started if it is not running.

        Raises:
            ServerUnavailableError: it cannot be reached, or fails to start.
        """
        if self.given.problem is not None:
            raise ServerUnavailableError(self.name, self.given.problem.reason, self.given.problem.remedy)
        if self._client is None:
            if self._failures >= _FAILURES_TO_OPEN and (left := self._retry_at - anyio.current_time()) > 0:
                raise ServerUnavailableError(
                    self.name,
                    self.state.reason,
                    f"It is tried again in {math.ceil(left)} s. {self.state.remedy}".strip(),
                )
            self._waiting += 1
            try:
                self._wanted.set()
                await self._settled.wait()
            finally:
                self._waiting -= 1
        if self._client is None:
            raise ServerUnavailableError(self.name, self.state.reason, self.state.remedy)
        return self._client

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[tuple[Client, Turn]]:
        """The connected client for one request, and its place among the requests at once."""
        async with Turn(self._limiter) as turn:
            self._running += 1
            try:
                client = await self.client()
                self.state = replace(self.state, calls=self.state.calls + 1)
                yield client, turn
            except BaseException:
                self.state = replace(self.state, errors=self.state.errors + 1)
                raise
            finally:
                self._running -= 1
                self._last_used = anyio.current_time()

    async def subscribe(self, uri: str) -> None:
        """Hear of changes of a resource from now on, also after a restart."""
        client = await self.client()
        if self.is_modern:
            self._subscribed.add(uri)
            self._resubscribe.set()
        else:
            await _subscribe(client, uri)
            self._subscribed.add(uri)

    async def unsubscribe(self, uri: str) -> None:
        """Hear of changes of a resource no longer."""
        if uri not in self._subscribed:
            return
        self._subscribed.discard(uri)
        if self.is_modern:
            self._resubscribe.set()
        elif self._client is not None:
            request = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
            with suppress(MCPError):
                await self._client.session.send_request(request, types.EmptyResult)

    async def set_level(self, level: types.LoggingLevel) -> None:
        """Have the server send log messages from `level` on, or from below it if somebody else wants them."""
        if self._log_level is not None and reaches(level, self._log_level):
            return
        self._log_level = level
        if self._client is not None:
            await self._tell_level(self._client)

    async def _tell_level(self, client: Client) -> None:
        is_told = client.session.discover_result is None and client.server_capabilities.logging is not None
        if is_told and self._log_level is not None:  # a modern server is told by each request
            with suppress(MCPError):
                level = types.SetLevelRequestParams(level=self._log_level)
                await client.session.send_request(types.SetLevelRequest(params=level), types.EmptyResult)

    async def roots_changed(self) -> None:
        """Tell the server, where it runs and can be told, that the roots of a client have changed."""
        if self._client is not None and not self.is_modern:
            await self._client.session.send_notification(types.RootsListChangedNotification())

    def lose(self, client: Client, reason: str) -> None:
        """Close a connection that turned out to be dead; the next request opens another."""
        if self._client is client:
            self._client = None
            self._fail_with = _Lost(reason)
            self._stopping.set()

    def stop(self) -> None:
        """Close the connection for good."""
        self._set("stopped", "it was stopped")

    _fail_with: _Lost | None = None

    # Its life

    async def run(self) -> None:
        """Keep the server connected as long as it is wanted, until cancelled."""
        while True:
            await self._wanted.wait()
            if (pause := self._retry_at - anyio.current_time()) > 0:
                await anyio.sleep(pause)
            self._set("starting")
            self._stopping, self._fail_with = anyio.Event(), None
            ended: _Lost
            with Diagnostics(self.given.server) as diagnostics:
                try:
                    await self._connection(diagnostics)
                    ended = _Lost("it closed the connection")
                except EntryError as error:
                    ended = _Lost(f"it {error.reason}", remedy=error.remedy)
                except TimeoutError:
                    is_locked = self.given.needs_keyring and self.server is self.given.server
                    who = "the keyring gave no answer" if is_locked else "no answer"
                    remedy = "Unlock it, or raise `start_seconds`." if is_locked else ""
                    ended = _Lost(f"{who} within {self.given.options.start_seconds:g} s", remedy=remedy)
                except Exception as error:
                    ended = _lost_in(error) or _Lost(diagnostics.explain(error))
                if ended.failed and ended.args[0] == "it closed the connection":
                    ended = _Lost(diagnostics.explain(ended.args[0]))
            self._client = None
            self._after(ended)

    def _after(self, ended: _Lost) -> None:
        """Decide when to connect again."""
        was_ready = self.state.status == "ready"
        reason = str(ended)
        if ended.failed:
            self._failures = 1 if was_ready else self._failures + 1
            pause = min(_FIRST_PAUSE * 2 ** (self._failures - 1), _LONGEST_PAUSE)
            self._retry_at = anyio.current_time() + pause
            self.state = replace(self.state, restarts=self.state.restarts + 1)
            known = self.state.last_error
            self._set("failed", reason, ended.remedy or remedy_for(self.given, reason))
            if self.state.last_error != known:  # one that is tried again and again fills no log
                logger.warning("MCP server %r: %s", self.name, reason)
        else:
            self._set("waiting", reason)
        if was_ready and self._waiting:
            return  # who came while the connection ended waits for the next one
        if (self.given.lazy and self.listing is not None) or not ended.failed:
            self._wanted = anyio.Event()  # the next call wants it
        self.listed.set()
        settled, self._settled = self._settled, anyio.Event()
        settled.set()

    async def _connection(self, diagnostics: Diagnostics) -> None:
        options = self.given.options
        closed = anyio.Event()
        self.server = self.given.server
        with anyio.CancelScope(deadline=anyio.current_time() + options.start_seconds) as starting:
            try:
                self.server = diagnostics.server = await self._passwords.server()
                async with connected(
                    self.server,
                    diagnostics,
                    seconds=options.start_seconds,
                    grace=lambda: _GRACE,
                    on_message=self._on_message,
                    on_start=self._on_process,
                    on_end=closed.set,
                    wrap=stamping,
                    elicitation_callback=self._on_elicit,
                    sampling_callback=self._on_sample,
                    sampling_capabilities=types.SamplingCapability(
                        tools=types.SamplingToolsCapability(), context=types.SamplingContextCapability()
                    ),
                    list_roots_callback=self._on_roots,
                    logging_callback=self._on_log,
                ) as client:
                    listing = await list_everything(client)
                    await self._tell_again(client)
                    starting.deadline = math.inf
                    self._ready(client, listing)
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(self._listen, client)
                        tasks.start_soon(_raise_when, closed, "it closed the connection")
                        tasks.start_soon(self._until_stopped)
                        tasks.start_soon(self._until_idle)
                        tasks.start_soon(self._until_too_large)
                        await self._relist(client)
            finally:
                self._client = None
                if self._group is not None:
                    self._reaper.discard(self._group)
                    self._group = None
        if starting.cancelled_caught:
            raise TimeoutError

    async def _tell_again(self, client: Client) -> None:
        """Tell a server that was started again what it had been told."""
        await self._tell_level(client)
        for uri in sorted(self._subscribed) if client.session.discover_result is None else ():
            with suppress(MCPError):
                await _subscribe(client, uri)

    def _ready(self, client: Client, listing: Listing) -> None:
        self._client = client
        self._failures = 0
        self._last_used = anyio.current_time()
        self.state = replace(self.state, protocol=client.protocol_version)
        self._set("ready")
        self._publish(listing)
        self.listed.set()
        settled, self._settled = self._settled, anyio.Event()
        settled.set()

    def _publish(self, listing: Listing) -> None:
        before, self.listing = self.listing, listing
        if before is None or before.to_json() != listing.to_json():
            self._events.listing_changed(self)

    async def _relist(self, client: Client) -> None:
        """List anew whenever the server says so, and now and then."""
        while True:
            with anyio.move_on_after(_CHECK_EVERY):
                await self._changed.wait()
            self._changed = anyio.Event()
            with anyio.fail_after(self.given.options.start_seconds):
                self._publish(await list_everything(client))

    async def _listen(self, client: Client) -> None:
        pause = 1.0
        while True:
            try:
                self._resubscribe = anyio.Event()
                async with client.listen(
                    tools_list_changed=True,
                    prompts_list_changed=True,
                    resources_list_changed=True,
                    resource_subscriptions=sorted(self._subscribed),
                ) as changes:
                    pause = 1.0
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(_cancel_when, self._resubscribe, tasks.cancel_scope)
                        async for event in changes:
                            if isinstance(event, ResourceUpdated):
                                self._events.resource_updated(self, str(event.uri))
                            else:
                                self._changed.set()
                        tasks.cancel_scope.cancel()
                if self._resubscribe.is_set():
                    continue
            except (ListenNotSupportedError, MCPError):
                return  # it tells by notifications, or not at all
            except SubscriptionLost:
                self._changed.set()
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _until_stopped(self) -> None:
        await self._stopping.wait()
        raise self._fail_with or _Lost("it was stopped", failed=False)

    async def _until_idle(self) -> None:
        idle = self.given.options.idle_seconds
        if self.given.server.transport != "stdio" or not self.given.lazy or not idle:
            return
        while True:
            left = self._last_used + idle - anyio.current_time()
            if left <= 0 and not self._running:
                raise _Lost(f"it was idle for {idle:g} s", failed=False)
            await anyio.sleep(max(left, 1.0))

    async def _until_too_large(self) -> None:
        limit, group = self.given.options.memory_mb, self._group
        while limit is not None and group is not None:
            await anyio.sleep(_MEMORY_EVERY)
            used = memory_of_group(group)
            if used is None:
                return
            if used > limit * 1_000_000:
                raise _Lost(f"its processes use {used / 1e6:,.0f} MB, more than the {limit:,} MB it may")

    # What the server says

    def _on_process(self, group: int) -> None:
        self._group = group
        self._reaper.add(group)

    async def _on_message(self, message: IncomingMessage) -> None:
        match message:
            case (
                types.ToolListChangedNotification()
                | types.PromptListChangedNotification()
                | types.ResourceListChangedNotification()
            ):
                self._changed.set()
            case types.ResourceUpdatedNotification(params=params):
                self._events.resource_updated(self, str(params.uri))
            case _:
                return

    async def _on_elicit(
        self, _: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        answer = await self._events.ask(self, types.ElicitRequest(params=params))
        return cast("types.ElicitResult | types.ErrorData", answer)

    async def _on_sample(self, _: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        return await self._events.ask(self, types.CreateMessageRequest(params=params))

    async def _on_roots(self, _: ClientRequestContext) -> types.ListRootsResult | types.ErrorData:
        answer = await self._events.ask(self, types.ListRootsRequest())
        return cast("types.ListRootsResult | types.ErrorData", answer)

    async def _on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        await self._events.log(self, params)

    def _set(self, status: Status, reason: str = "", remedy: str = "") -> None:
        last = f"{reason}. {remedy}".strip() if status == "failed" else self.state.last_error
        self.state = replace(
            self.state, status=status, reason=reason, remedy=remedy, last_error=last, since=time.time()
        )
        self._events.state_changed(self)


async def _subscribe(client: Client, uri: str) -> None:
    request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
    await client.session.send_request(request, types.EmptyResult)


async def _cancel_when(wanted: anyio.Event, scope: anyio.CancelScope) -> None:
    await wanted.wait()
    scope.cancel()


async def _raise_when(closed: anyio.Event, reason: str) -> None:
    await closed.wait()
    raise _Lost(reason)


def _lost_in(error: BaseException) -> _Lost | None:
    """The reason inside groups of errors, if it is one of ours."""
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return next(filter(None, map(_lost_in, inner)), None)
    return error if isinstance(error, _Lost) else None
