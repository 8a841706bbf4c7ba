"""MCP servers whose tools a catalogue follows: as they change their lists, go away and come back.

    async with LiveServers(read_mcp_config(".mcp.json")) as live:
        server = to_claude_search(live.catalog)

A seam that is given `live.catalog` offers what the servers have at the moment.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, cast

from ...convert.mcp import from_mcp
from ...errors import MissingExtra, ToolConnectionError, ToolSearchError, ToolValidationError
from ...tool import Tool, ToolResult
from ..catalog import ToolCatalog
from .config import McpServer
from .lost_connection import is_lost_connection
from .state import ServerState
from .unreachable import unreachable_of

try:
    import anyio
    from mcp import MCPError, types
    from mcp.client import Client, IncomingMessage
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

from .connection import Complaints, connected
from .listing import SEPARATOR, Turns

__all__ = ["LiveServers", "ServerState"]

logger = logging.getLogger("hikidashi")

_UNLIMITED = 2**62
_GRACE = 2.0  # seconds that a process has to end by itself


class LiveServers:
    """The tools of MCP servers in one catalogue, under `server__tool`, as long as this is entered.

    A server that changes its list (`tools/list_changed`, or `subscriptions/listen` where it speaks 2026-07-28) has
    its tools changed in the catalogue. A server that is lost is connected to again, for ever, at growing intervals;
    until then its tools are not in the catalogue, a search that they would have answered says so, and a call is
    answered with an error. Tools that were taken from the catalogue before work again when their server is back.

    Calls may come from any thread and event loop; the connections live in the loop that entered this.

    Args:
        servers: Whom to follow, each with a name of its own.
        catalog: Where to put the tools, beside others; a new one unless given.
        seconds: How long a server may take to start and to list its tools, from its own start.
        at_once: How many processes start at the same time; one more than the machine has cores unless given.
        check_every: Seconds after which a server that says nothing is asked for its list again.
        retry_after: Seconds until a lost server is tried again; doubled with each failure, up to a minute.
        on_change: Called with the state of a server whenever it changes.

    Raises:
        ToolValidationError: two servers have the same name.
        ValueError: `at_once` is less than 1.
    """

    def __init__(
        self,
        servers: Iterable[McpServer],
        *,
        catalog: ToolCatalog | None = None,
        seconds: float = 30.0,
        at_once: int | None = None,
        check_every: float = 60.0,
        retry_after: float = 0.5,
        on_change: Callable[[ServerState], None] = lambda _: None,
    ) -> None:
        self.catalog = ToolCatalog(limit_tools=_UNLIMITED) if catalog is None else catalog
        self.seconds = seconds
        self.check_every = check_every
        self.retry_after = retry_after
        self._at_once = at_once
        self._on_change = on_change
        self._followers: dict[str, _Follower] = {}
        for server in servers:
            if server.name in self._followers:
                raise ToolValidationError(f"Two MCP servers are named {server.name!r}. Rename one.", server.name)
            self._followers[server.name] = _Follower(server, self)
        self._stack = AsyncExitStack()
        self._changed = anyio.Event()

    @property
    def states(self) -> Mapping[str, ServerState]:
        """How each server is, by name."""
        return {name: follower.state for name, follower in self._followers.items()}

    async def __aenter__(self) -> Self:
        """Start the servers; return when each has listed its tools or failed to."""
        async with AsyncExitStack() as stack:
            turns = Turns(self._at_once)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            for follower in self._followers.values():
                tasks.start_soon(follower.run, turns.of(follower.server))
            for follower in self._followers.values():
                await follower.heard.wait()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)
        for follower in self._followers.values():
            follower.forget()

    async def changed(self) -> None:
        """Return when the state or the tools of some server have changed."""
        await self._changed.wait()

    def tell(self, state: ServerState) -> None:
        """Tell whoever listens of a new state."""
        logger.info("%s", state)
        self._on_change(state)
        before, self._changed = self._changed, anyio.Event()
        before.set()


class _LostError(Exception):
    """A server ended, or does not answer any more."""


class _Follower:
    """Follows one server: connects, lists, listens, and begins again."""

    def __init__(self, server: McpServer, live: LiveServers) -> None:
        self.server = server
        self.state = ServerState(server=server.name, status="starting")
        self.heard = anyio.Event()
        """Set when the server has answered, or failed to, for the first time."""
        self._live = live
        self._catalog = live.catalog
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: dict[str, Tool] = {}
        """The tools of the connection that is open, by their own names."""
        self._listed: dict[str, Tool] = {}
        """The tools of the server in the catalogue, by their names there."""
        self._check = anyio.Event()

    async def run(self, turn: anyio.CapacityLimiter) -> None:
        """Follow the server until cancelled."""
        self._loop = asyncio.get_running_loop()
        pause = self._live.retry_after
        while True:
            why: BaseException | str = "it closed the connection"
            self._check = anyio.Event()
            with Complaints(self.server) as complaints:
                try:
                    await self._connect(turn, complaints)
                except TimeoutError:
                    why = f"no answer within {self._live.seconds:g} s"
                except Exception as error:
                    why = error if not _says_lost(error) else why
                if self.state.status == "ready":
                    pause = self._live.retry_after
                self._lose(complaints.told(why))
            await anyio.sleep(pause)
            pause = min(2 * pause, 60.0)

    async def _connect(self, turn: anyio.CapacityLimiter, complaints: Complaints) -> None:
        ended = anyio.Event()
        async with AsyncExitStack() as waiting:
            await waiting.enter_async_context(turn)
            # One scope around it all, whose deadline is lifted: scopes cannot be left in another order than entered.
            with anyio.CancelScope(deadline=anyio.current_time() + self._live.seconds) as starting:
                async with connected(
                    self.server,
                    complaints,
                    seconds=self._live.seconds,
                    grace=lambda: _GRACE,
                    on_message=self._on_message,
                    on_end=ended.set,
                ) as client:
                    self._publish(await from_mcp(client))
                    starting.deadline = math.inf
                    await waiting.aclose()  # starting is what costs
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(self._listen, client)
                        tasks.start_soon(_raise_when, ended)
                        await self._refresh(client)
            if starting.cancelled_caught:
                raise TimeoutError

    async def _refresh(self, client: Client) -> None:
        """List the tools anew whenever the server says so, a call was lost, or nothing was heard for long."""
        while True:
            with anyio.move_on_after(self._live.check_every):
                await self._check.wait()
            self._check = anyio.Event()
            with anyio.fail_after(self._live.seconds):
                self._publish(await from_mcp(client))

    async def _listen(self, client: Client) -> None:
        """Have the list checked for each change the server tells of; older protocols tell by a notification."""
        pause = self._live.retry_after
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    self._check.set()  # what changed before it listened is not told again
                    async for _ in changes:
                        pause = self._live.retry_after
                        self._check.set()
            except ListenNotSupportedError:  # it tells by notifications
                return
            except MCPError:  # nothing to listen to, or nobody: the list is asked for now, and now and then
                self._check.set()
                return
            except SubscriptionLost:
                self._check.set()
            await anyio.sleep(pause)
            pause = min(2 * pause, self._live.check_every)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._check.set()

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """What the server's tool `name` answers, whatever loop or thread asks.

        Raises:
            ToolConnectionError: the server is lost.
        """
        loop = self._loop
        if loop is None or loop.is_closed():
            raise ToolConnectionError(name, "the servers are not followed any more")
        if asyncio.get_running_loop() is loop:
            return await self._call(name, arguments)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._call(name, arguments), loop))

    async def _call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        tool = self._session.get(name)
        if tool is None:
            raise ToolConnectionError(name, self.state.why or "its server does not have it any more")
        try:
            return await tool.call(arguments)
        except Exception as error:
            if is_lost_connection(error):
                self._check.set()
                raise ToolConnectionError(name, f"{type(error).__name__}: {error}") from error
            raise

    def _publish(self, tools: list[Tool]) -> None:
        """Have exactly `tools` of this server in the catalogue."""
        self._session = {tool.name: tool for tool in tools}
        wanted = {self.server.name + SEPARATOR + name: self._live_tool(tool) for name, tool in self._session.items()}
        outdated = [
            name for name, tool in self._listed.items() if name not in wanted or not _looks_same(tool, wanted[name])
        ]
        for name in outdated:
            self._take_out(name)
        skipped: list[str] = []
        for name, tool in wanted.items():
            if name in self._listed:
                continue
            try:
                self._catalog.add(tool)
            except (ToolValidationError, ToolSearchError) as error:
                logger.warning("tool %r of MCP server %r is left out: %s", tool.name, self.server.name, error)
                skipped.append(name)
            else:
                self._listed[name] = tool
        unreachable_of(self._catalog).back(self.server.name)
        self._now(
            ServerState(server=self.server.name, status="ready", tools=tuple(self._listed), skipped=tuple(skipped))
        )

    def _live_tool(self, tool: Tool) -> Tool:
        own = tool.name

        async def call(arguments: dict[str, Any]) -> ToolResult:
            return await self.call(own, arguments)

        return replace(tool.prefixed(self.server.name + SEPARATOR), call=call)

    def _lose(self, why: str) -> None:
        """Hide the tools, which nobody can call now."""
        self._session = {}
        if self._listed:
            unreachable_of(self._catalog).lost(self.server.name, self._listed.values())
            for name in list(self._listed):
                self._take_out(name)
        self._now(ServerState(server=self.server.name, status="lost", why=why))

    def forget(self) -> None:
        """Take the tools out for good."""
        self._session = {}
        unreachable_of(self._catalog).back(self.server.name)
        for name in list(self._listed):
            self._take_out(name)
        self.state = ServerState(server=self.server.name, status="lost", why="the servers are not followed any more")

    def _take_out(self, name: str) -> None:
        del self._listed[name]
        with suppress(ToolSearchError):  # somebody else was quicker
            self._catalog.remove(name)

    def _now(self, state: ServerState, *, changed: bool = False) -> None:
        before, self.state = self.state, state
        if changed or state != before:
            self._live.tell(state)
        self.heard.set()


async def _raise_when(ended: anyio.Event) -> None:
    await ended.wait()
    raise _LostError


def _says_lost(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(map(_says_lost, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    return isinstance(error, _LostError)


def _looks_same(one: Tool, other: Tool) -> bool:
    return replace(one, call=other.call) == other
