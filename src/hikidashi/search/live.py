"""A catalogue that follows running MCP servers as they change their tools, disconnect and reconnect.

    async with LiveServers(read_mcp_config(".mcp.json")) as live:
        server = to_claude_search(live.catalog)

An adapter that gets `live.catalog` offers the tools that the servers have at the moment.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal, Self

import anyio
import anyio.lowlevel
from mcp import MCPError, types
from mcp.client import Client, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

from ..errors import ToolConnectionError, ToolSearchError, ToolValidationError
from ..servers.config import McpServer
from ..servers.connection import Diagnostics, connected
from ..servers.failure import is_lost_connection
from ..servers.listing import SEPARATOR, ListRepairs, StartLimit, listed_tools
from ..tool import Tool, ToolResult
from .catalog import ToolCatalog
from .search_tools import unreachable_of


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerState:
    """State of a followed server."""

    server: str
    status: Literal["starting", "ready", "lost"]
    tools: tuple[str, ...] = ()
    """The names of its tools in the catalogue."""
    skipped: tuple[str, ...] = ()
    """The names of tools that the catalogue does not accept; the log says why."""
    why: str = ""
    """Why it is lost, in one line."""

    def __str__(self) -> str:
        """The state as a sentence."""
        match self.status:
            case "starting":
                return f"MCP server {self.server!r} is starting."
            case "ready":
                return f"MCP server {self.server!r} has {len(self.tools):,} tools."
            case "lost":
                return f"MCP server {self.server!r} is lost: {self.why}."


logger = logging.getLogger("hikidashi")

_GRACE = 2.0  # seconds that a process has to exit by itself
_PAUSE = 0.1  # least seconds between two listings: a server may announce changes a thousand times a second
_AT_ONCE = 100  # tools that are added or removed before others have their turn in the event loop
_IT_RECONNECTS = "It is connected again as soon as it answers: call again later."
_ENTER_AGAIN = "Call it inside the `async with` block of its `LiveServers`."


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: see `LiveServers`."""

    seconds: float
    check_every: float
    retry_after: float


class _LostError(Exception):
    """A server process has exited."""


class Follower:
    """Follows one server: connects, lists, listens, and begins again."""

    def __init__(
        self, server: McpServer, catalog: ToolCatalog, timing: Timing, on_change: Callable[[ServerState], None]
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
        self._repairs = ListRepairs()
        self._notes: tuple[str, ...] = ()

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
                await self._mark_lost(diagnostics.explain(why))
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
                    wrap=self._repairs.wrap,
                ) as client:
                    tools = await self._list(client)
                    starting.deadline = math.inf
                    await self._publish(tools)
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
            began = anyio.current_time()
            with anyio.fail_after(self._timing.seconds):
                tools = await self._list(client)
            await self._publish(tools)
            await anyio.sleep(max(_PAUSE, anyio.current_time() - began))

    async def _list(self, client: Client) -> dict[str, Tool]:
        tools, notes = await listed_tools(client, self._repairs)
        for note in notes if notes != self._notes else ():
            logger.warning("MCP server %r: %s", self.server.name, note)
        self._notes = notes
        return tools

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
        """Call the server's tool `name`, from any event loop or thread; one that is gone gives an error result.

        Raises:
            ToolConnectionError: the server is lost.
        """
        loop = self._loop
        if loop is None or loop.is_closed():
            raise ToolConnectionError(self._name(name), "the servers are no longer followed", _ENTER_AGAIN)
        if asyncio.get_running_loop() is loop:
            return await self._call(name, arguments)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._call(name, arguments), loop))

    async def _call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        tool = self._session.get(name)
        if tool is None and self.state.status == "ready":
            return ToolResult.error(
                f"{self._name(name)!r} was not called: its server, {self.server.name!r}, no longer has this tool. "
                "Look for another one."
            )
        if tool is None:
            raise ToolConnectionError(self._name(name), self.state.why or "it is starting", _IT_RECONNECTS)
        try:
            return await tool.call(arguments)
        except Exception as error:
            if not is_lost_connection(error):
                raise
            self._check.set()
            known = isinstance(error, ToolConnectionError)
            reason = error.reason if known else f"{type(error).__name__}: {error}"
            raise ToolConnectionError(self._name(name), reason, _IT_RECONNECTS) from error

    async def _publish(self, tools: dict[str, Tool]) -> None:
        """Make `tools` the tools of this server in the catalogue."""
        self._session = tools
        wanted = {self._name(name): tool for name, tool in tools.items()}
        known = {name: tool for name, tool in self._listed.items() if _is_same(tool, name, wanted.get(name))}
        await self._remove(name for name in list(self._listed) if name not in known)
        skipped: list[str] = []
        for count, (name, tool) in enumerate((name, tool) for name, tool in wanted.items() if name not in known):
            await _give_way(count)
            live = self._live_tool(tool)
            try:
                self._catalog.add(live)
            except (ToolValidationError, ToolSearchError) as error:
                logger.warning("tool %r of MCP server %r is left out: %s", tool.name, self.server.name, error)
                skipped.append(name)
            else:
                self._listed[name] = live
        unreachable_of(self._catalog).back(self.server.name)
        before, self.state = (
            self.state,
            ServerState(server=self.server.name, status="ready", tools=tuple(self._listed), skipped=tuple(skipped)),
        )
        self._notify(changed=self.state != before or len(known) < len(self._listed))

    def _live_tool(self, tool: Tool) -> Tool:
        own = tool.name

        async def call(arguments: dict[str, Any]) -> ToolResult:
            return await self.call(own, arguments)

        return replace(tool, name=self._name(own), call=call)

    async def _mark_lost(self, why: str) -> None:
        """Remove the tools from the catalogue until the server is back."""
        self._session = {}
        if self._listed:
            unreachable_of(self._catalog).lost(self.server.name, self._listed.values())
        before, self.state = self.state, ServerState(server=self.server.name, status="lost", why=why)
        await self._remove(list(self._listed))
        self._notify(changed=self.state != before)

    def forget(self) -> None:
        """Remove the tools for good."""
        self._loop = None
        self._session = {}
        unreachable_of(self._catalog).back(self.server.name)
        for name in list(self._listed):
            self._remove_one(name)
        self.state = ServerState(server=self.server.name, status="lost", why="the servers are no longer followed")

    async def _remove(self, names: Iterable[str]) -> None:
        for count, name in enumerate(names):
            await _give_way(count)
            self._remove_one(name)

    def _remove_one(self, name: str) -> None:
        del self._listed[name]
        with suppress(ToolSearchError):  # removed already
            self._catalog.remove(name)

    def _name(self, own: str) -> str:
        """The name in the catalogue of a tool that the server calls `own`."""
        return self.server.name + SEPARATOR + own

    def _notify(self, *, changed: bool) -> None:
        if changed:
            self._on_change(self.state)
        self.first_result.set()


