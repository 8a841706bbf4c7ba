"""A catalogue that follows running MCP servers as they change their tools, disconnect and reconnect.

    async with LiveServers(read_mcp_config(".mcp.json")) as live:
        server = to_claude_search(live.catalog)

An adapter that gets `live.catalog` offers the tools that the servers have at the moment.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self, cast

from ...convert.mcp import from_mcp
from ...errors import MissingExtra, ToolConnectionError, ToolSearchError, ToolValidationError
from ...tool import Tool, ToolResult
from ..catalog import ToolCatalog
from .entries.config import McpServer
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

from .connection import Diagnostics, connected
from .listing import SEPARATOR, StartLimit

__all__ = ["LiveServers", "ServerState"]

logger = logging.getLogger("hikidashi")

_UNLIMITED = 2**62
_GRACE = 2.0  # seconds that a process has to exit by itself


@dataclass(frozen=True, slots=True)
class _Timing:
    """Seconds: see `LiveServers`."""

    seconds: float
    check_every: float
    retry_after: float


class LiveServers:
    """The tools of MCP servers in one catalogue, as `server__tool`, inside an `async with` block.

    When a server changes its tools (`tools/list_changed`, or `subscriptions/listen` with protocol 2026-07-28), the
    catalogue changes too. A lost server is reconnected, without limit, at growing intervals; until then its tools are
    not in the catalogue, a search that matches them says so, and a call gets an error. Tools that were taken from the
    catalogue before work again when their server is back.

    Calls may come from any thread and event loop; the connections live in the loop that entered the block.

    Args:
        servers: The servers to follow, with unique names.
        catalog: The catalogue to add the tools to; default: a new one.
        seconds: Timeout for starting a server and listing its tools, from its own start.
        at_once: Maximum number of processes that start at the same time; default: the number of cores plus one.
        check_every: Seconds without a notification after which the tools of a server are listed again.
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
        timing = _Timing(seconds, check_every, retry_after)
        self._at_once = at_once
        self._on_change = on_change
        self._followers: dict[str, _Follower] = {}
        for server in servers:
            if server.name in self._followers:
                raise ToolValidationError(f"Two MCP servers are named {server.name!r}. Rename one.", server.name)
            self._followers[server.name] = _Follower(server, self.catalog, timing, self._notify)
        self._stack = AsyncExitStack()
        self._changed = anyio.Event()

    @property
    def states(self) -> Mapping[str, ServerState]:
        """The state of each server, by name."""
        return {name: follower.state for name, follower in self._followers.items()}

    async def __aenter__(self) -> Self:
        """Start the servers; return when each has listed its tools or failed to."""
        async with AsyncExitStack() as stack:
            limits = StartLimit(self._at_once)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            for follower in self._followers.values():
                tasks.start_soon(follower.run, limits.of(follower.server))
            for follower in self._followers.values():
                await follower.first_result.wait()
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

    def _notify(self, state: ServerState) -> None:
        """Log a new state, and notify waiters."""
        logger.info("%s", state)
        self._on_change(state)
        before, self._changed = self._changed, anyio.Event()
        before.set()


class _LostError(Exception):
    """A server process has exited."""


