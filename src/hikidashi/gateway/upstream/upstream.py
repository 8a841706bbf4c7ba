"""One server behind the gateway: connected on demand, restarted with backoff, stopped when idle."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client import Client

from ...errors import ServerUnavailableError
from ...servers.config import Transport
from ...servers.connection import Diagnostics, connected
from ...servers.listing import ListRepairs
from ...servers.references import EntryError
from ...servers.revisions import is_modern_server
from ..auth.logins import ServerLogin, WaitingCall
from ..options import GatewayServer
from ..telemetry import inject_headers
from .events import ServerCallbacks, Subscriptions
from .listing import Listing, list_everything
from .processes import Reaper, memory_of_group
from .requests import DirectCalls, reaches
from .state import ConnectionLost, ServerState, Status, lost_in, remedy_for

if TYPE_CHECKING:
    from ..gateway import Gateway

logger = logging.getLogger("hikidashi.gateway")

_GRACE = 2.0  # seconds that a process has to end by itself, and a session over HTTP
_LEVEL_SECONDS = 2.0  # a server that does not confirm a log level is not waited for
_STABLE_SECONDS = 30.0  # a server that runs for so long has recovered from its failures
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 60.0
_FAILURES_TO_OPEN = 3  # consecutive failures that open the circuit: requests are refused until the pause is over
_RELIST_EVERY = 300.0
_MEMORY_EVERY = 5.0


class Upstream:
    """A server behind the gateway.

    Args:
        given: The server, with its limits.
        events: Notified of changes, and answers the server's requests.
        reaper: Ends the server's process if the gateway is killed.
        listing: The listing of an earlier connection, if it is known.
        login: The person's login to the server, if it takes one.
    """

    def __init__(
        self,
        given: GatewayServer,
        events: Gateway,
        reaper: Reaper,
        listing: Listing | None = None,
        login: ServerLogin | None = None,
    ) -> None:
        self.given = given
        self.name = given.name
        self.server = given.server
        """How it was last reached, with its passwords."""
        self.login = login
        self._with_passwords = WaitingCall(given.with_passwords)
        self.listing = listing
        self._state = ServerState(given.name)
        self._calls = self._errors = 0  # not in the state, which would be copied for each call
        self.listed = anyio.Event()
        """Set once the server has been listed, or has failed to start."""
        if listing is not None:
            self.listed.set()
        self._events = events
        self._reaper = reaper
        self._client: Client | None = None
        self._direct: DirectCalls | None = None
        self._lists = ListRepairs()
        self._wanted = anyio.Event()
        self._settled = anyio.Event()
        self._list_changed = anyio.Event()
        self._stopping = anyio.Event()
        self._lost: ConnectionLost | None = None
        self._limiter = anyio.CapacityLimiter(given.options.at_once)
        self._in_flight = 0
        self._last_used = 0.0
        self._waiting = 0
        self._failures = 0
        self._retry_at = 0.0
        self._ready_at = 0.0
        self._group: int | None = None
        self._log_level: types.LoggingLevel | None = None
        self._callbacks = ServerCallbacks(self, events, self._relist_soon)
        self._subscriptions = Subscriptions(lambda uri: events.resource_updated(self, uri), self._relist_soon)
        if given.problem is not None:
            self.listed.set()
            reason, remedy = given.problem.reason, given.problem.remedy
            error = f"{reason}. {remedy}".strip()
            self._state = replace(self._state, status="failed", reason=reason, remedy=remedy, last_error=error)
        elif listing is None or not given.lazy:
            self._wanted.set()

    @property
    def state(self) -> ServerState:
        """Its state now."""
        return replace(self._state, calls=self._calls, errors=self._errors)

    @property
    def is_modern(self) -> bool:
        """Whether the server speaks a modern revision; False while there is none."""
        return self._client is not None and is_modern_server(self._client)

    @property
    def group(self) -> int | None:
        """The group of its processes; None while there are none, and over HTTP."""
        return self._group

    # Requests of the gateway

    async def client(self) -> Client:
        """The connected client; the server is started if it is not running.

        Raises:
            ServerUnavailableError: it cannot be reached, or fails to start.
        """
        if self.given.problem is not None:
            raise ServerUnavailableError(self.name, self.given.problem.reason, self.given.problem.remedy)
        if self._client is None:
            if self.login is not None and self.login.is_another():
                self._failures, self._retry_at = 0, 0.0
            if self._failures >= _FAILURES_TO_OPEN and (left := self._retry_at - anyio.current_time()) > 0:
                raise ServerUnavailableError(
                    self.name,
                    self._state.reason,
                    f"It is tried again in {math.ceil(left)} s. {self._state.remedy}".strip(),
                )
            self._waiting += 1
            try:
                self._wanted.set()
                await self._settled.wait()
            finally:
                self._waiting -= 1
        if self._client is None:
            raise ServerUnavailableError(self.name, self._state.reason, self._state.remedy)
        return self._client

    def direct_of(self, client: Client) -> DirectCalls | None:
        """Calls on the connection of `client`, if the server is modern."""
        return self._direct if self._client is client and self.is_modern else None

    def refused_login(self, problem: str) -> ServerUnavailableError:
        """The error of a request that the server refused because of the login."""
        return ServerUnavailableError(self.name, problem, remedy_for(self.given, problem))

    @asynccontextmanager
    async def request(self) -> AsyncGenerator[tuple[Client, Turn]]:
        """The connected client for one request, and its slot among concurrent requests."""
        async with Turn(self._limiter) as turn:
            with self._used():
                try:
                    client = await self.client()
                    self._calls += 1
                    yield client, turn
                except BaseException:
                    self._errors += 1
                    raise
            self._failures = 0

    @contextmanager
    def _used(self) -> Generator[None]:
        """Keep the server from being idle for this block."""
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1
            self._last_used = anyio.current_time()

    async def subscribe(self, uri: str) -> None:
        """Subscribe to changes of a resource, also across restarts."""
        with self._used():
            client = await self.client()
            with answered_within(self.name, self.given.options.call_seconds):
                await self._subscriptions.add(client, uri)

    async def unsubscribe(self, uri: str) -> None:
        """End a subscription."""
        with answered_within(self.name, self.given.options.call_seconds):
            await self._subscriptions.remove(self._client, uri)

    async def set_level(self, level: types.LoggingLevel) -> None:
        """Have the server send log messages of `level` and above; a lower level set before stays."""
        if self._log_level is not None and reaches(level, self._log_level):
            return
        self._log_level = level
        if self._client is not None:
            with anyio.move_on_after(_LEVEL_SECONDS):
                await self._send_level(self._client)

    async def roots_changed(self) -> None:
        """Notify a connected older server that the roots of a client changed."""
        if self._client is not None and not self.is_modern:
            await self._client.session.send_notification(types.RootsListChangedNotification())

    def lose(self, client: Client, reason: str) -> None:
        """Close a connection that turned out to be dead; the next request opens another."""
        if self._client is client:
            self._client = None
            self._lost = ConnectionLost(reason)
            self._stopping.set()

    def stop(self) -> None:
        """Mark the server as stopped."""
        self._set("stopped", "it was stopped")

    # Lifecycle

    async def run(self) -> None:
        """Keep the server connected while it is wanted, until cancelled."""
        while True:
            await self._wanted.wait()
            if (pause := self._retry_at - anyio.current_time()) > 0:
                await self._pause(pause)
            # The reason of the last failure stays known until the server has started.
            self._set("starting", *((self._state.reason, self._state.remedy) if self._failures else ()))
            self._stopping, self._lost = anyio.Event(), None
            ended = ConnectionLost("it closed the connection")
            with Diagnostics(self.given.server) as diagnostics:
                try:
                    await self._connect(diagnostics)
                except EntryError as error:
                    ended = ConnectionLost(f"it {error.reason}", remedy=error.remedy)
                except TimeoutError:
                    is_locked = self._with_passwords.waits or (self.login is not None and self.login.waits_for_keyring)
                    who = "the keyring gave no answer" if is_locked else "no answer"
                    remedy = "Unlock it, or raise `start_seconds`." if is_locked else ""
                    ended = ConnectionLost(f"{who} within {self.given.options.start_seconds:g} s", remedy=remedy)
                except Exception as error:
                    ended = lost_in(error) or ConnectionLost(diagnostics.explain(error))
                if ended.reason == "it closed the connection":
                    ended = ConnectionLost(diagnostics.explain(ended.reason))
            self._client = None
            self._after(ended)

    async def _pause(self, seconds: float) -> None:
        """Wait before the next attempt; a new login ends the wait."""
        with anyio.move_on_after(seconds):
            if self.login is None:
                await anyio.sleep_forever()
            else:
                await self.login.until_another()
                self._failures = 0

    def _after(self, ended: ConnectionLost) -> None:
        """Decide when to connect again."""
        was_ready = self._state.status == "ready"
        if ended.failed:
            if was_ready and anyio.current_time() - self._ready_at > _STABLE_SECONDS:
                self._failures = 0
            self._failures += 1
            pause = min(_FIRST_PAUSE * 2 ** (self._failures - 1), _LONGEST_PAUSE)
            self._retry_at = anyio.current_time() + pause
            self._state = replace(self._state, restarts=self._state.restarts + 1)
            known = self._state.last_error
            self._set("failed", ended.reason, ended.remedy or remedy_for(self.given, ended.reason))
            if self._state.last_error != known:  # repeated failures are logged once
                logger.warning("MCP server %r: %s", self.name, ended.reason)
        else:
            self._set("waiting", ended.reason)
        if was_ready and self._waiting:
            return  # requests that came while the connection ended wait for the next one
        if ((self.given.lazy and self.listing is not None) or not ended.failed) and not self._subscriptions:
            self._wanted = anyio.Event()
        self.listed.set()
        self._settle()

    async def _connect(self, diagnostics: Diagnostics) -> None:
        """Keep a connection; over SSE where streamable HTTP is refused, as clients do for the oldest servers."""
        ready_before = self._ready_at
        try:
            await self._connection(diagnostics, self.given.server.transport)
        except Exception as error:
            if self._ready_at != ready_before or not diagnostics.refuses_post:
                raise
            try:
                await self._connection(diagnostics, "sse")
            except Exception:
                if self._ready_at != ready_before:
                    raise
                raise error from None

    async def _connection(self, diagnostics: Diagnostics, transport: Transport) -> None:
        options = self.given.options
        closed = anyio.Event()
        self.server = replace(self.given.server, transport=transport)
        ended: Exception = TimeoutError()
        with anyio.CancelScope(deadline=anyio.current_time() + options.start_seconds) as limit:
            try:
                if self.login is not None:
                    await self.login.begin()
                if self.given.needs_keyring:
                    self.server = replace(await self._with_passwords(), transport=transport)
                    diagnostics.server = self.server
                self._direct = DirectCalls(
                    self.server,
                    login=self.login,
                    seconds=options.start_seconds,
                    on_notification=self._callbacks.on_notification,
                    on_error=diagnostics.write,
                )
                async with connected(
                    self.server,
                    diagnostics,
                    seconds=options.start_seconds,
                    grace=lambda: _GRACE,
                    on_message=self._callbacks.on_message,
                    on_start=self._on_process,
                    on_end=closed.set,
                    wrap=self._wrapped,
                    on_request=inject_headers,
                    auth=self.login,
                    **self._callbacks.arguments(),
                ) as client:
                    listing = await list_everything(client, self._lists)
                    await self._send_level(client)
                    await self._subscriptions.restore(client)
                    limit.deadline = math.inf
                    self._ready(client, listing)
                    try:
                        await self._watch(client, closed)
                    except Exception as error:
                        ended = error
                        raise
                    finally:
                        self._client = None
                        limit.deadline = anyio.current_time() + _GRACE
            finally:
                if self._group is not None:
                    self._reaper.discard(self._group)
                    self._group = None
        if limit.cancelled_caught:
            raise ended

    def _wrapped(self, transport: AbstractAsyncContextManager[Any]) -> AbstractAsyncContextManager[Any]:
        assert self._direct is not None
        return self._lists.wrap(self._direct.wrap(transport))

    async def _watch(self, client: Client, closed: anyio.Event) -> None:
        """Follow what the server lists until the connection ends, which raises why."""
        options = self.given.options
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._subscriptions.listen, client)
            tasks.start_soon(self._until_closed, closed)
            tasks.start_soon(self._until_stopped)
            if self.given.server.transport == "stdio" and self.given.lazy and options.idle_seconds:
                tasks.start_soon(self._until_idle, options.idle_seconds)
            if options.memory_mb is not None and self._group is not None:
                tasks.start_soon(self._until_too_large, self._group, options.memory_mb)
            if self.login is not None:
                tasks.start_soon(self._until_login_is_needed, self.login)
                tasks.start_soon(self._until_another_login, self.login)
            await self._relist(client)

    async def _until_closed(self, closed: anyio.Event) -> None:
        await closed.wait()
        raise ConnectionLost("it closed the connection")

    async def _until_stopped(self) -> None:
        await self._stopping.wait()
        raise self._lost or ConnectionLost("it was stopped", failed=False)

    async def _until_idle(self, seconds: float) -> None:
        while True:
            left = self._last_used + seconds - anyio.current_time()
            if left <= 0 and not self._in_flight and not self._subscriptions:
                raise ConnectionLost(f"it was idle for {seconds:g} s", failed=False)
            await anyio.sleep(max(left, 1.0))

    async def _until_too_large(self, group: int, megabytes: int) -> None:
        while (used := memory_of_group(group)) is not None:
            if used > megabytes * 1_000_000:
                raise ConnectionLost(
                    f"its processes use {used / 1e6:,.0f} MB, more than the {megabytes:,} MB that `memory_mb` allows"
                )
            await anyio.sleep(_MEMORY_EVERY)

    async def _until_login_is_needed(self, login: ServerLogin) -> None:
        await login.until_needed()
        raise ConnectionLost(login.problem)

    async def _until_another_login(self, login: ServerLogin) -> None:
        await login.until_another()  # another person may have other tools
        raise ConnectionLost("the login to it has changed")

    def _on_process(self, group: int) -> None:
        self._group = group
        self._reaper.add(group)

    def _ready(self, client: Client, listing: Listing) -> None:
        self._client = client
        self._ready_at = anyio.current_time()
        self._last_used = anyio.current_time()
        self._state = replace(self._state, protocol=client.protocol_version)
        self._set("ready")
        self._publish(listing)
        self.listed.set()
        self._settle()

    def _settle(self) -> None:
        """Wake the requests that wait for a connection."""
        settled, self._settled = self._settled, anyio.Event()
        settled.set()

    async def _relist(self, client: Client) -> None:
        """List again whenever the server notifies of a change, and at intervals."""
        while True:
            with anyio.move_on_after(_RELIST_EVERY):
                await self._list_changed.wait()
            self._list_changed = anyio.Event()
            with anyio.fail_after(self.given.options.start_seconds):
                self._publish(await list_everything(client, self._lists))

    def _relist_soon(self) -> None:
        self._list_changed.set()

    def _publish(self, listing: Listing) -> None:
        before, self.listing = self.listing, listing
        if self._direct is not None:
            self._direct.listed(listing.tools)
        if before is None or before.to_json() != listing.to_json():
            self._events.listing_changed(self)

    async def _send_level(self, client: Client) -> None:
        # For modern servers each request carries the level.
        takes_level = not is_modern_server(client) and client.server_capabilities.logging is not None
        if takes_level and self._log_level is not None:
            with suppress(MCPError):
                level = types.SetLevelRequestParams(level=self._log_level)
                await client.session.send_request(types.SetLevelRequest(params=level), types.EmptyResult)

    def _set(self, status: Status, reason: str = "", remedy: str = "") -> None:
        last = f"{reason}. {remedy}".strip() if status == "failed" else self._state.last_error
        self._state = replace(
            self._state, status=status, reason=reason, remedy=remedy, last_error=last, since=time.time()
        )
        self._events.state_changed(self)


@contextmanager
def answered_within(server: str, seconds: float) -> Generator[None]:
    """Bound a request that is not a call.

    Raises:
        ServerUnavailableError: it takes longer.
    """
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        reason = f"it did not answer within {seconds:g} s"
        raise ServerUnavailableError(server, reason, "Raise `call_seconds` if it needs longer.") from None


class Limiter(Protocol):
    """Slots for a limited number of borrowers, such as `anyio.CapacityLimiter`."""

    def acquire_on_behalf_of_nowait(self, borrower: object, /) -> None:
        """Take a slot, or raise `anyio.WouldBlock`."""
        ...

    async def acquire_on_behalf_of(self, borrower: object, /) -> None:
        """Wait for a slot."""
        ...

    def release_on_behalf_of(self, borrower: object, /) -> None:
        """Release the slot."""
        ...


class Turn:
    """One slot of `limiter`, held from entry to exit except while paused.

    A person may take minutes to answer, or never answer; other calls must not wait for that.
    """

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._held = False
        self._pauses = 0
        self._ended = False

    async def __aenter__(self) -> Self:
        await self._take()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._give()

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None]:
        """Release the slot in this block, and wait for one at its end. May be entered by any task."""
        self._pauses += 1
        self._give()
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses and not self._ended:
                await self._take()
                if self._ended:
                    self._give()

    async def _take(self) -> None:
        try:
            self._limiter.acquire_on_behalf_of_nowait(self)  # the blocking method yields to the event loop even then
        except anyio.WouldBlock:
            await self._limiter.acquire_on_behalf_of(self)
        self._held = True

    def _give(self) -> None:
        if self._held:
            self._held = False
            self._limiter.release_on_behalf_of(self)