async def _raise_when(ended: anyio.Event) -> None:
    await ended.wait()
    raise _LostError


def _is_lost(error: BaseException) -> bool:
    nested: Sequence[BaseException] = getattr(error, "exceptions", ())  # of a group
    return isinstance(error, _LostError) or any(map(_is_lost, nested))


def _is_same(tool: Tool, name: str, other: Tool | None) -> bool:
    """Whether `tool` is `other` under the name `name`."""
    return other is not None and replace(other, name=name, call=tool.call) == tool


async def _give_way(count: int) -> None:
    """Let other tasks run, now and then."""
    if count % _AT_ONCE == _AT_ONCE - 1:
        await anyio.lowlevel.checkpoint()


_UNLIMITED = 2**62


class LiveServers:
    """The tools of MCP servers in one catalogue, as `server__tool`, inside an `async with` block.

    When a server changes its tools (`tools/list_changed`, or `subscriptions/listen`), the
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
        on_change: Called with the state of a server whenever it or one of its tools changes; an exception is logged.

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
        timing = Timing(seconds, check_every, retry_after)
        self._at_once = at_once
        self._on_change = on_change
        self._followers: dict[str, Follower] = {}
        for server in servers:
            if server.name in self._followers:
                raise ToolValidationError(f"Two MCP servers are named {server.name!r}. Rename one.", server.name)
            self._followers[server.name] = Follower(server, self.catalog, timing, self._notify)
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
        if isinstance(error, Exception):  # the task group would raise it inside an `ExceptionGroup`
            kind = error = trace = None
        await self._stack.__aexit__(kind, error, trace)
        for follower in self._followers.values():
            follower.forget()

    async def changed(self) -> None:
        """Return when the state or the tools of some server have changed."""
        await self._changed.wait()

    def _notify(self, state: ServerState) -> None:
        """Log a new state, and notify waiters."""
        logger.info("%s", state)
        try:
            self._on_change(state)
        except Exception:  # of the caller's code, which is no reason to lose a server
            logger.exception("`on_change` failed for MCP server %r", state.server)
        before, self._changed = self._changed, anyio.Event()
        before.set()