class _Follower:
    """Follows one server: connects, lists, listens, and begins again."""

    def __init__(
        self, server: McpServer, catalog: ToolCatalog, timing: _Timing, on_change: Callable[[ServerState], None]
    ) -> None:
        self.server = server
        self.state = ServerState(server=server.name, status="starting")
        self.first_result = anyio.Event()
        """Set when the server has answered or failed for the first time."""
        self._catalog = catalog
        self._timing = timing
        self._on_change = on_change
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: dict[str, Tool] = {}
        """The tools of the open connection, by their own names."""
        self._listed: dict[str, Tool] = {}
        """The tools in the catalogue, by their names there."""
        self._check = anyio.Event()

    async def run(self, turn: anyio.CapacityLimiter) -> None:
        """Follow the server until cancelled."""
        self._loop = asyncio.get_running_loop()
        pause = self._timing.retry_after
        while True:
            why: BaseException | str = "it closed the connection"
            self._check = anyio.Event()
            with Diagnostics(self.server) as diagnostics:
                try:
                    await self._connect(turn, diagnostics)
                except TimeoutError:
                    why = f"no answer within {self._timing.seconds:g} s"
                except Exception as error:
                    why = error if not _is_lost(error) else why
                if self.state.status == "ready":
                    pause = self._timing.retry_after
                self._mark_lost(diagnostics.explain(why))
            await anyio.sleep(pause)
            pause = min(2 * pause, 60.0)

    async def _connect(self, turn: anyio.CapacityLimiter, diagnostics: Diagnostics) -> None:
        ended = anyio.Event()
        async with AsyncExitStack() as waiting:
            await waiting.enter_async_context(turn)
            # One scope, whose deadline is removed later: scopes must be exited in the reverse order of entering.
            with anyio.CancelScope(deadline=anyio.current_time() + self._timing.seconds) as starting:
                async with connected(
                    self.server,
                    diagnostics,
                    seconds=self._timing.seconds,
                    grace=lambda: _GRACE,
                    on_message=self._on_message,
                    on_end=ended.set,
                ) as client:
                    self._publish(await from_mcp(client))
                    starting.deadline = math.inf
                    await waiting.aclose()  # the limit is on starting servers
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(self._listen, client)
                        tasks.start_soon(_raise_when, ended)
                        await self._refresh(client)
            if starting.cancelled_caught:
                raise TimeoutError

    async def _refresh(self, client: Client) -> None:
        """List the tools again after a notification, a lost call, or `check_every` seconds."""
        while True:
            with anyio.move_on_after(self._timing.check_every):
                await self._check.wait()
            self._check = anyio.Event()
            with anyio.fail_after(self._timing.seconds):
                self._publish(await from_mcp(client))

    async def _listen(self, client: Client) -> None:
        """Check the tools after each change event; older protocols send a notification instead."""
        pause = self._timing.retry_after
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    self._check.set()  # events before the subscription are not repeated
                    async for _ in changes:
                        pause = self._timing.retry_after
                        self._check.set()
            except ListenNotSupportedError:  # it sends notifications
                return
            except MCPError:  # not subscribable: list the tools now, and every `check_every` seconds
                self._check.set()
                return
            except SubscriptionLost:
                self._check.set()
            await anyio.sleep(pause)
            pause = min(2 * pause, self._timing.check_every)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._check.set()

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call the server's tool `name`, from any event loop or thread.

        Raises:
            ToolConnectionError: the server is lost.
        """
        loop = self._loop
        if loop is None or loop.is_closed():
            raise ToolConnectionError(name, "the servers are no longer followed")
        if asyncio.get_running_loop() is loop:
            return await self._call(name, arguments)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._call(name, arguments), loop))

    async def _call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        tool = self._session.get(name)
        if tool is None:
            raise ToolConnectionError(name, self.state.why or "its server no longer has it")
        try:
            return await tool.call(arguments)
        except Exception as error:
            if is_lost_connection(error):
                self._check.set()
                raise ToolConnectionError(name, f"{type(error).__name__}: {error}") from error
            raise

    def _publish(self, tools: list[Tool]) -> None:
        """Make `tools` the tools of this server in the catalogue."""
        self._session = {tool.name: tool for tool in tools}
        wanted = {self.server.name + SEPARATOR + name: self._live_tool(tool) for name, tool in self._session.items()}
        outdated = [
            name for name, tool in self._listed.items() if name not in wanted or not _looks_same(tool, wanted[name])
        ]
        for name in outdated:
            self._remove(name)
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
        self._set_state(
            ServerState(server=self.server.name, status="ready", tools=tuple(self._listed), skipped=tuple(skipped))
        )

    def _live_tool(self, tool: Tool) -> Tool:
        own = tool.name

        async def call(arguments: dict[str, Any]) -> ToolResult:
            return await self.call(own, arguments)

        return replace(tool.prefixed(self.server.name + SEPARATOR), call=call)

    def _mark_lost(self, why: str) -> None:
        """Remove the tools from the catalogue until the server is back."""
        self._session = {}
        if self._listed:
            unreachable_of(self._catalog).lost(self.server.name, self._listed.values())
            for name in list(self._listed):
                self._remove(name)
        self._set_state(ServerState(server=self.server.name, status="lost", why=why))

    def forget(self) -> None:
        """Remove the tools for good."""
        self._session = {}
        unreachable_of(self._catalog).back(self.server.name)
        for name in list(self._listed):
            self._remove(name)
        self.state = ServerState(server=self.server.name, status="lost", why="the servers are no longer followed")

    def _remove(self, name: str) -> None:
        del self._listed[name]
        with suppress(ToolSearchError):  # removed already
            self._catalog.remove(name)

    def _set_state(self, state: ServerState, *, changed: bool = False) -> None:
        before, self.state = self.state, state
        if changed or state != before:
            self._on_change(state)
        self.first_result.set()


async def _raise_when(ended: anyio.Event) -> None:
    await ended.wait()
    raise _LostError


def _is_lost(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_lost, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    return isinstance(error, _LostError)


def _looks_same(one: Tool, other: Tool) -> bool:
    return replace(one, call=other.call) == other
